"""The cells of a table: settings by settings, each statistic over seeds, and the number that a source prints there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from lnlab.analyse.select.series import varying
from lnlab.analyse.statistics.intervals import Interval, middle, student
from lnlab.errors import Problem, ReportError
from lnlab.report.data.series import values_at
from lnlab.report.words.wording import listing
from lnlab.tables import Results

Statistic = Literal["mean", "geometric_mean", "median"]
Digits = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]
Published = Mapping[str, Mapping[str, float | Digits]]
Label = str | float
Place = tuple[Label, Label]

ESTIMATES: Mapping[Statistic, Callable[[Sequence[float]], Interval]] = {
    "mean": student,
    "geometric_mean": partial(student, log=True),
    "median": middle,
}


@dataclass(frozen=True)
class Cells:
    """What stands where; a place is (row, column).

    Attributes:
        paths: what makes the rows, and the columns.
        rows: the values there, in order, and how a reader says them.
        columns: the same.
        found: each statistic of each place that has numbers, and that has such a statistic.
        printed: what the source prints, as it is written.
        strays: numbers of the source that have no place here.
        dropped: numbers that are not finite.
    """

    paths: tuple[str, str]
    rows: Mapping[Label, str]
    columns: Mapping[Label, str]
    found: Mapping[tuple[Place, Statistic], Interval]
    printed: Mapping[Place, str]
    strays: int
    dropped: int


def collect(
    results: Results, taken: pl.DataFrame, paths: tuple[str, str], asked: Sequence[Statistic], published: Published
) -> Cells:
    """The cells of selected rows.

    Args:
        results: what an experiment found.
        taken: the rows, with a column for each path.
        paths: what makes the rows of the table, and its columns; columns of the rows or paths of the setting.
        asked: the statistics.
        published: ``{column: {row: number}}``.

    Raises:
        ReportError: a seed has more than one number in a cell.
    """
    _refuse_several(results, taken, paths)
    finite = taken.filter(pl.col("value").is_finite())
    groups = finite.group_by(*paths, maintain_order=True).agg("value")
    found = {
        ((row, column), statistic): ESTIMATES[statistic](values)
        for row, column, values in groups.iter_rows()
        for statistic in asked
        if statistic != "geometric_mean" or min(values) > 0
    }
    rows, columns = (values_at(results, taken, path) for path in paths)
    names = {(_word(row), _word(column)): (row, column) for row in rows for column in columns}
    told = {(row, column): str(number) for column, each in published.items() for row, number in each.items()}
    printed = {names[place]: number for place, number in told.items() if place in names}
    return Cells(paths, rows, columns, found, printed, len(told) - len(printed), taken.height - finite.height)


def agrees(found: Interval, printed: str) -> bool:
    """Whether the interval holds the printed number, as far as its digits go: 0.81 is 0.805 to 0.815."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return found.low - half <= float(printed) <= found.high + half


def _word(label: Label) -> str:
    """How a spec writes a value."""
    return label if isinstance(label, str) else f"{label:g}"


def _refuse_several(results: Results, taken: pl.DataFrame, paths: tuple[str, str]) -> None:
    """Refuse to average over anything but seeds."""
    place = pl.struct(*paths, "seed")
    twice = taken.filter(place.is_duplicated())
    if twice.is_empty():
        return
    first = twice.filter(place == place.first())
    told = [f"{k} ({listing(v)})" for k, v in varying(results, first).items() if len(v) > 1 and k not in paths]
    row, column, seed = first.select(*paths, "seed").row(0)
    what = f"seed {seed} has {first.height} numbers at {_word(row)}, {_word(column)}: {'; '.join(told) or 'twice'}"
    raise ReportError(Problem("where", what, "select one of each"))
