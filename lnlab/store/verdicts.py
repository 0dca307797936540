"""Verdicts stored with their plan, keyed by claim and by the digest of the rows it was judged on.

They can be made again from the rows, so a damaged file counts as none.
"""

from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.records.checksummed import (
    CorruptFile,
    from_checksummed_json,
    read_bytes,
    read_checked,
    to_checksummed_json,
)
from lnlab.store.records.layout import plan_folder, refuse_report
from lnlab.tables import encode_parquet, frame, table_schema

VERDICTS_FILE = "verdicts.parquet"
VERDICTS_CHECKSUM_FILE = "verdicts.json"


def read_verdicts(root: Path, digest: str) -> pl.DataFrame:
    """The verdicts of a plan, the newest of each claim last. Empty if there are none.

    Raises:
        StoreError: this user may not read them.
    """
    folder = plan_folder(root, digest)
    try:
        sha256 = from_checksummed_json(read_bytes(folder / VERDICTS_CHECKSUM_FILE), folder / VERDICTS_CHECKSUM_FILE)
        rows = pl.read_parquet(BytesIO(read_checked(folder / VERDICTS_FILE, sha256)))
    except CorruptFile:
        return frame("verdicts", [])
    return rows if rows.schema == table_schema("verdicts") else frame("verdicts", [])


def write_verdicts(root: Path, digest: str, verdicts: pl.DataFrame) -> None:
    """Add verdicts to those of a plan. They replace older ones of the same claim on the same rows.

    Raises:
        StoreError: the store cannot be written.
    """
    refuse_report(root)
    folder = plan_folder(root, digest)
    files.make_folder(folder)
    merged = pl.concat([read_verdicts(root, digest), verdicts.match_to_schema(table_schema("verdicts"))])
    content = encode_parquet(merged.unique(subset=["claim", "rows"], keep="last", maintain_order=True))
    files.replace(folder / VERDICTS_FILE, content)
    # The checksum last: until then the file counts as none, and claims are judged again.
    files.replace(folder / VERDICTS_CHECKSUM_FILE, to_checksummed_json(digest_bytes(content)))
