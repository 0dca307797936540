"""A quantity along the layers, one line for each variant: where in the stack it grows or falls."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.keys import Json
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import axis_at_values, linear_axis, logarithmic_axis
from lnlab.report.data.figure import FigureData, estimate_headings, finite_numbers
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import collect_series
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import mean_statistic
from lnlab.report.words.wording import (
    count_noun,
    format_line,
    format_number,
    format_short,
    format_value,
    growth_in_words,
    is_level,
    join_words,
    two_at_most,
)
from lnlab.tables import Results

_MOST_WITH_BARS = 2
"""Positions up to which intervals are bars."""


@sections.register("depth_profile")
def depth_profile(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "layer",
    scale: Literal["log", "linear"] = "log",
    lines: list[tuple[float, float]] | None = None,
) -> Section:
    """``mean over seeds of the quantity at x, one line per variant``: with the 95 % Student interval as a band.

    ``lines`` are pairs [a, b]: straight lines a + b x, bounds for example, to compare with.
    """
    log = scale == "log"
    series = collect_series(results, quantity, where or {}, x, log=log, panels=True)
    if series.seeds.is_empty():
        return series.unmeasured(quantity)
    finding = _finding(series, quantity, x, where or {}, log=log)
    title = axis_title(quantity, where)
    chart = _chart(series, quantity, x, title, finding, lines or [], log=log)
    return series.section(finding, chart)


def _chart(
    series: FigureData,
    quantity: str,
    x: str,
    title: str,
    finding: str,
    lines: Sequence[tuple[float, float]],
    *,
    log: bool,
) -> Chart:
    line_rows = [row for line in lines for row in _line(series, line, "l" if x == "layer" else "x")]
    values = finite_numbers(series.points, "estimate", "low", "high") + [row["y"] for row in line_rows]
    y = logarithmic_axis(f"{title} (log scale)", [v for v in values if v > 0]) if log else linear_axis(title, values)
    x_title = "layer l (1 = next to the input)" if x == "layer" else path_name(x)
    x_axis = axis_at_values(x_title, series.points["x"], right_margin=0.12 if line_rows else 0.02)
    panel = {"panel": "panel"} if series.panels else {}
    return series.chart(
        line_charts.profile_chart(series.panels, x_axis, y, series.style, line_rows, bars=_has_bars(series)),
        {**panel, "series": "variant", "x": path_name(x), **estimate_headings(quantity_name(quantity))},
        alt=f"Line chart of the {quantity_with_unit(quantity)}, against the {x_axis.title}. {finding}.",
        caption=_caption(series, quantity, x, lines, log=log),
        log=log,
    )


def _has_bars(series: FigureData) -> bool:
    """Whether there are too few positions for bands."""
    return series.points["x"].n_unique() <= _MOST_WITH_BARS


def _line(series: FigureData, line: tuple[float, float], letter: str) -> list[dict[str, Json]]:
    """``y = a + b x`` at every x that is drawn."""
    label = format_line(*line, letter)
    xs = series.points["x"].unique().sort().to_list()
    return [{"law": label, "label": label, "x": x, "y": line[0] + line[1] * x, "last": x == xs[-1]} for x in xs]


def _caption(series: FigureData, quantity: str, x: str, lines: Sequence[tuple[float, float]], *, log: bool) -> str:
    lines_of = mean_statistic(log=log).sentence(series.points, "Lines", "bars" if _has_bars(series) else "band")
    letter = "l" if x == "layer" else "x"
    formulas = join_words(format_line(a, b, letter) for a, b in lines)
    dashed = f" {'Thin dashed lines are' if len(lines) > 1 else 'The thin dashed line is'} {formulas}." if lines else ""
    return f"{quantity_definition(quantity)} by {path_name(x)}. {lines_of}{dashed}"


def _finding(series: FigureData, quantity: str, x: str, where: Mapping[str, Json], *, log: bool) -> str:
    """What each line does from its first to its last position, in words; the first says from where to where."""
    place = f"{where['stack']} {x}" if isinstance(where.get("stack"), str) and x == "layer" else path_name(x)
    first, last = (format_value(position) for position in (series.seeds["x"].min(), series.seeds["x"].max()))
    stretch = "from the first to the last" if log else "between the first and the last"
    span = f" from {first} to {last} {place}" if "." in x else f" {stretch} {place}"
    clauses, without = [], []
    for panel in series.panels or (None,):
        for name in series.names:
            who = (f"the {quantity_name(quantity)}" if name == SINGLE_SERIES else name) + (
                f" ({panel})" if panel else ""
            )
            if pairs := _end_pairs(series, panel, name):
                clauses.append(_change(pairs, who, span, log=log))
                span = ""
            else:
                without.append(f"{who} has no two positions measured")
    text = two_at_most([*clauses, *without])
    return text[:1].upper() + text[1:]


def _end_pairs(series: FigureData, panel: str | None, name: str) -> list[tuple[float, float]]:
    """The first and the last number of each seed that has both."""
    line = series.seeds.filter(pl.col("panel").eq_missing(pl.lit(panel, pl.String)) & (pl.col("series") == name))
    if line["x"].n_unique() < 2:
        return []
    end_rows = line.filter(pl.col("x").is_in([line["x"].min(), line["x"].max()])).sort("seed", "x")
    pairs = end_rows.group_by("seed", maintain_order=True).agg(pl.col("value"))["value"].to_list()
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def _change(pairs: Sequence[tuple[float, float]], who: str, span: str, *, log: bool) -> str:
    """From first to last, within each seed and then over seeds; a direction only where the interval leaves no other."""
    change = t_interval([last / first if log else last - first for first, last in pairs], log=log)
    means = [fmean(values) for values in zip(*pairs, strict=True)]
    first, last = map(format_number, means)
    if change.n > 1 and change.low <= (1 if log else 0) <= change.high:
        seen = f"{format_short(change.estimate)}×" if log else f"{first} to {last}"
        if is_level(change.low, change.high, log=log, scale=max(map(abs, means))):
            return f"{who} stays level ({seen if log else last}){span}"
        return f"{count_noun(change.n, 'seed')} do not tell whether {who} rises or falls ({seen}){span}"
    if log:
        return f"{who} {growth_in_words(change.estimate)}{span}"
    return f"{who} {'rises' if change.estimate > 0 else 'falls'} from {first} to {last}{span}"
