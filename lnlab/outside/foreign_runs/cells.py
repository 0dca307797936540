"""Columns of text as numbers: which mark is the decimal one is decided for each column by its own cells.

2.5 1e-3 1,299.99     the point is the decimal mark
0,5 12,34 1.299,99    the comma is
2,310 and 950 2.310   either: refused where no other cell of the column decides and nobody says
nan inf Infinity      numbers, in any case
NA N/A null           nothing was measured, as in an empty cell
"""

from collections.abc import Iterator, Sequence

import polars as pl

from lnlab.errors import LabError
from lnlab.issues import Issue

_MISSING = r"(?i)^(na|n/a|#n/a|<na>|null)?$"
_NOT_FINITE = r"(?i)^[+-]?(nan|inf|infinity)$"
_TRUTH = r"(?i)^(true|false)$"
_GAPS = "[ _'\u2019\u00a0\u2009\u202f]"
"""What stands between groups of three digits beside the two marks."""
_SPACED = rf"^[+-]?[0-9]{{1,3}}({_GAPS}[0-9]{{3}})+([.,][0-9]*)?$"
_NUMBER = {
    mark: rf"^[+-]?([1-9][0-9]{{0,2}}(\{group}[0-9]{{3}})+(\{mark}[0-9]*)?"
    rf"|([0-9]+\{mark}?[0-9]*|\{mark}[0-9]+)([eE][+-]?[0-9]+)?)$"
    for mark, group in ((".", ","), (",", "."))
}
"""Numbers with that decimal mark; groups of three digits may have the other mark between them."""
_WHOLE = r"^[+-]?[0-9]+$"
_NEARLY = r"^[+-]?[0-9][0-9.,]*[,%][0-9.,]*%?$"
"""Shares in percent, and digits grouped as in India: no label looks like that."""


def typed_frames(frames: Sequence[pl.DataFrame], names: Sequence[str], decimal: str | None) -> list[pl.DataFrame]:
    """The frames, with numbers in each column of text that has numbers alone, whatever frames it is spread over.

    A column with words stays text.

    Args:
        frames: parts of one table.
        names: of the frames, for messages.
        decimal: the decimal mark of columns that do not show theirs.

    Raises:
        LabError: a column has both marks, or its mark is open, with a cell.
    """
    columns: dict[str, list[int]] = {}
    for number, frame in enumerate(frames):
        for name in frame.select(pl.col(pl.String)).columns:
            columns.setdefault(name, []).append(number)
    cells = {name: _plain(pl.concat([frames[n][name] for n in parts])) for name, parts in columns.items()}
    commas = any(_reads(column) == [","] for column in cells.values())
    typed: list[dict[str, pl.Series]] = [{} for _ in frames]
    for name, parts in columns.items():
        places = [(names[n], row) for n in parts for row in range(1, frames[n].height + 1)]
        column = _typed(cells[name], decimal, commas=commas, places=places)
        start = 0
        for number in parts:
            typed[number][name] = column.slice(start, frames[number].height)
            start += frames[number].height
    return [frame.with_columns(**new) for frame, new in zip(frames, typed, strict=True)]


def words_among_numbers(column: pl.Series) -> Iterator[tuple[int, str]]:
    """The cells of a column of text that are no numbers, with their rows from 1, if it should have numbers.

    It should where words do not outnumber the numbers, or are all the same, as a dash is that stands for nothing, or
    are nearly numbers.
    """
    cells = _plain(column)
    numbers = _is_number(cells)
    words = cells.filter(~numbers).drop_nulls()
    few = numbers.any() and (words.len() <= numbers.sum() or words.n_unique() == 1)
    if few or words.str.contains(_NEARLY).all():
        rows = (~numbers).fill_null(value=False)
        yield from zip((rows.arg_true() + 1).to_list(), column.filter(rows).to_list(), strict=True)


def _plain(column: pl.Series) -> pl.Series:
    """Stripped cells with a plain minus and no gaps in numbers. Null where nothing was measured."""
    cells = column.str.strip_chars().str.replace("^\u2212", "-")
    spaced = cells.str.contains(_SPACED)
    return (
        pl.select(
            pl.when(cells.str.contains(_MISSING))
            .then(None)
            .when(spaced)
            .then(cells.str.replace_all(_GAPS, ""))
            .otherwise(cells)
        )
        .to_series()
        .alias(column.name)
    )


def _is_number(cells: pl.Series) -> pl.Series:
    return cells.str.contains("|".join((*_NUMBER.values(), _NOT_FINITE)))


def _reads(cells: pl.Series) -> list[str]:
    """The decimal marks with which every cell is a number."""
    filled = cells.drop_nulls()
    return [mark for mark in _NUMBER if filled.str.contains(f"{_NUMBER[mark]}|{_NOT_FINITE}").all()]


def _typed(cells: pl.Series, decimal: str | None, *, commas: bool, places: Sequence[tuple[str, int]]) -> pl.Series:
    """A column as numbers, or as it is where it has words. ``commas``: another one has decimal commas for certain."""
    if cells.null_count() == cells.len():
        return cells.cast(pl.Null)
    if cells.drop_nulls().str.contains(_TRUTH).all():
        return cells.str.to_lowercase() == "true"
    if not _is_number(cells).all():
        return cells
    marks = _reads(cells)
    if not marks:
        both = [_shown(cells, ~cells.str.contains(f"{_NUMBER[mark]}|{_NOT_FINITE}"), places) for mark in _NUMBER]
        what = f"the column '{cells.name}' has two decimal marks, in {both[0]} and in {both[1]}"
        raise LabError(Issue("ambiguous", "", what, "write one mark in all its cells"))
    # 2.310 beside 950 and no 1250: a program that writes three decimals writes 950.000
    grouped = cells.str.contains(r"^[+-]?[0-9]{1,3}$").any() and not cells.str.contains("[0-9]{4}").any()
    open_cells = cells.str.contains("[0-9],[0-9]") | (cells.str.contains(r"[0-9]\.[0-9]") & (commas or grouped))
    if len(marks) > 1 and open_cells.any() and decimal is None:
        what = (
            f"the column '{cells.name}' has {_shown(cells, open_cells, places)}, with a mark before three digits: "
            "thousands or decimals"
        )
        raise LabError(Issue("ambiguous", "", what, "say which: decimal: ',' or '.', or thousands:"))
    mark = (decimal or ".") if len(marks) > 1 else marks[0]
    plain = cells.str.replace_all("," if mark == "." else r"\.", "").str.replace(",", ".")
    if plain.drop_nulls().str.contains(_WHOLE).all():
        whole = plain.str.strip_prefix("+").cast(pl.Int128, strict=False)
        if whole.null_count() == plain.null_count():
            return whole.cast(pl.Int64) if whole.is_between(-(2**63), 2**63 - 1).all() else whole
    return plain.str.to_lowercase().str.replace("^\\+", "").cast(pl.Float64)


def _shown(cells: pl.Series, which: pl.Series, places: Sequence[tuple[str, int]]) -> str:
    """``'2,310' (row 3 of runs.csv)``: the first cell of those."""
    index = int(which.fill_null(value=False).arg_max() or 0)
    name, row = places[index]
    return f"'{cells[index]}' (row {row}{f' of {name}' if name else ''})"
