"""A quantity against the size of the model on two logarithmic axes, with the power laws that theory offers."""

import math
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.keys import Json
from lnlab.report.charts.axes import axis_at_values
from lnlab.report.data.figure import FigureData, estimate_headings, merged_rows
from lnlab.report.data.published_marks import PublishedPoints, published_marks
from lnlab.report.data.series import collect_series
from lnlab.report.figures.findings import size_exponents, size_finding
from lnlab.report.figures.lines import Lines, value_axis
from lnlab.report.section import Section, Table, sections, unmeasured
from lnlab.report.table import Cell, Grid
from lnlab.report.words.path_names import SizeNames, size_names
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN, MEAN
from lnlab.report.words.wording import format_interval, format_power, join_words, nonbreaking, power_in_words
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

_Law = float | Literal["x_sqrt_ln_x"]
"""An exponent, or x √(ln x), the form of a known bound in the width (Xiong et al., 2020, Theorem 1)."""
_EXPONENTS = {"series": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}


@sections.register("size_plot")
def size_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "model.layers",
    laws: list[_Law] | None = None,
    theory: str | None = None,
    exponents: bool = False,
    published: PublishedPoints | None = None,
) -> Section:
    """``log(quantity) against log(size)``: seeds, geometric means, 95 % Student intervals and the laws ``size^b``.

    A law is its exponent, or ``x_sqrt_ln_x`` for size √(ln size); each goes through the mean at the smallest size.
    ``theory`` is a quantity in closed form, a thin line without any freedom. ``exponents`` adds a table with the
    exponent of each line, by least squares on the logarithms of each seed. ``published`` holds what a source prints,
    ``{series: {size: number}}``: rings, or words where they would flatten the lines.
    """
    series = collect_series(results, quantity, where or {}, x, log=True, panels=False)
    if series.seeds.is_empty():
        return unmeasured(series, quantity)
    size = size_names(x, quantity)
    rows: list[dict[str, Any]] = []
    for name in series.names:
        means = series.points.filter(pl.col("series") == name).sort("x").select("x", "estimate").rows()
        for law in laws or ():
            label = f"{size.letter}√ln {size.letter}" if isinstance(law, str) else format_power(size.letter, law)
            for at, _ in means:
                start, start_mean = means[0]
                growth = (
                    at / start * math.sqrt(math.log(at) / math.log(start))
                    if isinstance(law, str)
                    else (at / start) ** law
                )
                last = at == means[-1][0]
                rows.append(
                    {
                        "series": name,
                        "law": f"{name} {law}",
                        "label": label,
                        "x": at,
                        "y": start_mean * growth,
                        "last": last,
                    }
                )
    texts = join_words(
        f"proportional to {size.phrase} times the root of its logarithm"
        if isinstance(law, str)
        else power_in_words(size.phrase, law)
        for law in laws or ()
    )
    notes = [f"Thin dashed lines are {texts}, through the mean at the smallest size."] if laws else []
    if theory is not None:
        drawn = "is not drawn, as its rows are not in this report's data"
        try:
            closed_form = collect_series(results, theory, where or {}, x, log=True, panels=False)
        except NothingSelected:  # a report from before it was drawn does not hold its rows
            closed_form = None
        if closed_form is not None and not closed_form.seeds.is_empty():
            drawn = "is the thin line"
            series = replace(series, rows=merged_rows(series.rows, closed_form.rows))
            for line in closed_form.points.sort("line", "x").partition_by("series", maintain_order=True):
                for place, (name, at, value) in enumerate(line.select("series", "x", "estimate").iter_rows(), 1):
                    last = place == line.height
                    rows.append(
                        {
                            "series": name,
                            "law": f"theory {name}",
                            "label": "closed form",
                            "x": at,
                            "y": value,
                            "last": last,
                        }
                    )
        notes.append(f"The {quantity_name(theory)} {drawn}.")
    printed, printed_notes = published_marks(published or {}, series, log=True)
    figure = Lines(
        data=series,
        # the names of the laws stand at their right ends
        x=axis_at_values(f"{size.axis} (log scale)", series.points["x"], log=True, right_margin=0.16),
        y=value_axis(
            axis_title(quantity, where),
            series,
            log=True,
            beside=[row["y"] for row in (*rows, *printed)],
            seeds_drawn=True,
        ),
        statistic=GEOMETRIC_MEAN,
        spread="bars",
        seeds_drawn=True,
        laws=rows,
        published=printed,
        subject=f"{quantity_definition(quantity)} against {size.phrase}. Dots: single seeds",
        notes=(*notes, *printed_notes),
        shows=f"Scatter chart of the {quantity_with_unit(quantity)}, against {size.phrase}",
        finding=size_finding(series, quantity, size.phrase),
        headings={"series": "variant", "x": size.axis, **estimate_headings(quantity_name(quantity))},
    )
    return figure.section(*([_exponent_table(series, quantity, size)] if exponents else []))


def _exponent_table(series: FigureData, quantity: str, size: SizeNames) -> Table:
    entries: list[tuple[object, ...]] = []
    body: list[tuple[Cell, ...]] = []
    for name in series.names:
        slopes = size_exponents(series.seeds.filter(series=name))
        if not slopes:  # no seed has two sizes
            continue
        ci = t_interval(slopes)
        bounds = (ci.low, ci.high) if ci.n > 1 else (None, None)
        entries.append((name, ci.estimate, *bounds, ci.n))
        body.append(((name, False), (nonbreaking(format_interval(ci.estimate, *bounds)), True)))
    rows = pl.DataFrame(entries, schema=_EXPONENTS, orient="row")
    return Table(
        rows,
        {"series": "variant", **estimate_headings("exponent")},
        f"Exponent b of the {quantity_name(quantity)} in proportion to {size.letter}^b, where {size.letter} is "
        f"{size.phrase}, by least squares on the logarithms of each seed",
        Grid("", ("variant", "exponent"), tuple(body)),
        statistics=((MEAN, rows),),
    )
