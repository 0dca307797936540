"""Where things lie in a store.

``trajectories/ab/<key>/<first step>-<unique>/<table>.parquet`` with ``record.json``, and beside these folders the
``lease``; ``plans/<digest>/runs.parquet axes.parquet needs.parquet verdicts.parquet plan.json``.
"""

import os
import secrets
import time
from pathlib import Path

from lnlab.errors import Problem, StoreError

RECORD = "record.json"
OUTPUT = "output.txt"
LEASE = "lease"


def store_root(given: Path | None = None) -> Path:
    """The store: what was given, else ``LNLAB_STORE``, else ``.lnlab`` in the current folder; absolute.

    Raises:
        StoreError: a file stands there.
    """
    root = Path(given or os.environ.get("LNLAB_STORE") or ".lnlab").absolute()
    if root.exists() and not root.is_dir():
        raise StoreError(Problem(str(root), "is a file", "give a folder with --store or LNLAB_STORE"))
    return root


def trajectory_folder(root: Path, key: str) -> Path:
    """Everything known of one trajectory."""
    return root / "trajectories" / key[:2] / key


def plan_folder(root: Path, digest: str) -> Path:
    """Everything known of one plan."""
    return root / "plans" / digest


def stretch_name(first_step: int) -> str:
    """A name for one stretch of work that nobody else takes; names of one first step sort by time."""
    return f"{first_step}-{time.time_ns():016x}{secrets.token_hex(4)}"


def stretches(folder: Path) -> list[Path]:
    """The stretches of work in the folder of a trajectory, in their one order: by first step, then by name."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.partition("-")[0].isdecimal()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names, key=lambda name: (int(name.partition("-")[0]), name))]
