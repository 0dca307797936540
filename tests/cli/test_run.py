"""From an empty folder to verdicts, and what a second run does not do again."""

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.run_summary import RunSummary
from lnlab.claims.claim import Verdict
from lnlab.cli.run import FailOn, exit_code
from lnlab.consoles import StandardStream
from lnlab.report.section import sections
from lnlab.store import packing
from lnlab.tables import Results


def test_what_is_finished_is_never_computed_again(lnlab, tiny, workers):
    first = lnlab("run", "tiny.yaml", "--quiet", "-w", 1)
    assert (first.code, first.err) == (0, "")
    assert re.search(r"^6 runs: 6 finished; 6 units computed in .* s, 0 reused$", first.out, flags=re.MULTILINE)

    again = lnlab("run", "tiny.yaml", "--json").json
    assert (again["computed"], again["reused"], again["runs"]) == (0, 6, {"finished": 6})

    more = lnlab("run", "tiny.yaml", "-s", "seeds=1-4", "-w", 1, "--json").json
    assert (more["computed"], more["reused"]) == (2, 6)
    for before, after in zip(again["verdicts"], more["verdicts"], strict=True):
        assert (before["n"], after["n"]) == (3, 4)
        assert before["seeds"] == {seed: number for seed, number in after["seeds"].items() if seed != "4"}

    tiny.write_text(tiny.read_text().replace("A tiny", "The same"))
    renamed = lnlab("run", "tiny.yaml")
    assert "6 runs: 6 finished; 0 units computed, 6 reused" in renamed.out
    assert renamed.err == "next: lnlab report tiny.yaml\n"


def test_a_command_that_is_copied_from_a_narrow_terminal_has_no_line_break(lnlab, tiny, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(StandardStream, "isatty", lambda _: True)
    done = lnlab("run", "tiny.yaml", "-s", "seeds=1-3", "-s", "train.steps=0", "-w", 1)
    assert "next: lnlab report tiny.yaml -s seeds=1-3 -s train.steps=0\n" in done.err


def test_a_report_of_a_renamed_or_reworded_spec_is_of_the_runs_that_are_there(lnlab, console, tiny):
    assert lnlab("run", "tiny.yaml", "--quiet", "-w", 1).code == 0
    tiny.write_text(tiny.read_text().replace("A tiny", "The same").replace("at_least: 1.1", "at_least: 1.2"))
    assert lnlab("report", "tiny.yaml").code == 0
    assert "<h1>The same experiment</h1>" in Path("reports/tiny/index.html").read_text()

    tiny.rename("renamed.yaml")
    assert lnlab("report", "renamed.yaml").code == 0
    assert "lnlab run renamed.yaml" in Path("reports/renamed/index.html").read_text()
    fewer = lnlab("report", "renamed.yaml", "-s", "seeds=1-2", "-o", "fewer")
    assert fewer.code == 0
    more = lnlab("report", "renamed.yaml", "-s", "seeds=1-4", "-o", "more")
    assert more.code == 0
    assert "Of 8 runs, 2 not run yet" in Path("more/index.html").read_text()
    Path("other.yaml").write_text(Path("renamed.yaml").read_text().replace("d_model: 16", "d_model: 32"))
    console.refused("report", "other.yaml")


def test_a_rerun_imports_neither_torch_nor_scipy_and_prints_the_same_verdicts(ran, lnlab, lnlab_process, python):
    probe = (
        "import sys\nfrom lnlab.cli import main\ncode = main(['run', 'tiny.yaml'])\n"
        "print({'torch', 'scipy', 'altair'} & set(sys.modules), file=sys.stderr)\nsys.exit(code)"
    )
    # A process without what tests register knows nothing of this plan yet.
    assert lnlab_process(["run", "tiny.yaml", "-q"], ran, workers=False).returncode == 0
    said = python(probe)
    assert said.code == 0
    assert said.err.splitlines()[-1] == "set()"
    assert said.out == lnlab("run", "tiny.yaml").out
    assert "6 runs: 6 finished; 0 units computed, 6 reused" in said.out


def test_finished_runs_are_packed_once_a_sweep_ends_and_nobody_sees_a_difference(lnlab, tiny, monkeypatch):
    loose = lnlab("run", "tiny.yaml", "-w", 1, "--json").json
    assert len(list(Path(".lnlab/trajectories").glob("*/*"))) == 6
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 2)
    more = lnlab("run", "tiny.yaml", "-s", "seeds=1-4", "-w", 1, "--json").json
    assert (more["computed"], more["reused"]) == (2, 6)
    assert list(Path(".lnlab/trajectories").glob("*/*")) == []
    assert len(list(Path(".lnlab/packs").glob("*/sites.parquet"))) == 1
    again = lnlab("run", "tiny.yaml", "-w", 1, "--json").json
    assert again == loose | {"computed": 0, "reused": 6}
    assert lnlab("results", "tiny.yaml", "--out", "all.csv").code == 0
    assert pl.read_csv("all.csv").height > 0


def test_what_fails_is_a_result_with_its_reason_and_is_tried_again_only_when_asked(lnlab, console, plugged, workers):
    tiny = plugged
    tiny.write_text(tiny.read_text().replace("probes:\n", "probes:\n  - {kind: fragile}\n"))
    first = lnlab("--with", "mine.py", "run", "tiny.yaml", "-w", 1)
    assert first.code == 1
    told = [line for line in first.out.splitlines() if line.startswith("placement=")]
    assert sorted(told) == [
        f"placement={placement}, seed 2: failed: fragile: RuntimeError: no luck" for placement in ("post", "pre")
    ]
    assert "lnlab run tiny.yaml --with mine.py --retry-failed" in first.err

    again = lnlab("run", "tiny.yaml", "--with", "mine.py", "--json")
    assert (again.code, again.json["computed"], again.json["runs"]) == (1, 0, {"finished": 4, "failed": 2})
    (found,) = lnlab("status", "tiny.yaml", "--json").json
    assert found["failures"] == again.json["failures"]

    retried = lnlab("run", "tiny.yaml", "--with", "mine.py", "--retry-failed", "-w", 1, "--json")
    assert (retried.code, retried.json["computed"], retried.json["reused"]) == (1, 2, 4)

    console.refused("report")

    without = tiny.read_text().replace("  - {kind: fragile}\n", "")
    tiny.write_text(without)
    assert lnlab("plan", "tiny.yaml", "-s", "seeds=9").code == 0


def test_report_tells_which_section_could_not_be_made_and_writes_the_others(lnlab, console, tiny, monkeypatch):
    """A section of a plugin breaks: the page stands, the reason is on the terminal, and a script can see it."""
    monkeypatch.setattr(sections, "_entries", dict(sections.entries))

    @sections.register("breaks")
    def breaks(results):
        """``raise``: a section with a defect."""
        raise ValueError("no such column\nand more")

    tiny.write_text(tiny.read_text().replace("report:\n", "report:\n  - {kind: breaks, title: Mine}\n"))
    assert lnlab("run", "tiny.yaml", "-q", "-w", 1).code == 0
    said = console("report", "tiny.yaml", "-q")
    assert (said.code, said.out, said.err.count("\n")) == (1, "reports/tiny/index.html\n", 1)
    page = (tiny.parent / "reports/tiny/index.html").read_text()
    assert page.count('class="broken"') == 1
    assert 'id="figure-1"' in page
    silent = lnlab("report", "tiny.yaml", "--json")
    assert (silent.code, silent.err) == (1, said.err)
    assert "reports/tiny/index.html" in silent.json


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(lnlab, tiny):
    tiny.write_text(tiny.read_text().replace("batches: 1", "batches: 30"))
    command = [sys.executable, "-m", "lnlab", "run", "tiny.yaml", "-s", "seeds=40", "-w", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        until = time.monotonic() + 60
        while not list(Path(".lnlab").glob("trajectories/*/*/*/record.json")) and time.monotonic() < until:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        said, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.startswith("stopping")
    assert "interrupted: lnlab run tiny.yaml -s seeds=40 " in told
    assert "Traceback" not in told
    assert "contradicted" not in said
    (found,) = lnlab("status", "--json").json
    assert sum(found["runs"].values()) == 80
    assert 0 < found["runs"]["finished"] < 80
    assert f"{found['runs']['finished']} finished" in said
    assert found["missing"] == {"not in the store": found["runs"]["missing"]}


@pytest.fixture
def verdict():
    about = {"claim": "a", "kind": "ratio", "says": "A.", "primary": False, "role": "source", "scope": ""}
    return Verdict("contradicted", "ratio", "", 1, 1, 1, 2, n=3, **about)


@pytest.mark.parametrize(
    ("statuses", "interrupted", "fail_on", "code"),
    [
        (["finished"], 0, None, 0),
        (["finished"], 0, FailOn.contradicted, 3),
        (["finished", "diverged"], 0, FailOn.contradicted, 3),
        (["finished", "failed"], 0, FailOn.contradicted, 1),
        (["finished", None], 0, None, 1),
        (["finished", None], signal.SIGINT, FailOn.contradicted, 130),
        (["finished", None], signal.SIGTERM, FailOn.contradicted, 143),
        (["finished", None], signal.SIGHUP, None, 129),
    ],
)
def test_exit_codes(verdict, statuses, interrupted, fail_on, code):
    results = Results(pl.DataFrame({"status": statuses}), pl.DataFrame())
    assert exit_code(RunSummary(None, interrupted=interrupted), results, [verdict], fail_on) == code


def test_fail_on_contradicted(ran, lnlab):
    said = lnlab("run", "tiny.yaml", "--fail-on", "contradicted")
    assert said.code == 3
    assert re.search(r"^✗ far_above: .* at least 1e\+06$", said.out, flags=re.MULTILINE)
    assert lnlab("run", "tiny.yaml").code == 0


def test_paths_with_spaces_other_alphabets_and_long_names(lnlab, tiny):
    folder = tiny.parent / "Über uns – 実験" / ("x" * 200)
    folder.mkdir(parents=True)
    spec = folder / f"{'y' * 190} z.yaml"
    tiny.rename(spec)
    said = lnlab("run", spec, "-s", "seeds=1", "--store", folder / "a store", "-w", 1)
    assert said.code == 0, said.err
    again = lnlab(*shlex.split(said.err.splitlines()[-1].removeprefix("next: lnlab ")), "--store", folder / "a store")
    assert again.code == 0, again.err
    assert Path(again.out.strip()).exists()
