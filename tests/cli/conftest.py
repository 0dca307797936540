import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lnlab.cli import main
from lnlab.execute import registry_loader
from lnlab.probes.probe import probes
from tests.support.golden import Golden, transcript
from tests.support.this_process import NO_WORKERS
from tests.support.toy_specs import UNTRAINED, toy_spec

REST = """\
seeds: 3
sweep:
  - {placement: [post, pre]}
probes:
  - {kind: gradient_norm, at: init, batches: 1}
report:
  - {kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}}
claims:
  - id: post_above_pre
    says: The gradient of the last layer is larger in Post-LN.
    kind: ratio
    of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
    to: {placement: pre}
    at_least: 1.1
  - id: far_above
    says: It is a million times as large.
    kind: ratio
    of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
    to: {placement: pre}
    at_least: 1000000
profiles:
  one: {seeds: 1}
  real: {task.corpus: multi30k}
"""
FRAGILE = '''
from lnlab.probes.probe import State, probes

@probes.register("fragile", table="sites", quantities=("constant",), passes=lambda params: 1.0)
def fragile(state: State, *, on: int = 2):
    """``1``: fails on one seed."""
    print("about to measure")
    if state.draw.seed == on:
        raise RuntimeError("no luck")
    yield {"quantity": "constant", "value": 1.0}
'''
PAIR = '''
from lnlab.probes.probe import State, probes

@probes.register("pair", table="sites", passes=lambda params: 1.0)
def pair(state: State):
    """``1, 2``: two numbers, of which nobody says beforehand what tells them apart."""
    for index in (1, 2):
        yield {"quantity": "paired", "index": index, "value": float(index)}
'''
WORKERS = tuple((place, name, getattr(place, name)) for place, name, _ in NO_WORKERS)
"""What ``alone`` replaces."""
TINY = toy_spec(UNTRAINED, REST, question="Does it run?")


@dataclass(frozen=True)
class CommandResult:
    """The output of one command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@contextmanager
def alone() -> Iterator[pytest.MonkeyPatch]:
    """No data and store but those of the tests. Units are computed in this process: a worker takes longer to start."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LNLAB_DATA", "LNLAB_STORE"):
            patch.delenv(name, raising=False)
        for place, name, instead in NO_WORKERS:
            patch.setattr(place, name, instead)
        yield patch


# Of each module: a folder without __init__.py is no package to pytest, and its fixtures would last for the session.
@pytest.fixture(scope="module", autouse=True)
def nothing_around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands of this process compute by themselves, and find no data, store or home of the user."""
    with alone() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that asks what becomes of units in workers: they are as a user has them."""
    for place, name, of_users in WORKERS:
        monkeypatch.setattr(place, name, of_users)


@pytest.fixture
def lnlab(capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """Run a command in this process."""

    def run(*arguments: object) -> CommandResult:
        capsys.readouterr()
        code = main([str(word) for word in arguments])
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


class Console:
    """``console("check", "x.yaml")``: a command and what it prints are kept, as a transcript, in tests/golden."""

    def __init__(self, lnlab: Callable[..., CommandResult], golden: Golden) -> None:
        self.lnlab, self.golden = lnlab, golden

    def __call__(self, *words: object, of: str = "") -> CommandResult:
        """Run a command. ``of``: of what it prints only the lines that hold this are kept."""
        said = self.lnlab(*words)
        out, err = ("".join(line for line in text.splitlines(True) if of in line) for text in (said.out, said.err))
        assert out + err or not of, said
        self.golden(transcript(words, said.code, out, err))
        return said

    def refused(self, *words: object, lines: int = 1) -> str:
        """Run a command that is refused with so many lines, and prints nothing else: these lines."""
        said = self(*words)
        assert (said.code, said.out, said.err.count("\n"), "Traceback" in said.err) == (2, "", lines, False), said
        return said.err


@pytest.fixture
def console(lnlab: Callable[..., CommandResult], golden: Golden) -> Console:
    """See ``Console``."""
    return Console(lnlab, golden)


@pytest.fixture
def python() -> Callable[..., CommandResult]:
    """Run a program in a process of its own, in the working folder."""

    def run(program: str) -> CommandResult:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
        return CommandResult(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tiny(workdir: Path) -> Path:
    """A spec that runs in a second, in the working folder."""
    path = workdir / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture
def plugged(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The spec with ``mine.py`` beside it, a plugin whose two probes are forgotten afterwards."""
    monkeypatch.setattr(probes, "_entries", dict(probes.entries))
    registry_loader._load_once.cache_clear()
    tiny.with_name("mine.py").write_text(FRAGILE + PAIR)
    return tiny


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec that was run in two profiles, the default last; what is stored there must not change."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "tiny.yaml").write_text(TINY)
    with alone() as patch:
        patch.chdir(folder)
        assert [main(["run", "tiny.yaml", "-w", "1", "-q", *more]) for more in (["-p", "one"], [])] == [0, 0]
    return folder


@pytest.fixture
def ran(once: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder ``once`` as the working folder."""
    monkeypatch.chdir(once)
    return once


@pytest.fixture(scope="session")
def committed(once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository, which must not change: a spec, its report and its lock."""
    root = tmp_path_factory.mktemp("repository")
    (root / "specs").mkdir()
    shutil.copy(once / "tiny.yaml", root / "specs")
    with alone() as patch:
        patch.chdir(once)
        assert main(["report", "tiny.yaml", "-q", "--out", str(root / "reports" / "tiny")]) == 0
        patch.chdir(root)
        assert main(["lock", "specs/tiny.yaml", "-q"]) == 0
    return root


@pytest.fixture
def repository(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of ``committed`` as the working folder."""
    root = tmp_path / "copy"
    shutil.copytree(committed, root)
    monkeypatch.chdir(root)
    return root
