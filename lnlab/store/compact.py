"""The whole results of a large finished plan in a few files: thousands of small ones take a second to read, these none.

A copy of the records: it is complete and checksum-verified, or it is as if it were not there.
"""

from contextlib import suppress
from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.errors import StoreError
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.records.checksummed import (
    CorruptFile,
    from_checksummed_json,
    read_bytes,
    read_checked,
    to_checksummed_json,
)
from lnlab.store.records.layout import RECORD_FILE, plan_folder, stretch_name
from lnlab.tables import Results, encode_parquet

MIN_COMPACTED_TRAJECTORIES = 500
"""Plans of more trajectories than this are compacted once they are complete."""

_PREFIX = "whole-"


def _folders(root: Path, digest: str) -> list[Path]:
    return sorted(plan_folder(root, digest).glob(f"{_PREFIX}*"))


def read_compacted(root: Path, digest: str) -> Results | None:
    """The results of a plan that was compacted, every file verified; None if there are none, or they are not whole.

    Raises:
        StoreError: this user may not read them.
    """
    for folder in _folders(root, digest):
        try:
            record = from_checksummed_json(read_bytes(folder / RECORD_FILE), folder / RECORD_FILE)
            digests = record["files"].items()
            contents = {name: read_checked(folder / Path(name).name, sha256) for name, sha256 in digests}
        except CorruptFile:
            continue
        if record["plan"] != digest:
            continue
        frames = {name.removesuffix(".parquet"): pl.read_parquet(BytesIO(b)) for name, b in contents.items()}
        results = Results(frames.pop("runs"), frames.pop("axes"), frames)
        if results.ended:
            return results
    return None


def write_compacted(root: Path, digest: str, results: Results) -> None:
    """Compact a plan: its tables first, the record last; what lay there before is removed at the end.

    Raises:
        StoreError: the store cannot be written; nothing is visible.
    """
    older_folders = _folders(root, digest)
    folder = plan_folder(root, digest) / f"{_PREFIX}{stretch_name(0)}"
    digests = {}
    try:
        files.make_folder(folder)
        for table, rows in {"runs": results.runs, "axes": results.axes, **results.tables}.items():
            content = encode_parquet(rows)
            files.write(folder / f"{table}.parquet", content)
            digests[f"{table}.parquet"] = digest_bytes(content)
        files.sync_folder(folder)
        files.replace(folder / RECORD_FILE, to_checksummed_json({"plan": digest, "files": digests}))
    except StoreError:
        with suppress(StoreError):
            files.remove(folder)
        raise
    for older in older_folders:
        files.remove(older)
