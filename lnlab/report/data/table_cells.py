"""The cells of a table: settings by settings, each statistic over seeds, and the number that a source prints there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

import polars as pl

from lnlab.analyse.statistics.intervals import Interval, clopper_pearson, median_interval, t_interval
from lnlab.claims.bounded import is_fraction, is_rate
from lnlab.claims.criterion import FINISHING
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.parameters import TextForm
from lnlab.report.data.series import ended_runs, labelled_values
from lnlab.report.words.wording import join_words
from lnlab.seed_words import seed_word
from lnlab.select.select import runs_with
from lnlab.select.series import varying_columns
from lnlab.specfile.columns import COLUMNS
from lnlab.tables import Results

StatisticName = Literal["mean", "geometric_mean", "median"]
Digits = Annotated[str, TextForm(r"-?\d+(\.\d+)?", 'a number in quotes, with the digits of the source: "0.810"')]
Published = Mapping[str, Mapping[str, float | Digits]]
CellLabel = str | float
TablePlace = tuple[CellLabel, CellLabel]

ESTIMATORS: Mapping[StatisticName, Callable[[Sequence[float]], Interval]] = {
    "mean": t_interval,
    "geometric_mean": partial(t_interval, log=True),
    "median": median_interval,
}


@dataclass(frozen=True)
class TableCells:
    """The cells of a table. A place is (row, column).

    Attributes:
        paths: what makes the rows, and the columns.
        rows: the values of the first path, in order, with their labels.
        columns: those of the second path.
        intervals: the interval of each statistic at each place that has numbers, if it is defined for them.
        printed: what the source prints, as it is written.
        strays: how many numbers of the source have no place in this table.
        dropped: how many numbers are not finite.
        unfinished: places of which too many runs diverged for a mean, with how many finished: ``3 of 10 finished``.
    """

    paths: tuple[str, str]
    rows: Mapping[CellLabel, str]
    columns: Mapping[CellLabel, str]
    intervals: Mapping[tuple[TablePlace, StatisticName], Interval]
    printed: Mapping[TablePlace, str]
    strays: int
    dropped: int
    unfinished: Mapping[TablePlace, str] = field(default_factory=dict)


def collect_table_cells(
    results: Results,
    selected_rows: pl.DataFrame,
    paths: tuple[str, str],
    statistics: Sequence[StatisticName],
    published: Published,
    selection: Mapping[str, Json] | None = None,
) -> TableCells:
    """The cells of selected rows.

    Args:
        results: of an experiment.
        selected_rows: with a column for each path.
        paths: what makes the rows and the columns of the table: columns of ``selected_rows`` or paths of the setting.
        statistics: those that the section shows.
        published: ``{column: {row: number}}``.
        selection: how the rows were selected. It tells which places have no mean, as too many of their runs diverged,
            and whether the numbers are fractions.

    Raises:
        ReportError: a seed has more than one number in a cell.
    """
    # seeds are averaged over, and nothing else: two numbers of one seed in a cell are a mistake of the selection
    place = pl.struct(*paths, "seed")
    duplicates = selected_rows.filter(place.is_duplicated())
    if not duplicates.is_empty():
        first = duplicates.filter(place == place.first())
        several = {name: words for name, words in varying_columns(results, first).items() if len(words) > 1}
        differing = [f"{name} ({join_words(words)})" for name, words in several.items() if name not in paths]
        row, column, seed = first.select(*paths, "seed").row(0)
        place_text = f"{_spec_text(row)}, {_spec_text(column)}"
        what = f"{seed_word()} {seed} has {first.height} numbers at {place_text}: {'; '.join(differing) or 'twice'}"
        raise ReportError(Issue("duplicate", "where", what, "select one of each"))
    finite = selected_rows.filter(pl.col("value").is_finite())
    groups = finite.group_by(*paths, maintain_order=True).agg("value")
    fraction, rate = is_fraction(selection or {}), is_rate(selection or {})
    # That runs diverge is no gap in the largest rate that trains: it says where that rate lies.
    counts = {} if rate else unfinished_places(results, selected_rows, paths, selection or {})
    unfinished = {place: f"{k} of {n} finished" for place, (k, n) in counts.items()}
    intervals = {
        ((row, column), statistic): bounded_interval(
            ESTIMATORS[statistic](values), values, fraction=fraction, mean=statistic == "mean" and not rate
        )
        for row, column, values in groups.iter_rows()
        for statistic in statistics
        if (statistic != "geometric_mean" or min(values) > 0) and (row, column) not in unfinished
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
        paths=paths,
        rows=rows,
        columns=columns,
        intervals=intervals,
        printed=printed,
        strays=strays,
        dropped=dropped,
        unfinished=unfinished,
    )


def bounded_interval(interval: Interval, values: Sequence[float], *, fraction: bool, mean: bool = True) -> Interval:
    """The interval of a mean within its bounds: exact for a share of seeds, all of whose numbers are 0 or 1.

    Numbers that are all 0, or all 1, are a share only if they are fractions: a largest learning rate can be 0 as well.

    Args:
        interval: Student's, or that of a median.
        values: the numbers of the seeds.
        fraction: whether they lie between 0 and 1.
        mean: whether it is that of their mean.
    """
    if mean and (set(values) == {0.0, 1.0} or (fraction and set(values) <= {0.0, 1.0})):
        low, high = clopper_pearson(int(sum(values)), len(values))
        return replace(interval, low=low, high=high)
    return replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0)) if fraction else interval


def unfinished_places(
    results: Results, rows: pl.DataFrame, paths: tuple[str, str], selection: Mapping[str, Json]
) -> dict[TablePlace, tuple[int, int]]:
    """Places with trained numbers and too many diverged runs for a mean -> (runs that finished, runs that ended)."""
    if not selection or rows.is_empty() or not (rows["step"] > 0).any():
        return {}
    of_runs = [path for path in paths if path not in COLUMNS]
    runs = runs_with(results, selection, None)
    for path in of_runs:
        known = runs_with(results, selection, path).select("run", path)
        runs = runs.join(known, on="run", how="inner", maintain_order="left") if path not in runs.columns else runs
    counts = (
        ended_runs(runs, rows)
        .group_by(of_runs or pl.lit(1).alias("_"), maintain_order=True)
        .agg(k=pl.col("counts").sum(), n=pl.len())
    )
    lost = counts.filter(pl.col("k") < FINISHING * pl.col("n") - 1e-9)
    places = rows.select(paths).unique(maintain_order=True)
    if lost.is_empty():
        return {}
    placed = (
        places.join(lost, on=of_runs, how="inner", maintain_order="left") if of_runs else places.join(lost, how="cross")
    )
    return {(row, column): (k, n) for row, column, k, n in placed.select(*paths, "k", "n").iter_rows()}


def agrees_with_printed(interval: Interval, printed: str) -> bool:
    """Whether the interval contains the printed number, as far as its digits go: 0.81 is 0.805 to 0.815."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return interval.low - half <= float(printed) <= interval.high + half


def _spec_text(label: CellLabel) -> str:
    """How a spec writes a value."""
    return label if isinstance(label, str) else f"{label:g}"
