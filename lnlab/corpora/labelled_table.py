"""Any table with a column of text and one of labels, as a corpus of labelled sentences."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from lnlab.corpora.files.fetch import file_below, file_digest, named_file
from lnlab.corpora.files.parallel import content_of
from lnlab.corpora.labelled import Labelled, labelled, labelled_of
from lnlab.errors import CorpusError, LabError
from lnlab.issues import Issue
from lnlab.registry import Choice, Roots
from lnlab.user_tables import Encoding, Separator, read_columns

_Name = Annotated[str, Field(min_length=1, max_length=1024)]


def _inputs(roots: Roots, choice: Choice) -> list[Path]:
    path = file_below(roots, choice["file"])
    return [path] if path else []


@labelled.register(
    "labelled_table",
    fingerprint=lambda roots, choice: content_of(_inputs(roots, choice) or None),
    inputs=_inputs,
    local=True,
)
def labelled_table(
    roots: Roots,
    *,
    file: _Name,
    text: _Name = "text",
    label: _Name = "label",
    separator: Separator | None = None,
    encoding: Encoding | None = None,
) -> Labelled:
    """``row -> (sentence, label)``: a column of text and one of labels of a CSV, TSV or Parquet file.

    ``file`` is below the spec's folder or a data folder; ``text`` and ``label`` name the columns. The classes are the
    labels in the order of the alphabet, and ``classes`` of the task says how many there are. ``separator`` (comma,
    semicolon, tab or bar) and ``encoding`` of a CSV file are recognised where they are not given; Latin-1 text that
    is not UTF-8 is read as Windows-1252, which it is a part of. A TSV file has a tab between columns and no quotes.

    Raises:
        CorpusError: the file is absent, no such table, leads out of the data folders, lacks a column, or has a column
            of lists, an empty cell, a single label or no row.
    """
    path = named_file(roots, file)
    return _read(path, file_digest(path), text, label, separator, encoding)


@lru_cache(maxsize=4)
def _read(path: Path, _digest: str, text: str, label: str, separator: str | None, encoding: str | None) -> Labelled:
    # The digest of the file is part of the argument, so that a changed file is read anew.
    try:
        table = read_columns(path, (text, label), separator=separator, encoding=encoding)
    except LabError as error:
        raise CorpusError(*error.issues) from error
    rows = list(zip(table[text], table[label], strict=True))
    for number, (sentence, name) in enumerate(rows, start=1):
        if not sentence or not name:
            what = f"row {number} has no {'text' if not sentence else 'label'}"
            raise CorpusError(Issue("damaged", str(path), what, "fill it in, or leave the row out"))
    names = tuple(sorted({name for _, name in rows}))
    if len(names) < 2:
        what = f"has {len(rows)} rows and {len(names)} {'label' if len(names) == 1 else 'labels'}"
        raise CorpusError(Issue("damaged", str(path), what, "a class can only be told from another one"))
    return labelled_of(rows, names, printable=False)
