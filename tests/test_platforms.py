"""What other systems lack is needed by nothing: modules of Unix, a signal, a start method, folders to be opened."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lnlab import __version__
from lnlab.execute import pool
from lnlab.report import contents
from lnlab.store import files
from tests.support.toy_specs import UNTRAINED, toy_spec

ROOT = Path(__file__).parents[1]
SPEC = toy_spec(UNTRAINED, "probes: [{kind: gradient_norm, at: init, batches: 1}]\n", model={"layers": 1}, seeds=1)
WITHOUT_POSIX = """
import os, pkgutil, signal, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ("SIGHUP", "SIGKILL", "SIGUSR2", "pthread_sigmask"):
    delattr(signal, name)
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "pread"):
    delattr(os, name)
sys.path.insert(0, os.environ["LNLAB_ROOT"])
import importlib, warnings
import lnlab
failed = []
for module in pkgutil.walk_packages(lnlab.__path__, "lnlab."):
    if module.name.startswith("lnlab.outside.recorder.") or module.name == "lnlab.__main__":
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        if error.name in ("ray", "submitit"):
            continue
        failed.append(f"{module.name}: {error}")
    except Exception as error:
        failed.append(f"{module.name}: {error!r}")
assert not failed, failed
from tests.support.this_process import NO_WORKERS
for place, name, instead in NO_WORKERS:
    setattr(place, name, instead)
from lnlab.cli import main
assert main(["run", "tiny.yaml", "-q"]) == 0
assert main(["report", "tiny.yaml", "-q"]) == 0
assert main(["push", "tiny.yaml", "runs", "-q"]) == 0
assert main(["pull", "tiny.yaml", "runs", "--store", "other", "-q"]) == 0
"""


@pytest.mark.nightly
def test_nothing_is_imported_or_run_that_windows_lacks(tmp_path):
    (tmp_path / "tiny.yaml").write_text(SPEC)
    environment = os.environ | {"LNLAB_ROOT": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_POSIX],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "1 unit pulled" in done.stdout
    assert (tmp_path / "reports" / "tiny" / "index.html").is_file()


@pytest.mark.nightly
def test_spawned_workers_compute_the_same_rows(tmp_path, monkeypatch):
    """As where there is no forkserver: workers that inherit nothing, of a program without a main guard."""
    (tmp_path / "tiny.yaml").write_text(SPEC)
    program = """
        import sys
        import lnlab
        from lnlab.execute import pool
        pool.START_METHOD = sys.argv[1]
        result = lnlab.run("tiny.yaml", store=sys.argv[1], workers=1, progress=False)
        print(result.results.tables["sites"].sort("measurement", "layer", "tensor").select("value").sum().item())
        """
    sums = set()
    for method in ("spawn", "forkserver"):
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, "program.py", method], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        sums.add(done.stdout)
    assert len(sums) == 1


def test_a_spawned_worker_has_the_environment_of_workers(monkeypatch):
    monkeypatch.setattr(pool, "START_METHOD", "spawn")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    workers = pool.Workers(1)
    try:
        assert workers.submit(os.getenv, "OMP_NUM_THREADS").result(60) == "1"
        assert workers.submit(os.getenv, "POLARS_MAX_THREADS").result(60) == "1"
        assert os.environ["OMP_NUM_THREADS"] == "7"
    finally:
        workers.stop()


def test_a_report_is_read_by_path_where_no_folder_can_be_opened(tmp_path, monkeypatch, golden):
    monkeypatch.setattr(os, "supports_dir_fd", set())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.json").write_bytes(b"1\r\n")
    assert contents.read_file(tmp_path, "data/a.json") == b"1\r\n"
    assert contents.read_file(tmp_path, "data/b.json") is None
    (tmp_path / "linked").symlink_to(tmp_path / "data")
    with golden.raises(contents.ReportError):
        contents.read_file(tmp_path, "linked/a.json")
    (tmp_path / "data" / "link.json").symlink_to(tmp_path / "data" / "a.json")
    with golden.raises(contents.ReportError):
        contents.read_file(tmp_path, "data/link.json")
    os.mkfifo(tmp_path / "data" / "pipe")
    with golden.raises(contents.ReportError):
        contents.read_file(tmp_path, "data/pipe")


@pytest.mark.parametrize("file", [None, "CITATION.cff", "CHANGELOG.md", "lnlab/__init__.py"])
def test_the_package_its_citation_and_the_changelog_name_one_version(tmp_path, file):
    for name in (".ci/release", "CITATION.cff", "CHANGELOG.md", "lnlab/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(__version__, "9.9.9") if name == file else text, encoding="utf-8")
    agree = subprocess.run(["bash", tmp_path / ".ci/release", "--agree"], capture_output=True, text=True, check=False)
    assert (agree.returncode, agree.stderr.count("\n")) == ((0, 0) if file is None else (1, 1)), agree.stderr


def test_a_lock_excludes_other_processes_and_is_free_once_its_holder_is_killed(tmp_path):
    path = tmp_path / "lock"
    holder = "import sys, time; from pathlib import Path; from lnlab.store.files import locked\n"
    holder += f"with locked(Path({str(path)!r})):\n  print('in', flush=True)\n  time.sleep(60)"
    running = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout.readline() == "in\n"
        with files.locked(path, wait=False) as mine:
            assert not mine
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
    with files.locked(path, wait=False) as mine:
        assert mine
        with files.locked(path, wait=False) as again:  # another holder of the same process is another holder, too
            assert not again
    assert path.exists()


def test_a_lock_that_cannot_be_made_is_a_problem_in_words(tmp_path):
    for path, words in (
        (tmp_path / "gone" / "lock", "no such file"),
        (Path("/proc/lock"), "no such file"),
        (tmp_path, "is a directory"),
    ):
        with pytest.raises(files.StoreError, match=words), files.locked(path):
            pass
