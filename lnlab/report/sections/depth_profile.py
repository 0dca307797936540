"""A quantity along the layers, one line for each variant: where in the stack it grows or falls."""

from typing import Literal

from lnlab.keys import Json
from lnlab.report.charts.axes import axis_at_values
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.published_marks import PublishedPoints, published_marks
from lnlab.report.data.series import collect_series
from lnlab.report.figures.findings import change_finding
from lnlab.report.figures.lines import Lines, value_axis
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.words.path_names import path_name, place_name
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import mean_statistic
from lnlab.report.words.wording import format_line, join_words
from lnlab.tables import Results

_MOST_WITH_BARS = 2
"""The most positions at which intervals are bars."""


@sections.register("depth_profile")
def depth_profile(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "layer",
    scale: Literal["log", "linear"] = "log",
    lines: list[tuple[float, float]] | None = None,
    published: PublishedPoints | None = None,
) -> Section:
    """``mean over seeds of the quantity at x, one line per variant``: with the 95 % Student interval as a band.

    ``lines`` are pairs [a, b]: straight lines a + b x, bounds for example, to compare with. ``published`` holds what a
    source prints, ``{series: {x: number}}``, with ``last`` for the last x: rings, or words where they would flatten the
    lines.
    """
    log = scale == "log"
    series = collect_series(results, quantity, where or {}, x, log=log, panels=True)
    if series.seeds.is_empty():
        return unmeasured(series, quantity)
    positions = series.points["x"].unique().sort().to_list()
    formulas = {format_line(*line, "l" if x == "layer" else "x"): line for line in lines or ()}
    laws = [
        {"law": formula, "label": formula, "x": at, "y": a + b * at, "last": at == positions[-1]}
        for formula, (a, b) in formulas.items()
        for at in positions
    ]
    printed, printed_notes = published_marks(published or {}, series, log=log)
    dashed = "Thin dashed lines are" if len(formulas) > 1 else "The thin dashed line is"
    title = "layer l (1 = next to the input)" if x == "layer" else path_name(x)
    return Lines(
        data=series,
        # a law has its name at its right end
        x=axis_at_values(title, positions, right_margin=0.12 if laws else 0.02),
        y=value_axis(axis_title(quantity, where), series, log=log, beside=[row["y"] for row in (*laws, *printed)]),
        statistic=mean_statistic(log=log),
        spread="bars" if len(positions) <= _MOST_WITH_BARS else "band",
        laws=laws,
        published=printed,
        subject=f"{quantity_definition(quantity)} by {path_name(x)}",
        notes=(*([f"{dashed} {join_words(formulas)}."] if formulas else ()), *printed_notes),
        shows=f"Line chart of the {quantity_with_unit(quantity)}, against the {title}",
        finding=change_finding(series, quantity, x, place_name(x, where), log=log),
        headings={
            **({"panel": "panel"} if series.panels else {}),
            "series": "variant",
            "x": path_name(x),
            **estimate_headings(quantity_name(quantity)),
        },
    ).section()
