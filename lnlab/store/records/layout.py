"""The layout of a store.

A trajectory has ``trajectories/ab/<key>/<first step>-<unique>/<table>.parquet`` with ``record.json``, and beside these
folders its ``lease``. Many finished trajectories share ``packs/<name>/`` instead. A plan has
``plans/<digest>/runs.parquet axes.parquet needs.parquet verdicts.parquet plan.json``.
"""

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from lnlab.errors import StoreError
from lnlab.issues import Issue

FACTS_FILE = "experiment.json"
RECORD_FILE = "record.json"
OUTPUT_FILE = "output.txt"
LEASE_FILE = "lease"
LOCK_FILE = "lock"
"""A file in the root of a store, under whose lock leases are taken over and released."""


def store_root(folder: Path | None = None) -> Path:
    """The absolute path of the store: ``folder``, else ``LNLAB_STORE``, else ``.lnlab`` in the current folder.

    Raises:
        StoreError: a file stands there.
    """
    root = Path(folder or os.environ.get("LNLAB_STORE") or ".lnlab").absolute()
    if root.exists() and not root.is_dir():
        raise StoreError(Issue("wrong-type", str(root), "is a file", "give a folder with --store or LNLAB_STORE"))
    return root


def is_report(root: Path) -> bool:
    """Whether a store is what a report holds: then it says in this file what its page says, and nothing is added."""
    return (root / FACTS_FILE).is_file()


def refuse_report(root: Path) -> None:
    """Refuse to write into what a report holds.

    Raises:
        StoreError: it is that.
    """
    if is_report(root):
        what = "belongs to a report, to which nothing is added"
        own = f"compute in a store of your own: lnlab pull SPEC {root.parent}, then lnlab run SPEC"
        raise StoreError(Issue("unwritable", str(root), what, own))


def trajectory_folder(root: Path, key: str) -> Path:
    """Everything known of one trajectory."""
    return root.joinpath("trajectories", key[:2], key)  # read once as a path, and not once a step


def plan_folder(root: Path, digest: str) -> Path:
    """Everything known of one plan."""
    return root / "plans" / digest


def stretch_name(first_step: int) -> str:
    """Return a unique name for a stretch of work. Names with the same first step sort by time."""
    return f"{first_step}-{time.time_ns():016x}{secrets.token_hex(4)}"


def stretches(folder: Path) -> list[Path]:
    """The stretches of work in the folder of a trajectory, in their one order: by first step, then by name."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.partition("-")[0].isdecimal()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in in_stretch_order(names)]


def in_stretch_order(names: Iterable[str]) -> list[str]:
    """Names of stretches in their one order."""
    return sorted(names, key=lambda name: (int(name.partition("-")[0]), name))


def sizes_below(path: Path) -> Iterator[int]:
    """Bytes of every file below a folder. Files that are removed meanwhile are skipped."""
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from sizes_below(Path(entry.path))
                else:
                    yield entry.stat(follow_symlinks=False).st_size
