"""A quantity against a size, and through it the laws that compete: which of them tells a size it was not fitted to?"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from lnlab.claims.kinds.fit import CLOSE
from lnlab.claims.laws import Law, left_out_errors, predicted
from lnlab.keys import Json
from lnlab.report.charts import line_charts, theme
from lnlab.report.charts.axes import levels, linear
from lnlab.report.data.labels import ALONE
from lnlab.report.data.series import Gathered, gather, replicates
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.sizes import size
from lnlab.report.words.wording import definition, listing, unit
from lnlab.report.words.wording import quantity as quantity_name
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
    over: str = "model.sublayers",
    laws: list[_LawName] | None = None,
    scale: Literal["linear", "log"] = "linear",
) -> Section:
    """``a + b x and a + b log x`` beside the quantity at x: and by how much each misses what it has not seen.

    Marks are geometric means over seeds with 95 % Student intervals on a linear axis; ``scale`` is that of x. ``laws``
    are linear and logarithmic by default, fitted in log y: drawn through the means, and judged as by the claim
    ``fit``, by levels left out within each seed.
    """
    series = gather(results, quantity, where or {}, over, log=True, panels=False)
    if series.seeds.is_empty():
        finding = f"Nothing of the {quantity_name(quantity)} has been measured yet"
        return Section(finding, missing=" ".join((series.missing, *series.left_out)).strip(), rows=series.rows)
    law_names = laws or ["linear", "logarithmic"]
    finding = _finding(series, quantity, over, law_names)
    chart = _chart(series, quantity, over, law_names, finding, log=scale == "log")
    return Section(finding, (chart,), (), series.missing, series.rows)


def _chart(
    series: Gathered, quantity: str, over: str, law_names: Sequence[_LawName], finding: str, *, log: bool
) -> Chart:
    x_axis = levels(f"{size(over).axis}{' (log scale)' if log else ''}", series.points["x"], log=log)
    curves = (_curve(series, name, law_name, log=log) for name in series.names for law_name in law_names)
    curve_rows = [row for curve in curves for row in curve]
    values = [v for c in ("estimate", "low", "high") for v in series.points[c].drop_nulls() if math.isfinite(v)]
    y_axis = linear(unit(quantity), [0.0, *values])
    numbers = {"estimate": quantity_name(quantity), "low": "95 % low", "high": "95 % high", "n": "seeds"}
    return Chart(
        line_charts.fits(x_axis, y_axis, theme.look(series.names, series.families), curve_rows, law_names),
        series.points,
        series.seeds,
        {"series": "variant", "x": size(over).axis, **numbers},
        f"{unit(quantity)}, against {size(over).said}. {finding}.",
        " ".join((_caption(series, quantity, over, law_names), *series.left_out)),
        log=True,
    )


def _complete(series: Gathered, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of a series, and its numbers (seeds, sizes) of the seeds that have all of them."""
    line = series.seeds.filter(pl.col("series") == name)
    x = line["x"].unique().sort()
    whole = line.filter(pl.len().over("seed") == len(x)).sort("seed", "x")
    return x.to_numpy(), whole["value"].to_numpy().reshape(-1, len(x))


def _curve(series: Gathered, name: str, law_name: _LawName, *, log: bool) -> list[dict[str, Json]]:
    """The law as fitted to the geometric means over seeds; nothing where there are too few sizes."""
    x, matrix = _complete(series, name)
    if x.size < _LEAST_SIZES or not len(matrix):
        return []
    at = np.geomspace(x[0], x[-1], _STEPS + 1) if log else np.linspace(x[0], x[-1], _STEPS + 1)
    values = np.exp(predicted(Law(law_name), x, np.log(matrix).mean(0), at))
    return [{"series": name, "law": law_name, "x": float(a), "y": float(v)} for a, v in zip(at, values, strict=True)]


def _median_errors(series: Gathered, name: str, law_names: Sequence[_LawName]) -> dict[_LawName, float]:
    """By law the median relative error at left-out sizes, over sizes and seeds; empty where there are too few sizes."""
    x, matrix = _complete(series, name)
    if x.size < _LEAST_SIZES or not len(matrix):
        return {}
    return {
        law_name: float(np.median(np.abs(np.expm1(left_out_errors(Law(law_name), x, matrix)))))
        for law_name in law_names
    }


def _finding(series: Gathered, quantity: str, over: str, law_names: Sequence[_LawName]) -> str:
    clauses = []
    for name in series.names:
        who = f"the {quantity_name(quantity)}" if name == ALONE else name
        clauses.append(f"{who} {_nearest_law(_median_errors(series, name, law_names))}")
    return f"With {size(over).said}, {'; '.join(clauses)}"


def _nearest_law(errors: Mapping[_LawName, float]) -> str:
    """Which law comes nearest, and by how much each misses a size that is left out."""
    if not errors:
        return "has too few sizes for a law"
    best, *others = sorted(errors, key=lambda law_name: errors[law_name])
    if errors[best] > CLOSE:
        texts = listing(f"{law_name} by {errors[law_name]:.0%}" for law_name in errors)
        return f"follows no law: a size left out is missed {texts}".replace("%", " %")
    others_text = f", {listing(f'{law_name} by {errors[law_name]:.0%}' for law_name in others)}" if others else ""
    return f"is {best}: a size left out is missed by {errors[best]:.0%}{others_text}".replace("%", " %")


def _caption(series: Gathered, quantity: str, over: str, law_names: Sequence[_LawName]) -> str:
    n = replicates(series.points)
    bars = f"bars are 95 % Student intervals taken on the logarithmic scale ({n})"
    bars = bars if series.points["low"].count() else "one seed, no bars"
    return (
        f"{definition(quantity)} against {size(over).said}, on a linear axis. Marks are geometric means over seeds; "
        f"{bars}. Thin lines are the {listing(law_names)} law as fitted to the means, in the colour of their series. "
        "The heading tells the median error of each law, over seeds, at a size that it was not fitted to."
    )
