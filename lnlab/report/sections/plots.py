"""A quantity over a number, one line or row of marks for each variant: depth, a size, or another quantity."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.claims.claim import Verdict
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts.axes import Axis, axis_at_values, logarithmic_axis
from lnlab.report.data.figure import FigureData, estimate_headings, is_finite_number, merged_rows
from lnlab.report.data.published_marks import PublishedPoints, published_marks
from lnlab.report.data.series import collect_series, mean_points
from lnlab.report.data.theory import TheoryLine, theory_lines
from lnlab.report.figures.findings import (
    change_finding,
    pairs_finding,
    size_exponents,
    size_finding,
)
from lnlab.report.figures.lines import Lines, value_axis
from lnlab.report.section import Section, Table, empty_section, sections, unmeasured
from lnlab.report.table import Grid
from lnlab.report.words.path_names import SizeNames, path_name, place_name, size_names
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import MEAN, mean_statistic
from lnlab.report.words.wording import (
    format_interval,
    nonbreaking,
    number_on_mark,
)
from lnlab.seed_words import seed_word, seeds_word
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

_Rows = Iterable[Mapping[str, Any]]
_MOST_WITH_BARS = 2
"""The most positions at which intervals are bars."""
_LEAST_PLACES = 3
"""Places that a seed needs for an exponent."""
_EXPONENTS = {"series": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}


def _plot(
    data: FigureData,
    quantity: str,
    against: str,
    heading: Mapping[str, str],
    *,
    x: Axis,
    log: bool,
    where: Mapping[str, Json] | None = None,
    geometric: bool | None = None,
    beside: Iterable[float] = (),
    subject: str,
    chart: str = "Scatter",
    **more: Any,
) -> Lines:
    """What every such plot says of itself: its axes, its statistic, its alternative text and its headings."""
    y = value_axis(
        axis_title(quantity, where), data, log=log, beside=beside, seeds_drawn=more.get("seeds_drawn", False)
    )
    headings = {"series": "variant", **heading, **estimate_headings(quantity_name(quantity))}
    return Lines(
        data=data,
        x=x,
        y=y,
        statistic=mean_statistic(log=log if geometric is None else geometric),
        subject=f"{quantity_definition(quantity)} {subject}",
        shows=f"{chart} chart of the {quantity_with_unit(quantity)}, against {against}",
        headings={"panel": "panel", **headings} if data.panels else headings,
        **more,
    )


@sections.register("depth_profile")
def depth_profile(
    results: Results,
    verdicts: Sequence[Verdict] = (),
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "layer",
    scale: Literal["log", "linear"] = "log",
    theory: list[TheoryLine] | None = None,
    published: PublishedPoints | None = None,
    estimates: dict[str, str] | None = None,
    called: str = "",
) -> Section:
    """``mean over seeds of the quantity at x, one line per variant``: with the 95 % Student interval as a band.

    ``theory`` are formulas of x to compare with, as bounds: ``{law: 1 + x / 2, source: ...}``. ``published`` holds what
    a source prints, ``{series: {x: number}}``, with ``last`` for the last x: rings, or words where they would flatten
    the lines. ``estimates`` are claims by the name of their line, whose estimates stand beside it, each before
    ``called``.
    """
    log = scale == "log"
    data = collect_series(results, quantity, where or {}, x, log=log, panels=True)
    if data.seeds.is_empty():
        return unmeasured(data, quantity)
    judged = {verdict.claim: verdict for verdict in verdicts}
    claims = {name: judged[claim] for name, claim in (estimates or {}).items() if claim in judged}
    places = data.points["x"].unique().sort().to_list()
    laws, said = theory_lines(theory or (), data, "l" if x == "layer" else "x", log=log)
    printed, notes = published_marks(published or {}, data, log=log)
    title = "layer l (1 = next to the input)" if x == "layer" else path_name(x)
    return _plot(
        data,
        quantity,
        f"the {title}",
        {"x": path_name(x)},
        x=axis_at_values(title, places, right_margin=0.12 if laws else 0.02),  # a law has its name at its right end
        log=log,
        where=where,
        beside=[row["y"] for row in (*laws, *printed)],
        subject=f"by {path_name(x)}",
        chart="Line",
        spread="bars" if len(places) <= _MOST_WITH_BARS else "band",
        laws=laws,
        published=printed,
        ends={name: text for name, one in claims.items() if (text := _beside(one, called))},
        notes=(*said, *notes),
        finding=change_finding(data, quantity, x, place_name(x, where), log=log),
    ).section()


def _beside(verdict: Verdict, called: str) -> str:
    """The estimate of a claim and what it is, ``×7.0 from first to last``, or nothing where it has none."""
    if not is_finite_number(verdict.estimate):
        return ""
    of = {"times": verdict.measure == "ratio", "signed": verdict.measure == "difference"}
    return f"{number_on_mark(verdict.estimate, verdict.low, verdict.high, **of)} {called}".rstrip()


@sections.register("size_plot")
def size_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "model.layers",
    theory: list[TheoryLine] | None = None,
    closed_form: str | None = None,
    exponents: bool = False,
    published: PublishedPoints | None = None,
) -> Section:
    """``log(quantity) against log(size)``: seeds, geometric means, 95 % Student intervals and formulas of the size.

    ``theory`` are these formulas: ``{law: 1 / sqrt(x), through: first, source: ...}`` goes through the mean at the
    smallest size. ``closed_form`` is a quantity, a thin line without any freedom. ``exponents`` adds a table with the
    exponent of each line, by least squares on the logarithms of each seed. ``published`` holds what a source prints,
    ``{series: {size: number}}``: rings, or words where they would flatten the lines.
    """
    data = collect_series(results, quantity, where or {}, x, log=True, panels=False)
    if data.seeds.is_empty():
        return unmeasured(data, quantity)
    size = size_names(x, quantity)
    rows, notes = theory_lines(theory or (), data, size.letter)
    stored = [data.rows]
    if closed_form is not None:
        drawn = "is not drawn, as its rows are not in this report's data"
        try:
            expected = collect_series(results, closed_form, where or {}, x, log=True, panels=False)
        except NothingSelected:
            expected = None
        if expected is not None and not expected.seeds.is_empty():
            drawn = "is the thin line"
            stored.append(expected.rows)
            for line in expected.points.sort("line", "x").partition_by("series", maintain_order=True):
                name = line["series"][0]
                corners = line.select("x", "estimate").rows()
                named = {"series": name, "law": f"closed form {name}", "label": "closed form"}
                rows += [{**named, "x": at, "y": y, "last": at == corners[-1][0]} for at, y in corners]
        notes.append(f"The {quantity_name(closed_form)} {drawn}.")
    printed, printed_notes = published_marks(published or {}, data, log=True)
    if len(stored) > 1:
        data = FigureData(**{**vars(data), "rows": merged_rows(*stored)})
    figure = _plot(
        data,
        quantity,
        size.phrase,
        {"x": size.axis},
        # the names of the laws stand at their right ends
        x=axis_at_values(f"{size.axis} (log scale)", data.points["x"], log=True, right_margin=0.16),
        log=True,
        where=where,
        beside=[row["y"] for row in (*rows, *printed)],
        subject=f"against {size.phrase}. Dots: single {seeds_word()}",
        spread="bars",
        seeds_drawn=True,
        laws=rows,
        published=printed,
        notes=(*notes, *printed_notes),
        finding=size_finding(data, quantity, size.phrase),
    )
    return figure.section(*([_exponent_table(data, quantity, size)] if exponents else []))


def _exponent_table(data: FigureData, quantity: str, size: SizeNames) -> Table:
    entries = []
    for name in data.names:
        if slopes := size_exponents(data.seeds.filter(series=name)):  # else no seed has two sizes
            ci = t_interval(slopes)
            entries.append((name, ci.estimate, *((ci.low, ci.high) if ci.n > 1 else (None, None)), ci.n))
    rows = pl.DataFrame(entries, schema=_EXPONENTS, orient="row")
    body = tuple(((name, False), (nonbreaking(format_interval(*numbers)), True)) for name, *numbers, _ in entries)
    return Table(
        rows,
        {"series": "variant", **estimate_headings("exponent")},
        f"Exponent b of the {quantity_name(quantity)} in proportion to {size.letter}^b, where {size.letter} is "
        f"{size.phrase}, by least squares on the logarithms of each {seed_word()}",
        Grid("", ("variant", "exponent"), body),
        statistics=((MEAN, rows),),
    )


@sections.register("scatter")
def scatter(
    results: Results,
    *,
    of: dict[str, Json],
    to: dict[str, Json],
    over: str = "layer",
    theory: list[TheoryLine] | None = None,
) -> Section:
    """``log(y) against log(x)``: two quantities at the same places, seeds, geometric means and formulas of x.

    ``of`` selects y, its quantity included; ``to`` says what is different for x, its quantity at least. They are paired
    by run and by ``over``, a column or a path of the setting. ``theory`` are the formulas, with ``through: middle``
    through the middle of all marks.
    """
    of_x = {**of, **to}
    y, x = of.get("quantity"), of_x.get("quantity")
    if not (isinstance(y, str) and isinstance(x, str)):
        remedy = "write of: {quantity: ...} and to: {quantity: ...}"
        raise ReportError(Issue("missing", "of", "names no quantity", remedy))
    ys, xs = (
        collect_series(results, q, {k: v for k, v in w.items() if k != "quantity"}, over, log=True, panels=False)
        for q, w in ((y, of), (x, of_x))
    )
    # the seeds of both, where a run has both numbers at one place
    place = ["panel", "series", "line", "along"]
    x_values = xs.seeds.select("panel", "series", "line", "seed", along="x", x="value")
    paired = ys.seeds.rename({"x": "along"}).join(
        x_values, on=[*place, "seed"], nulls_equal=True, maintain_order="left"
    )
    seeds = paired.select(*place, "x", "seed", "value")
    # geometric means of both, y with its interval
    means, x_means = (
        mean_points(seeds.select("panel", "series", "line", pl.col(c).alias("value"), x="along"), log=True)
        for c in ("value", "x")
    )
    x_means = x_means.select("panel", "series", "line", along="x", x="estimate")
    joined = means.rename({"x": "along"}).join(x_means, on=place, nulls_equal=True).sort("line", "along")
    data = FigureData(
        seeds=seeds,
        points=joined.select(*place, "x", "estimate", "low", "high", "n"),
        names=ys.names,
        families=ys.families,
        left_out=(*xs.left_out, *ys.left_out),
        missing=ys.missing,
        rows=merged_rows(ys.rows, xs.rows),
    )
    if seeds.is_empty():
        return empty_section(
            data, f"Nothing of the {quantity_name(y)} has been measured together with the {quantity_name(x)}"
        )
    rows, notes = theory_lines(theory or (), data, "x")
    definition = quantity_definition(x)
    return _plot(
        data,
        y,
        f"the {quantity_with_unit(x)}",
        {"along": path_name(over), "x": quantity_name(x)},
        x=logarithmic_axis(f"{axis_title(x, of_x)} (log scale)", seeds["x"]),
        log=True,
        where=of,
        beside=[row["y"] for row in rows],
        subject=f"against {definition[:1].lower()}{definition[1:]}. Dots: one per {seed_word()} and {path_name(over)}",
        spread="bars",
        seeds_drawn=True,
        laws=rows,
        notes=notes,
        finding=pairs_finding(data, x, y, _LEAST_PLACES),
    ).section()
