"""Files that other tools write, read as one table: CSV, Parquet and JSON lines, by their names' endings."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import polars as pl

from lnlab.errors import LabError, Problem
from lnlab.keys import digest_bytes
from lnlab.user_tables import LARGEST_TABLE, csv_frame, refuse_packed
from lnlab.userfiles import read_user_file

_OTHERS: dict[str, Callable[[bytes], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".jsonl": lambda content: pl.read_ndjson(content, infer_schema_length=None),
    ".ndjson": lambda content: pl.read_ndjson(content, infer_schema_length=None),
    ".json": pl.read_json,
}
READABLE = (".csv", ".tsv", *_OTHERS)
"""The endings of files that are read."""


def read_tables(files: Sequence[Path], columns: Collection[str]) -> tuple[pl.DataFrame, list[str]]:
    """The rows of all files, one below another, and the digests of the files.

    Args:
        files: in the order of their rows.
        columns: some that they have.

    Raises:
        LabError: a file is not there, is of no known kind, or cannot be read; or one has a column as words that
            another has as numbers.
    """
    frames, digests = [], []
    for path in files:
        ending = path.suffix.lower()
        if ending not in READABLE:
            what = f"ends with '{path.suffix}'"
            raise LabError(Problem(str(path), what, f"give a file that ends with {', '.join(READABLE)}"))
        content = read_user_file(path, "table", LARGEST_TABLE)
        refuse_packed(path, content)
        try:
            frames.append(_OTHERS[ending](content) if ending in _OTHERS else csv_frame(path, content, columns))
        except (pl.exceptions.PolarsError, ValueError) as error:
            what = f"cannot be read: {' '.join(str(error).split())[:200]}"
            raise LabError(Problem(str(path), what, "write it again, with one header line")) from error
        digests.append(digest_bytes(content))
    try:
        return pl.concat(frames, how="diagonal_relaxed"), digests
    except pl.exceptions.PolarsError as error:
        names = ", ".join(map(str, files))
        raise LabError(Problem(names, "have columns of different kinds", "give them one set of columns")) from error
