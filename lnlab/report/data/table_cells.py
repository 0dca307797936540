"""The cells of a table: settings by settings, each statistic over seeds, and the number that a source prints there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from lnlab.analyse.select.series import varying_columns
from lnlab.analyse.statistics.intervals import Interval, median_interval, t_interval
from lnlab.errors import Problem, ReportError
from lnlab.report.data.series import labelled_values
from lnlab.report.words.wording import join_words
from lnlab.tables import Results

Statistic = Literal["mean", "geometric_mean", "median"]
Digits = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]
Published = Mapping[str, Mapping[str, float | Digits]]
CellLabel = str | float
TablePlace = tuple[CellLabel, CellLabel]

ESTIMATORS: Mapping[Statistic, Callable[[Sequence[float]], Interval]] = {
    "mean": t_interval,
    "geometric_mean": partial(t_interval, log=True),
    "median": median_interval,
}


@dataclass(frozen=True)
class TableCells:
    """The cells of a table; a place is (row, column).

    Attributes:
        paths: what makes the rows, and the columns.
        rows: the values of the first path, in order, with their labels.
        columns: those of the second path.
        intervals: the interval of each statistic at each place that has numbers, if it is defined for them.
        printed: what the source prints, as it is written.
        strays: how many numbers of the source have no place in this table.
        dropped: how many numbers are not finite.
    """

    paths: tuple[str, str]
    rows: Mapping[CellLabel, str]
    columns: Mapping[CellLabel, str]
    intervals: Mapping[tuple[TablePlace, Statistic], Interval]
    printed: Mapping[TablePlace, str]
    strays: int
    dropped: int


def collect_table_cells(
    results: Results,
    selected_rows: pl.DataFrame,
    paths: tuple[str, str],
    statistics: Sequence[Statistic],
    published: Published,
) -> TableCells:
    """The cells of selected rows.

    Args:
        results: of an experiment.
        selected_rows: with a column for each path.
        paths: what makes the rows of the table, and its columns; columns of the rows or paths of the setting.
        statistics: those that the section shows.
        published: ``{column: {row: number}}``.

    Raises:
        ReportError: a seed has more than one number in a cell.
    """
    _refuse_several(results, selected_rows, paths)
    finite = selected_rows.filter(pl.col("value").is_finite())
    groups = finite.group_by(*paths, maintain_order=True).agg("value")
    intervals = {
        ((row, column), statistic): ESTIMATORS[statistic](values)
        for row, column, values in groups.iter_rows()
        for statistic in statistics
        if statistic != "geometric_mean" or min(values) > 0
    }
    rows, columns = (labelled_values(results, selected_rows, path) for path in paths)
    names = {(_spec_text(row), _spec_text(column)): (row, column) for row in rows for column in columns}
    published_numbers = {
        (row, column): str(number)
        for column, numbers_by_row in published.items()
        for row, number in numbers_by_row.items()
    }
    printed = {names[place]: number for place, number in published_numbers.items() if place in names}
    strays = len(published_numbers) - len(printed)
    dropped = selected_rows.height - finite.height
    return TableCells(
        paths=paths, rows=rows, columns=columns, intervals=intervals, printed=printed, strays=strays, dropped=dropped
    )


def agrees_with_printed(interval: Interval, printed: str) -> bool:
    """Whether the interval contains the printed number, as far as its digits go: 0.81 is 0.805 to 0.815."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return interval.low - half <= float(printed) <= interval.high + half


def _spec_text(label: CellLabel) -> str:
    """How a spec writes a value."""
    return label if isinstance(label, str) else f"{label:g}"


def _refuse_several(results: Results, selected_rows: pl.DataFrame, paths: tuple[str, str]) -> None:
    """Refuse to average over anything but seeds."""
    place = pl.struct(*paths, "seed")
    duplicates = selected_rows.filter(place.is_duplicated())
    if duplicates.is_empty():
        return
    first = duplicates.filter(place == place.first())
    differing = [
        f"{k} ({join_words(v)})" for k, v in varying_columns(results, first).items() if len(v) > 1 and k not in paths
    ]
    row, column, seed = first.select(*paths, "seed").row(0)
    place_text = f"{_spec_text(row)}, {_spec_text(column)}"
    what = f"seed {seed} has {first.height} numbers at {place_text}: {'; '.join(differing) or 'twice'}"
    raise ReportError(Problem("where", what, "select one of each"))
