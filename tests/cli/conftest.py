import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lnlab.cli import main

TINY = """\
lnlab: 1
title: A tiny experiment
question: Does it run?
task: {kind: translation, corpus: toy_german_english, vocabulary: 200, batch_tokens: 64}
model: {kind: encoder_decoder, layers: 2, d_model: 16, heads: 2, d_ff: 32}
placement: post
seeds: 2
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
profiles:
  real: {task.corpus: multi30k}
"""


@dataclass(frozen=True)
class Said:
    """What one command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def lnlab(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command in this process."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = main([str(word) for word in arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


def in_process(folder: Path, *arguments: object, **environment: str) -> Said:
    """Run a command in a process of its own, in ``folder``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LNLAB_")}
    command = [sys.executable, "-m", "lnlab", *map(str, arguments)]
    variables = clean | {"XDG_DATA_HOME": str(folder / "home")} | environment
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300, env=variables)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Said]:
    """Run a command in a process of its own, in an empty folder."""

    def run(*arguments: object, **environment: str) -> Said:
        return in_process(tmp_path, *arguments, **environment)

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and no data anywhere."""
    monkeypatch.chdir(tmp_path)
    for name in ("LNLAB_DATA", "LNLAB_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def tiny(here: Path) -> Path:
    """A spec that runs in a second, in the working folder."""
    path = here / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec that was run, once for all tests of a module; they must not change it."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "tiny.yaml").write_text(TINY)
    said = in_process(folder, "run", "tiny.yaml", "--workers", "1")
    assert said.code == 0, said.err
    return folder
