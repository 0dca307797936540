"""A quantity as a table, settings by settings: estimates over seeds, and below them what a source prints."""

import math

import polars as pl

from lnlab.analyse.statistics.intervals import Interval
from lnlab.keys import Json
from lnlab.report.data.figure import FigureData, as_seeds, estimate_headings
from lnlab.report.data.series import (
    mean_points,
    median_points,
    missing_runs_sentence,
    source_rows_of,
)
from lnlab.report.data.table_cells import (
    CellLabel,
    Published,
    StatisticName,
    TableCells,
    TablePlace,
    agrees_with_printed,
    collect_table_cells,
)
from lnlab.report.figures.shades import ValueMatrix
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN, MEAN, MEDIAN
from lnlab.report.words.wording import (
    count_noun,
    format_apart,
    format_interval,
    format_short,
    format_value,
    join_words,
    nonbreaking,
)
from lnlab.select.select import Selected
from lnlab.tables import Results

_STATISTICS = {"mean": MEAN, "geometric_mean": GEOMETRIC_MEAN, "median": MEDIAN}
_PUBLISHED = "published"
_NUMBERS = {"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
_SCHEMA = {"row": pl.String, "column": pl.String, "statistic": pl.String, **_NUMBERS}


@sections.register("table")
def table(
    results: Results,
    *,
    quantity: str,
    rows: str,
    columns: str,
    where: dict[str, Json] | None = None,
    statistics: list[StatisticName] | None = None,
    published: Published | None = None,
    matrix: bool = False,
) -> Section:
    """``estimate [low, high]`` over seeds, ``rows`` by ``columns``: with a 95 % interval (Student, 1908).

    ``statistics``: ``mean`` (the default), ``geometric_mean``, ``median``, or several, one a line. ``published``
    holds what a source prints, ``{column: {row: number}}``, rows and columns called by their values; a number in
    quotes keeps its digits. ``matrix`` draws the first statistic as a figure: numbers on shades.
    """
    selection = {"quantity": quantity, **(where or {})}
    requested = statistics or ["mean"]
    taken = Selected(results, selection, columns=[rows, columns])
    selected = taken.rows.drop_nulls([rows, columns])
    missing_note = missing_runs_sentence(taken.runs)
    if selected.is_empty():
        finding = f"There is no number of the {quantity_name(quantity)}"
        return Section(finding, missing=missing_note)
    cells = collect_table_cells(results, selected, (rows, columns), requested, published or {}, selection)
    finding = _finding(cells, quantity, requested[0])
    row_name, column_name = path_name(rows), path_name(columns)
    by = join_words(path_name(path) for path in (rows, columns) if path != "quantity")
    charts: tuple[ValueMatrix, ...] = ()
    if matrix:
        names = {label: _row_heading(cells, label) for label in cells.rows}
        places = list(cells.columns)
        placed = selected.filter(pl.col("value").is_finite()).with_columns(
            panel=pl.lit(None, pl.String),
            series=pl.col(rows).replace_strict(names, return_dtype=pl.String),
            line=pl.col(rows).replace_strict(list(names), range(len(names)), return_dtype=pl.Int32),
            x=pl.col(columns).replace_strict(places, range(len(places)), return_dtype=pl.Float64),
        )
        seeds = as_seeds(placed).sort("line", "x", "seed")
        drawn = _STATISTICS[requested[0]]
        points = median_points(seeds) if drawn == MEDIAN else mean_points(seeds, log=drawn == GEOMETRIC_MEAN)
        figure = ValueMatrix(
            data=FigureData(seeds=seeds, points=points, missing="", rows={}),
            row_names=[*names.values()],
            column_names=[*cells.columns.values()],
            title=column_name,
            statistic=drawn,
            subject=f"{quantity_definition(quantity)} by {by}",
            notes=("Stronger shades: larger values.",),
            shows=f"Matrix of the {quantity_with_unit(quantity)}, {row_name} by {column_name}",
            finding=finding,
            headings={
                "series": row_name,
                "x": f"column, {column_name}",
                **estimate_headings(quantity_name(quantity), "low", "high"),
            },
        )
        charts = (figure,)
    stored_rows = source_rows_of(results, quantity, selected)
    has_names = len(requested) > 1 or bool(cells.printed)  # a column says which line is of which statistic
    entries: list[tuple[object, ...]] = []
    body: list[tuple[Cell, ...]] = []
    for label in cells.rows:
        row = _row_heading(cells, label)
        of_row = [(label, column) for column in cells.columns]
        for place in of_row:
            named = (row, cells.columns[place[1]])
            for statistic in requested:
                if ci := cells.intervals.get((place, statistic)):
                    entries.append((*named, _STATISTICS[statistic].centre, ci.estimate, *_finite_bounds(ci), ci.n))
            if place in cells.printed:
                entries.append((*named, _PUBLISHED, float(cells.printed[place]), None, None, None))
        lines: dict[str, list[str]] = {}
        for statistic in requested:
            texts = lines.setdefault(_STATISTICS[statistic].centre, [])
            for place in of_row:
                ci = cells.intervals.get((place, statistic))
                if place in cells.unfinished or ci is None:
                    texts.append(cells.unfinished.get(place, "–"))
                elif (
                    statistic == "median" and _finite_bounds(ci)[0] is None
                ):  # the number of a seed, with its own digits
                    texts.append(nonbreaking(format_short(ci.estimate)))
                else:
                    agree = statistic != "median" or ci.sd <= 1e-9 * abs(ci.estimate)  # equal up to rounding
                    texts.append(nonbreaking(format_interval(ci.estimate, *_finite_bounds(ci), agree=agree)))
        if any(place in cells.printed for place in of_row):
            lines[_PUBLISHED] = [cells.printed.get(place, "–") for place in of_row]
        for index, (name, texts) in enumerate(lines.items()):
            head: tuple[Cell, ...] = (("" if index else row, False), *([(name, False)] if has_names else []))
            body.append((*head, *((text, True) for text in texts)))
    exact = pl.DataFrame(entries, schema=_SCHEMA, orient="row")
    notes = ["Published: what the source prints."] if cells.printed else []
    if cells.strays:
        verb = "has" if cells.strays == 1 else "have"
        notes.append(f"{count_noun(cells.strays, 'published number')} {verb} no cell here.")
    if cells.dropped:
        verb = "is" if cells.dropped == 1 else "are"
        notes.append(f"{count_noun(cells.dropped, 'number')} {verb} left out: not finite.")
    headings = {"row": row_name, "column": column_name, "statistic": "statistic"}
    table = Table(
        exact,
        headings | estimate_headings(quantity_name(quantity)),
        f"{quantity_definition(quantity)} by {by}",
        Grid("", (row_name, *([""] if has_names else []), *cells.columns.values()), tuple(body)),
        statistics=tuple((_STATISTICS[name], exact.filter(statistic=_STATISTICS[name].centre)) for name in requested),
        notes=tuple(notes),
    )
    return Section(finding, charts, (table,), missing=missing_note, rows=stored_rows)


def _finite_bounds(ci: Interval) -> tuple[float | None, float | None]:
    """The ends of the interval, or twice None for one seed or an infinite end."""
    bounded = math.isfinite(ci.low) and math.isfinite(ci.high) and ci.n > 1
    return (ci.low, ci.high) if bounded else (None, None)


def _row_heading(cells: TableCells, label: CellLabel) -> str:
    """The heading of a row. A number stands without its unit, which the heading of the column says."""
    return cells.rows[label] if isinstance(label, str) else format_value(label)


def _finding(cells: TableCells, quantity: str, statistic: StatisticName) -> str:
    """State how the printed numbers compare with ours, or the range of ours where nothing is printed."""
    ours = {place: ci for (place, name), ci in cells.intervals.items() if name == statistic}
    both = {place: (ci, cells.printed[place]) for place, ci in ours.items() if place in cells.printed}
    if both:
        inside = sum(agrees_with_printed(*pair) for pair in both.values())
        how_many = f"Of {count_noun(len(both), 'published number')}, {inside} {'lies' if inside == 1 else 'lie'}"
        within = f"{how_many} within the 95 % interval of our {_STATISTICS[statistic].centre}"
        ratios = {p: f.estimate / float(t) for p, (f, t) in both.items() if f.estimate > 0 and float(t) > 0}
        worst = max(ratios, key=lambda place: abs(math.log(ratios[place])), default=None)
        if worst is None or ratios[worst] == 1:
            return within
        times = f"where ours is {format_short(ratios[worst])} times the published"
        return f"{within}; the furthest is {_place_text(cells, worst, quantity)}, {times}"
    if not ours:
        return f"The {quantity_name(quantity)} has no {_STATISTICS[statistic].centre} in any cell"
    extremes = dict.fromkeys(pick(ours, key=lambda place: ours[place].estimate) for pick in (min, max))
    numbers = dict(zip(extremes, format_apart([ours[place].estimate for place in extremes]), strict=True))
    texts = [f"{number} ({_place_text(cells, place, quantity)})" for place, number in numbers.items()]
    if len(ours) == 1:
        return f"{quantity_name(quantity)}: {texts[0]}"
    if len({*numbers.values()}) == 1:
        return f"The {quantity_name(quantity)} is {next(iter(numbers.values()))} in every cell"
    return f"The {quantity_name(quantity)} is between {' and '.join(texts)}"


def _place_text(cells: TableCells, place: TablePlace, quantity: str) -> str:
    """``Pre-LN at 128 layers``: of a name and a number, the name first. A row of the quantity itself says nothing."""
    if place[0] == quantity:
        return cells.columns[place[1]]
    row, column = cells.rows[place[0]], cells.columns[place[1]]
    return f"{row} at {column}" if isinstance(place[0], str) and not isinstance(place[1], str) else f"{column} at {row}"
