import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lnlab.cli import main


@dataclass(frozen=True)
class Said:
    """What one command said, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def lnlab(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command in this process."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = main([str(word) for word in arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Said]:
    """Run a command in a process of its own, in an empty folder."""

    def run(*arguments: object, **options: object) -> Said:
        command = [sys.executable, "-m", "lnlab", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, **{"cwd": tmp_path, "timeout": 120} | options)
        return Said(done.returncode, done.stdout, done.stderr)

    return run
