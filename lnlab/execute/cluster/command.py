"""The command that every task of a cluster is: ``lnlab run`` on the shared store."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command of lnlab.

    Attributes:
        words: without ``lnlab``.
        folder: where it is called.
        environment: variables that it is called with, beside those of the node.
    """

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self, **options: Any) -> "subprocess.Popen[bytes]":
        """Start it in a process of its own. No module is taken from its folder."""
        words = [sys.executable, "-P", "-m", "lnlab", *self.words]
        return subprocess.Popen(words, cwd=self.folder, env={**os.environ, **self.environment}, **options)  # noqa: S603


def last_line(log: Path) -> str:
    """The last line of a log that is not submitit's own, or an empty text."""
    if not log.is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip() and not line.startswith("submitit")), "")
