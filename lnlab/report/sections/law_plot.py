"""A quantity against a size, and through it the laws that compete: which of them tells a size it was not fitted to?"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from lnlab.claims.kinds.fit import MAX_MEDIAN_ERROR
from lnlab.claims.laws import GrowthLaw, left_out_errors, predicted_log
from lnlab.keys import Json
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import axis_at_values, linear_axis
from lnlab.report.data.figure import FigureData, estimate_headings, finite_numbers
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import collect_series
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.path_names import size_names
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import join_words, two_at_most
from lnlab.tables import Results

_LawName = Literal["linear", "logarithmic", "exponential"]
_LEAST_SIZES = 4
"""Sizes that are needed to leave one out."""
_STEPS = 60
"""Pieces of a drawn curve."""


@sections.register("law_plot")
def law_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "model.sublayers",
    laws: list[_LawName] | None = None,
    scale: Literal["linear", "log"] = "linear",
) -> Section:
    """``a + b x and a + b log x`` beside the quantity at x: and by how much each misses what it has not seen.

    Marks are geometric means over seeds with 95 % Student intervals on a linear axis; ``scale`` is that of x. ``laws``
    are linear and logarithmic by default, fitted in log y: drawn through the means, and judged as by the claim
    ``fit``, by levels left out within each seed.
    """
    series = collect_series(results, quantity, where or {}, x, log=True, panels=False)
    if series.seeds.is_empty():
        return series.unmeasured(quantity)
    law_names = laws or ["linear", "logarithmic"]
    finding = _finding(series, quantity, x, law_names)
    chart = _chart(series, quantity, x, law_names, finding, log=scale == "log")
    return series.section(finding, chart)


def _chart(
    series: FigureData, quantity: str, over: str, law_names: Sequence[_LawName], finding: str, *, log: bool
) -> Chart:
    x_axis = axis_at_values(f"{size_names(over).axis}{' (log scale)' if log else ''}", series.points["x"], log=log)
    curves = (_curve(series, name, law_name, log=log) for name in series.names for law_name in law_names)
    curve_rows = [row for curve in curves for row in curve]
    y_axis = linear_axis(axis_title(quantity), [0.0, *finite_numbers(series.points, "estimate", "low", "high")])
    return series.chart(
        line_charts.fitted_laws_chart(x_axis, y_axis, series.style, curve_rows, law_names),
        {"series": "variant", "x": size_names(over).axis, **estimate_headings(quantity_name(quantity))},
        alt=f"Scatter chart of the {quantity_with_unit(quantity)}, against {size_names(over).phrase}. {finding}.",
        caption=_caption(series, quantity, over, law_names),
        log=True,
    )


def _complete(series: FigureData, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of a series, and its numbers (seeds, sizes) of the seeds that have all of them."""
    line = series.seeds.filter(pl.col("series") == name)
    x = line["x"].unique().sort()
    whole = line.filter(pl.len().over("seed") == len(x)).sort("seed", "x")
    return x.to_numpy(), whole["value"].to_numpy().reshape(-1, len(x))


def _curve(series: FigureData, name: str, law_name: _LawName, *, log: bool) -> list[dict[str, Json]]:
    """The law as fitted to the geometric means over seeds; nothing where there are too few sizes."""
    x, matrix = _complete(series, name)
    if x.size < _LEAST_SIZES or not len(matrix):
        return []
    at = np.geomspace(x[0], x[-1], _STEPS + 1) if log else np.linspace(x[0], x[-1], _STEPS + 1)
    values = np.exp(predicted_log(GrowthLaw(law_name), x, np.log(matrix).mean(0), at))
    return [{"series": name, "law": law_name, "x": float(a), "y": float(v)} for a, v in zip(at, values, strict=True)]


def _median_errors(series: FigureData, name: str, law_names: Sequence[_LawName]) -> dict[_LawName, float]:
    """By law the median relative error at left-out sizes, over sizes and seeds; empty where there are too few sizes."""
    x, matrix = _complete(series, name)
    if x.size < _LEAST_SIZES or not len(matrix):
        return {}
    return {
        law_name: float(np.median(np.abs(np.expm1(left_out_errors(GrowthLaw(law_name), x, matrix)))))
        for law_name in law_names
    }


def _finding(series: FigureData, quantity: str, over: str, law_names: Sequence[_LawName]) -> str:
    clauses = []
    for name in series.names:
        who = f"the {quantity_name(quantity)}" if name == SINGLE_SERIES else name
        clauses.append(f"{who} {_nearest_law(_median_errors(series, name, law_names))}")
    return f"With {size_names(over).phrase}, {two_at_most(clauses)}"


def _nearest_law(errors: Mapping[_LawName, float]) -> str:
    """Which law comes nearest, and by how much each misses a size that is left out."""
    if not errors:
        return "has too few sizes for a law"
    best, *others = sorted(errors, key=lambda law_name: errors[law_name])
    if errors[best] > MAX_MEDIAN_ERROR:
        texts = join_words(f"{law_name} by {errors[law_name]:.0%}" for law_name in errors)
        return f"follows no law: a size left out is missed {texts}".replace("%", " %")
    others_text = f", {join_words(f'{law_name} by {errors[law_name]:.0%}' for law_name in others)}" if others else ""
    return f"is {best}: a size left out is missed by {errors[best]:.0%}{others_text}".replace("%", " %")


def _caption(series: FigureData, quantity: str, over: str, law_names: Sequence[_LawName]) -> str:
    return (
        f"{quantity_definition(quantity)} against {size_names(over).phrase}, on a linear axis. "
        f"{GEOMETRIC_MEAN.sentence(series.points, 'Marks', 'bars')} Thin lines: the {join_words(law_names)} law fitted "
        "to the means, in the colour of their series. The error of a law is the median over seeds, at a size that it "
        "was not fitted to."
    )
