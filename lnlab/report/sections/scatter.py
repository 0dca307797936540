"""One quantity against another on two logarithmic axes, layer by layer: which power of the one the other follows."""

from statistics import geometric_mean

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts.axes import logarithmic_axis
from lnlab.report.data.figure import FigureData, estimate_headings, merged_rows
from lnlab.report.data.series import collect_series, mean_points
from lnlab.report.figures.findings import pairs_finding
from lnlab.report.figures.lines import Lines, value_axis
from lnlab.report.section import Section, empty_section, sections
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import format_power, join_words, power_in_words
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
    y, x = of.get("quantity"), {**of, **to}.get("quantity")
    if not (isinstance(y, str) and isinstance(x, str)):
        remedy = "write of: {quantity: ...} and to: {quantity: ...}"
        raise ReportError(Issue("missing", "of", "names no quantity", remedy))
    y_series, x_series = (
        collect_series(
            results, quantity, {k: v for k, v in where.items() if k != "quantity"}, over, log=True, panels=False
        )
        for quantity, where in ((y, of), (x, {**of, **to}))
    )
    # the seeds of both, where a run has both numbers at one place
    x_values = x_series.seeds.select("panel", "series", "line", "seed", along="x", x="value")
    paired = y_series.seeds.rename({"x": "along"}).join(
        x_values, on=[*_PLACE, "seed"], nulls_equal=True, maintain_order="left"
    )
    seeds = paired.select(*_PLACE, "x", "seed", "value")
    # geometric means of both, y with its interval
    y_points, x_points = (
        mean_points(seeds.select("panel", "series", "line", pl.col(value).alias("value"), x="along"), log=True)
        for value in ("value", "x")
    )
    x_means = x_points.select("panel", "series", "line", along="x", x="estimate")
    means = y_points.rename({"x": "along"}).join(x_means, on=_PLACE, nulls_equal=True).sort("line", "along")
    pairs = FigureData(
        seeds=seeds,
        points=means.select(*_PLACE, "x", "estimate", "low", "high", "n"),
        names=y_series.names,
        families=y_series.families,
        left_out=(*x_series.left_out, *y_series.left_out),
        missing=y_series.missing,
        rows=merged_rows(y_series.rows, x_series.rows),
    )
    if seeds.is_empty():
        together = f"Nothing of the {quantity_name(y)} has been measured together with the {quantity_name(x)}"
        return empty_section(pairs, together)
    xs, ys = pairs.points["x"].to_list(), pairs.points["estimate"].to_list()
    rows = [  # through the geometric middle of all marks
        {
            "law": format_power("x", law),
            "label": format_power("x", law),
            "x": at,
            "y": geometric_mean(ys) * (at / geometric_mean(xs)) ** law,
            "last": last,
        }
        for law in laws or ()
        for at, last in ((min(xs), False), (max(xs), True))
    ]
    texts = join_words(power_in_words("x", law) for law in laws or ())
    x_definition = quantity_definition(x)
    return Lines(
        data=pairs,
        x=logarithmic_axis(f"{axis_title(x, {**of, **to})} (log scale)", seeds["x"]),
        y=value_axis(axis_title(y, of), pairs, log=True, beside=[row["y"] for row in rows], seeds_drawn=True),
        statistic=GEOMETRIC_MEAN,
        spread="bars",
        seeds_drawn=True,
        laws=rows,
        subject=f"{quantity_definition(y)} against {x_definition[:1].lower()}{x_definition[1:]}. "
        f"Dots: one per seed and {path_name(over)}",
        notes=(f"Thin dashed lines are {texts}, through the middle of all marks.",) if laws else (),
        shows=f"Scatter chart of the {quantity_with_unit(y)}, against the {quantity_with_unit(x)}",
        finding=pairs_finding(pairs, x, y, _LEAST_PLACES),
        headings={
            "series": "variant",
            "along": path_name(over),
            "x": quantity_name(x),
            **estimate_headings(quantity_name(y)),
        },
    ).section()
