"""One quantity against another on two logarithmic axes, layer by layer: which power of the one the other follows."""

from collections.abc import Mapping, Sequence
from statistics import geometric_mean

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.analyse.statistics.slopes import log_slopes
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import logarithmic_axis
from lnlab.report.data.figure import FigureData, estimate_headings, finite_numbers, merged_rows
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import collect_series, mean_points
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import format_interval, format_power, format_value, join_words, two_at_most
from lnlab.tables import Results

_PLACE = ["panel", "series", "line", "along"]
_LEAST_PLACES = 3
"""Places that a seed needs for an exponent."""


@sections.register("scatter")
def scatter(
    results: Results,
    *,
    of: dict[str, Json],
    to: dict[str, Json],
    over: str = "layer",
    laws: list[float] | None = None,
) -> Section:
    """``log(y) against log(x)``: two quantities at the same places, seeds, geometric means and the laws ``x^b``.

    ``of`` selects y, its quantity included; ``to`` says what is different for x, its quantity at least. They are paired
    by run and by ``over``, a column or a path of the setting.
    """
    y_series, x_series = (_collect(results, selection, over) for selection in (of, {**of, **to}))
    x, y = str({**of, **to}["quantity"]), str(of["quantity"])
    seeds = paired(x_series, y_series)
    pairs = FigureData(
        seeds=seeds,
        points=means(seeds),
        names=y_series.names,
        families=y_series.families,
        left_out=(*x_series.left_out, *y_series.left_out),
        missing=y_series.missing,
        rows=merged_rows(y_series.rows, x_series.rows),
    )
    if seeds.is_empty():
        finding = f"Nothing of the {quantity_name(y)} has been measured together with the {quantity_name(x)}"
        return pairs.empty_section(finding)
    finding = _finding(seeds, y_series.names, x, y)
    return pairs.section(finding, _chart(pairs, x, y, over, laws or [], finding))


def _collect(results: Results, selection: Mapping[str, Json], over: str) -> FigureData:
    """The numbers of a selection that names one quantity.

    Raises:
        ReportError: it names none, or several.
    """
    if not isinstance(quantity := selection.get("quantity"), str):
        raise ReportError(
            Issue("missing", "of", "names no quantity", "write of: {quantity: ...} and to: {quantity: ...}")
        )
    where = {key: value for key, value in selection.items() if key != "quantity"}
    return collect_series(results, quantity, where, over, log=True, panels=False)


def paired(x_series: FigureData, y_series: FigureData) -> pl.DataFrame:
    """``panel series line along x seed value``: the seeds of both, where a run has both numbers at one place."""
    key = ["panel", "series", "line", "along", "seed"]
    y_seeds = y_series.seeds.rename({"x": "along"})
    x_seeds = x_series.seeds.select("panel", "series", "line", "seed", along="x", x="value")
    joined = y_seeds.join(x_seeds, on=key, nulls_equal=True, maintain_order="left")
    return joined.select(*_PLACE, "x", "seed", "value")


def means(seeds: pl.DataFrame) -> pl.DataFrame:
    """``panel series line along x estimate low high n``: geometric means of both, y with its 95 % Student interval."""
    y_points, x_points = (
        mean_points(seeds.select("panel", "series", "line", pl.col(value).alias("value"), x="along"), log=True)
        for value in ("value", "x")
    )
    x_means = x_points.select("panel", "series", "line", along="x", x="estimate")
    both = y_points.rename({"x": "along"}).join(x_means, on=_PLACE, nulls_equal=True)
    return both.select(*_PLACE, "x", "estimate", "low", "high", "n").sort("line", "along")


def _chart(pairs: FigureData, x: str, y: str, over: str, laws: Sequence[float], finding: str) -> Chart:
    law_rows = [row for law in laws for row in _law(pairs.points, law)]
    bounds = finite_numbers(pairs.points, "low", "high", positive=True)
    y_axis = logarithmic_axis(
        f"{quantity_with_unit(y)} (log scale)", [*pairs.seeds["value"], *bounds, *(row["y"] for row in law_rows)]
    )
    x_axis = logarithmic_axis(f"{quantity_with_unit(x)} (log scale)", pairs.seeds["x"])
    numbers = {"x": quantity_name(x), **estimate_headings(quantity_name(y))}
    return pairs.chart(
        line_charts.size_chart(x_axis, y_axis, pairs.style, law_rows),
        {"series": "variant", "along": path_name(over), **numbers},
        alt=f"Scatter chart of the {quantity_with_unit(y)}, against the {quantity_with_unit(x)}. {finding}.",
        caption=_caption(pairs.points, x, y, over, laws),
        log=True,
        seeds_drawn=True,
    )


def _law(marks: pl.DataFrame, exponent: float) -> list[dict[str, Json]]:
    """``y = ȳ (x/x̄)^exponent``, through the geometric middle of all marks."""
    xs, ys = marks["x"].to_list(), marks["estimate"].to_list()
    middle = geometric_mean(xs)
    label = format_power("x", exponent)
    end_points = ((min(xs), False), (max(xs), True))
    return [
        {"law": label, "label": label, "x": x, "y": geometric_mean(ys) * (x / middle) ** exponent, "last": last}
        for x, last in end_points
    ]


def _caption(estimates: pl.DataFrame, x: str, y: str, over: str, laws: Sequence[float]) -> str:
    law_texts = join_words("a constant" if b == 0 else f"x to the power {format_value(b)}" for b in laws)
    dashed = f" Thin dashed lines are {law_texts}, through the middle of all marks." if laws else ""
    marks = f"Dots: single seeds at one {path_name(over)}. {GEOMETRIC_MEAN.sentence(estimates, 'Marks', 'bars')}"
    return (
        f"{quantity_definition(y)} against "
        f"{quantity_definition(x)[:1].lower()}{quantity_definition(x)[1:]}. {marks}{dashed}"
    )


def _finding(seeds: pl.DataFrame, names: Sequence[str], x: str, y: str) -> str:
    """The fitted exponent of each series: least squares within each seed, then over seeds."""
    exponents = []
    for name in names:
        line = seeds.filter(pl.col("series") == name)
        slopes = log_slopes(line, ["seed"], "x", "value", _LEAST_PLACES)["slope"].drop_nulls()
        exponent = t_interval(slopes.to_numpy()) if len(slopes) else None
        bounds = (exponent.low, exponent.high) if exponent and exponent.n > 1 else (None, None)
        text = format_interval(exponent.estimate, *bounds) if exponent else "none"
        exponents.append(text if name == SINGLE_SERIES else f"{text} ({name})")
    named = two_at_most(exponents, sentences=False)
    return f"The {quantity_name(y)} follows the {quantity_name(x)} with the exponent {named}"
