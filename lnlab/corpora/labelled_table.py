"""Any table with a column of text and one of labels, as a corpus of labelled sentences."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import Field

from lnlab.corpora.files.fetch import file_below, file_digest, named_file
from lnlab.corpora.files.parallel import content_of
from lnlab.corpora.labelled import Labelled, labelled, labelled_of
from lnlab.errors import CorpusError, Problem, nearest
from lnlab.registry import Choice, Roots

_Name = Annotated[str, Field(min_length=1, max_length=1024)]
_READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": lambda path: pl.read_csv(path, infer_schema=False),
    ".tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema=False, quote_char=None),
    ".parquet": pl.read_parquet,
}


def _inputs(roots: Roots, choice: Choice) -> list[Path]:
    path = file_below(roots, choice["file"])
    return [path] if path else []


def _fingerprint(roots: Roots, choice: Choice) -> str:
    """The content of the file, or that it is absent."""
    return content_of(_inputs(roots, choice) or None)


@labelled.register("labelled_table", fingerprint=_fingerprint, inputs=_inputs)
def labelled_table(roots: Roots, *, file: _Name, text: _Name = "text", label: _Name = "label") -> Labelled:
    """``row -> (sentence, label)``: a column of text and one of labels of a CSV, TSV or Parquet file.

    ``file`` is below the spec's folder or a data folder; ``text`` and ``label`` name the columns. The classes are the
    labels in the order of the alphabet, and ``classes`` of the task says how many there are. A TSV file has a tab
    between columns and no quotes.

    Raises:
        CorpusError: the file is absent, no such table, leads out of the data folders, lacks a column, or has an empty
            cell, a single label or no row.
    """
    path = named_file(roots, file)
    return _read(path, file_digest(path), text, label)


@lru_cache(maxsize=4)
def _read(path: Path, _digest: str, text: str, label: str) -> Labelled:
    """The digest of the file is part of the argument: a changed file is read anew."""
    read = _READERS.get(path.suffix.lower())
    if read is None:
        known = ", ".join(_READERS)
        raise CorpusError(Problem(str(path), "is no table by its name", f"a table ends in one of {known}"))
    try:
        table = read(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CorpusError(Problem(str(path), f"cannot be read as a table: {reason}", "write it again")) from error
    for column in (text, label):
        if column not in table.columns:
            raise CorpusError(Problem(str(path), f"has no column '{column}'", nearest(column, table.columns)))
    cells = table.select(pl.col(text).cast(pl.String).alias("text"), pl.col(label).cast(pl.String).alias("label"))
    cells = cells.with_columns(pl.all().str.strip_chars())
    empty = cells.with_row_index("row", 1).filter(pl.any_horizontal(pl.col("text", "label").fill_null("") == ""))
    if not empty.is_empty():
        row = empty["row"][0]
        raise CorpusError(Problem(str(path), f"row {row} has no text or no label", "fill it in, or leave the row out"))
    names = tuple(sorted(set(cells["label"])))
    if len(names) < 2:
        what = f"has {cells.height} rows and {len(names)} {'label' if len(names) == 1 else 'labels'}"
        raise CorpusError(Problem(str(path), what, "a class can only be told from another one"))
    return labelled_of(list(cells.iter_rows()), names, printable=False)
