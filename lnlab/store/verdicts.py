"""Verdicts stored with their plan, keyed by claim and by the digest of the rows it was judged on.

They can be made again from the rows, so a damaged file counts as none.
"""

from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.records.checksummed import Damaged, read_bytes, read_checked, seal, unseal
from lnlab.store.records.layout import plan_folder
from lnlab.store.unit import parquet
from lnlab.tables import frame, schema

TABLE = "verdicts.parquet"
SEAL = "verdicts.json"


def read(root: Path, digest: str) -> pl.DataFrame:
    """The verdicts of a plan, the newest of each claim last; empty where there are none.

    Raises:
        StoreError: this user may not read them.
    """
    folder = plan_folder(root, digest)
    try:
        sha256 = unseal(read_bytes(folder / SEAL), folder / SEAL)
        rows = pl.read_parquet(BytesIO(read_checked(folder / TABLE, sha256)))
    except Damaged:
        return frame("verdicts", [])
    return rows if rows.schema == schema("verdicts") else frame("verdicts", [])


def keep(root: Path, digest: str, verdicts: pl.DataFrame) -> None:
    """Add verdicts to those of a plan; one of the same claim on the same rows is replaced.

    Raises:
        StoreError: the store cannot be written.
    """
    folder = plan_folder(root, digest)
    files.make_folder(folder)
    merged = pl.concat([read(root, digest), verdicts.match_to_schema(schema("verdicts"))])
    content = parquet(merged.unique(subset=["claim", "rows"], keep="last", maintain_order=True))
    files.replace(folder / TABLE, content)
    files.replace(folder / SEAL, seal(digest_bytes(content)))
