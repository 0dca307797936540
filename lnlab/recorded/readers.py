"""Files that other tools write, read as one table: CSV, Parquet and JSON lines, by their names' endings."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from lnlab.errors import LabError, Problem
from lnlab.keys import digest_bytes
from lnlab.userfiles import read_user_file

LARGEST_TABLE = 1 << 30
"""Bytes of a file."""
_SEPARATORS = (",", ";", "\t", "|")


def _csv(content: bytes) -> pl.DataFrame:
    """Separated as its first line is; a blank cell is no number."""
    first = content.partition(b"\n")[0].decode("utf-8-sig", "replace")
    separator = max(_SEPARATORS, key=first.count)
    return pl.read_csv(content, separator=separator, infer_schema_length=None, null_values=["", "null"])


READERS: dict[str, Callable[[bytes], pl.DataFrame]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": pl.read_parquet,
    ".jsonl": lambda content: pl.read_ndjson(content, infer_schema_length=None),
    ".ndjson": lambda content: pl.read_ndjson(content, infer_schema_length=None),
    ".json": pl.read_json,
}
"""By the ending of a file's name."""


def read_tables(files: Sequence[Path]) -> tuple[pl.DataFrame, list[str]]:
    """The rows of all files, one below another, and the digests of the files.

    Raises:
        LabError: a file is not there, is of no known kind, or cannot be read; or one has a column as words that
            another has as numbers.
    """
    frames, digests = [], []
    for path in files:
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            what = f"ends with '{path.suffix}'"
            raise LabError(Problem(str(path), what, f"give a file that ends with {', '.join(READERS)}"))
        content = read_user_file(path, "table", LARGEST_TABLE)
        try:
            frames.append(reader(content))
        except (pl.exceptions.PolarsError, ValueError) as error:
            what = f"cannot be read: {' '.join(str(error).split())[:200]}"
            raise LabError(Problem(str(path), what, "write it again, with one header line")) from error
        digests.append(digest_bytes(content))
    try:
        return pl.concat(frames, how="diagonal_relaxed"), digests
    except pl.exceptions.PolarsError as error:
        names = ", ".join(map(str, files))
        raise LabError(Problem(names, "have columns of different kinds", "give them one set of columns")) from error
