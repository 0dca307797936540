"""A quantity against the size of the model on two logarithmic axes, with the power laws that theory offers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.analyse.statistics.slopes import log_slopes
from lnlab.keys import Json
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import axis_at_values, logarithmic_axis
from lnlab.report.data.figure import FigureData, estimate_headings, finite_numbers, merged_rows
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import collect_series
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.path_names import size_names
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import (
    MAX_NAMED,
    count_noun,
    format_interval,
    format_power,
    format_value,
    is_level,
    join_words,
    two_at_most,
)
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

_Law = float | Literal["x_sqrt_ln_x"]
"""An exponent, or x √(ln x), the form of a known bound in the width (Xiong et al., 2020, Theorem 1)."""


@sections.register("size_plot")
def size_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "model.layers",
    laws: list[_Law] | None = None,
    theory: str | None = None,
) -> Section:
    """``log(quantity) against log(size)``: seeds, geometric means, 95 % Student intervals and the laws ``size^b``.

    A law is its exponent, or ``x_sqrt_ln_x`` for size √(ln size); each goes through the mean at the smallest size.
    ``theory`` is a quantity in closed form, a thin line without any freedom.
    """
    series = collect_series(results, quantity, where or {}, x, log=True, panels=False)
    if series.seeds.is_empty():
        return series.unmeasured(quantity)
    finding = _finding(series, quantity, size_names(x, quantity).phrase)
    closed_form = None if theory is None else _theory(results, theory, where or {}, x)
    chart = _chart(series, quantity, x, laws or [], finding, closed_form, axis_title(quantity, where))
    if theory is None:
        return series.section(finding, chart)
    is_drawn = "is the thin line" if closed_form else "is not drawn, as its rows are not in this report's data"
    noted_chart = replace(chart, caption=f"{chart.caption} The {quantity_name(theory)} {is_drawn}.")
    rows = merged_rows(series.rows, *([closed_form.rows] if closed_form else []))
    return replace(series, rows=rows).section(finding, noted_chart)


def _theory(results: Results, quantity: str, where: Mapping[str, Json], x: str) -> FigureData | None:
    """The numbers of a closed form, or None where a report from before it was drawn does not hold them."""
    try:
        series = collect_series(results, quantity, where, x, log=True, panels=False)
    except NothingSelected:
        return None
    return None if series.seeds.is_empty() else series


def _chart(
    series: FigureData,
    quantity: str,
    x: str,
    laws: Sequence[_Law],
    finding: str,
    closed_form: FigureData | None,
    title: str,
) -> Chart:
    over = size_names(x, quantity)
    law_rows = [row for name in series.names for law in laws for row in _law(series, name, law, over.letter)]
    law_rows += [] if closed_form is None else _closed_form(closed_form)
    bounds = finite_numbers(series.points, "low", "high", positive=True)
    y_axis = logarithmic_axis(f"{title} (log scale)", [*series.seeds["value"], *bounds, *(r["y"] for r in law_rows)])
    x_axis = axis_at_values(f"{over.axis} (log scale)", series.points["x"], log=True, right_margin=0.16)
    return series.chart(
        line_charts.size_chart(x_axis, y_axis, series.style, law_rows),
        {"series": "variant", "x": over.axis, **estimate_headings(quantity_name(quantity))},
        alt=f"Scatter chart of the {quantity_with_unit(quantity)}, against {over.phrase}. {finding}.",
        caption=_caption(series, quantity, over.phrase, laws),
        log=True,
        seeds_drawn=True,
    )


def _law(series: FigureData, name: str, law: _Law, letter: str) -> list[dict[str, Json]]:
    """``y = anchor · f(x)/f(x₀)``, through the estimate at the smallest size."""
    line = series.points.filter(pl.col("series") == name).sort("x")
    label = _law_label(law, letter)
    xs = line["x"].to_list()
    ys = line["estimate"].to_list()
    return [
        {
            "law": f"{name} {law}",
            "label": label,
            "x": x,
            "y": ys[0] * _growth(law, x, xs[0]),
            "last": x == xs[-1],
        }
        for x in xs
    ]


def _closed_form(series: FigureData) -> list[dict[str, Json]]:
    """The means of a quantity that has no scatter, a line a series."""
    lines = series.points.sort("line", "x").partition_by("series", maintain_order=True)
    return [
        {"law": f"theory {name}", "label": "closed form", "x": x, "y": y, "last": place == line.height - 1}
        for line in lines
        for place, (name, x, y) in enumerate(line.select("series", "x", "estimate").iter_rows())
    ]


def _growth(law: _Law, x: float, start: float) -> float:
    """``f(x) / f(x₀)``."""
    if isinstance(law, str):
        return x / start * math.sqrt(math.log(x) / math.log(start))
    return float((x / start) ** law)


def _law_label(law: _Law, letter: str) -> str:
    return f"{letter}√ln {letter}" if isinstance(law, str) else format_power(letter, law)


def _caption(series: FigureData, quantity: str, size_name: str, laws: Sequence[_Law]) -> str:
    marks = f"Dots: single seeds. {GEOMETRIC_MEAN.sentence(series.points, 'Marks', 'bars')}"
    law_texts = join_words(_law_text(law, size_name) for law in laws)
    dashed = f" Thin dashed lines are {law_texts}, through the mean at the smallest size." if laws else ""
    return f"{quantity_definition(quantity)} against {size_name}. {marks}{dashed}"


def _law_text(law: _Law, size_name: str) -> str:
    if isinstance(law, str):
        return f"{size_name} times the root of its logarithm"
    return "a constant" if law == 0 else f"{size_name} to the power {format_value(law)}"


def _finding(series: FigureData, quantity: str, size_name: str) -> str:
    """The fitted exponent of each series: least squares within each seed, then over seeds."""
    slopes = {name: size_exponents(series.seeds.filter(pl.col("series") == name)) for name in series.names}
    if len(slopes) > MAX_NAMED and all(slopes.values()):
        return f"With {size_name}, {exponent_range({name: fmean(values) for name, values in slopes.items()})}"
    subjects = {name: f"the {quantity_name(quantity)}" if name == SINGLE_SERIES else name for name in slopes}
    sizes = series.points["x"].unique().sort()
    span = float(sizes[-1] / sizes[0])
    clauses = (f"{subjects[name]} {_exponent_text(values, span)}" for name, values in slopes.items())
    return f"With {size_name}, {two_at_most(clauses)}"


def exponent_range(means: Mapping[str, float]) -> str:
    """Many series at once: the smallest and the largest exponent."""
    extremes = [pick(means, key=lambda name: means[name]) for pick in (min, max)]
    numbers = [format_value(round(means[name], 2) + 0.0) for name in extremes]
    if len({*numbers}) == 1:
        return f"{len(means)} exponents, all of them {numbers[0]}"
    low, high = (f"{number} ({name})" for number, name in zip(numbers, extremes, strict=True))
    return f"{len(means)} exponents from {low} to {high}"


def _exponent_text(slopes: Sequence[float], span: float) -> str:
    """What the exponent says: a direction only where its interval leaves no other."""
    if not slopes:
        return "has too few sizes for an exponent"
    exponent = t_interval(slopes)
    if exponent.n < 2:
        return f"has the exponent {format_interval(exponent.estimate, None, None)} in its only seed"
    verb = "rises" if exponent.estimate > 0 else "falls"
    if exponent.low <= 0 <= exponent.high:
        level = is_level(span**exponent.low, span**exponent.high, log=True)
        verb = "stays level" if level else f"rises or falls, which {count_noun(exponent.n, 'seed')} do not tell"
    return f"{verb} (exponent {format_interval(exponent.estimate, exponent.low, exponent.high)})"


def size_exponents(seeds: pl.DataFrame) -> list[float]:
    """The slope of log value on log x of every seed that has all sizes, two at least, by ordinary least squares."""
    whole = seeds.filter(pl.len().over("seed") == seeds["x"].n_unique())
    return [float(v) for v in log_slopes(whole, ["seed"], "x", "value").sort("seed")["slope"].drop_nulls()]
