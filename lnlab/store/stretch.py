"""A stretch of work as it lies in a store: its record, and its rows in files or in a pack of tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from lnlab.store.records.record import Record
from lnlab.tables import WRITTEN_BY_WORKERS, table_schema

if TYPE_CHECKING:
    from lnlab.store.packs import Pack


class PackReplaced(Exception):
    """A pack was replaced by another one while it was read."""


@dataclass(frozen=True)
class Stretch:
    """One committed stretch of work.

    Attributes:
        record: of the stretch.
        files: file name -> verified bytes. None if it lies in a pack of tables.
        output: what the worker printed last.
        pack: the pack of tables that holds its rows.
        position: its number in that pack.
    """

    record: Record
    files: Mapping[str, bytes] | None
    output: bytes = b""
    pack: "Pack | None" = None
    position: int = 0

    @property
    def is_known(self) -> bool:
        """Whether this lnlab knows every table and column. What a newer one wrote is not rewritten."""
        if self.pack is not None:
            return self.pack.is_known
        for name, content in (self.files or {}).items():
            table = name.removesuffix(".parquet")
            if table not in WRITTEN_BY_WORKERS:
                return False
            if not pl.read_parquet_schema(BytesIO(content)).items() <= table_schema(table).items():
                return False
        return True

    def tables(self) -> dict[str, pl.DataFrame]:
        """Its rows by table, with empty tables that were written. Tables of a newer lnlab are left out.

        Raises:
            PackReplaced: it lay in a pack that is gone.
        """
        names = [table for table in WRITTEN_BY_WORKERS if f"{table}.parquet" in self.record.files]
        if self.pack is not None:
            try:
                return self.pack.tables_at(self.position, names)
            except FileNotFoundError as error:
                raise PackReplaced from error
        return {name: scan_files(name, [(self.files or {})[f"{name}.parquet"]]).collect() for name in names}


def scan_files(table: str, contents: Iterable[bytes]) -> pl.LazyFrame:
    """The rows of files of one table. A column that an older lnlab did not write is null."""
    return pl.scan_parquet(list(contents), schema=table_schema(table), missing_columns="insert", extra_columns="ignore")
