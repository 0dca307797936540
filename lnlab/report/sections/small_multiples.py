"""Many methods at many depths: a small panel each on one scale, and a table of how far each line goes."""

from dataclasses import replace

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts.axes import logarithmic_axis
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.profiles import MAX_PROFILE_POINTS, LineEnd, collect_profiles
from lnlab.report.figures.lines import value_axis
from lnlab.report.figures.multiples import SmallMultiples, lines_beyond, multiples_finding
from lnlab.report.section import Section, Table, empty_section, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.path_names import path_name, place_name
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import format_interval, nonbreaking
from lnlab.seed_words import seeds_word
from lnlab.tables import Results

_SCHEMA = {"panel": pl.String, "line": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
_SCHEMA |= {"n": pl.Int64, "seeds": pl.Int64, "note": pl.String}


@sections.register("small_multiples")
def small_multiples(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    panels: str = "method",
    lines: str = "model.layers",
    x: str = "layer",
    between: tuple[float, float] | None = None,
) -> Section:
    """``a panel each of panels, a line each of lines``: log(quantity) from first to last x, and last/first as a table.

    Means are geometric over seeds, with 95 % Student intervals. What a logarithmic axis cannot show is stated in words;
    so is how far a line goes that leaves the axis where ``between`` ends it, so that one panel does not flatten all.

    Raises:
        ReportError: the ends of the axis are not positive, or in the wrong order.
    """
    profiles = collect_profiles(results, quantity, where or {}, (panels, lines), x)
    name = quantity_name(quantity)
    if profiles.points["estimate"].count() == 0:
        return empty_section(profiles, f"Nothing of the {name} can be drawn yet")
    title = axis_title(quantity)
    if between is None:
        y = value_axis(title, profiles, log=True)
    elif 0 < between[0] < between[1]:
        y = replace(logarithmic_axis(f"{title} (log scale)", between), domain=between)
    else:
        raise ReportError(
            Issue("wrong-type", "between", f"found {list(between)}", "write two positive numbers, the lower one first")
        )
    panel, line, place = path_name(panels), path_name(lines), place_name(x, where)
    first, last = profiles.names[0], profiles.names[-1]
    notes = [f"Line colours run from {first} to {last}." if first != last else f"All lines: {first}."]
    if lines_beyond(profiles.points, y):
        notes.append("Panels whose lines leave the scale state how far these go.")
    if profiles.thinned:
        notes.append(f"Each line has at most {MAX_PROFILE_POINTS + 1} points.")
    figure = SmallMultiples(
        data=profiles,
        y=y,
        statistic=GEOMETRIC_MEAN,
        subject=f"{quantity_definition(quantity)} from the first to the last {place}, one panel per {panel}, all on "
        "one logarithmic scale",
        notes=tuple(notes),
        shows=f"Small line charts of the {quantity_with_unit(quantity)}, one per {panel}, from the first to the last "
        f"{place}",
        finding=f"{'At' if lines == 'step' else 'With'} {multiples_finding(profiles, quantity, place, panel)}",
        headings={
            "panel": panel,
            "series": line,
            "x": f"{place}, from 0 (first) to 1 (last)",
            **estimate_headings(name),
        },
    )
    # last over first of every line: exact, one row a line, and for readers a panel a row
    entries = [(*key, *_ratio_columns(end), end.seeds, end.why or None) for key, end in profiles.line_ends.items()]
    headings = {"panel": panel, "line": line, "estimate": "last/first", "low": "95 % low", "high": "95 % high"}
    headings |= {"n": f"{seeds_word()} with a ratio", "seeds": seeds_word(), "note": "note"}
    body: list[tuple[Cell, ...]] = []
    for of_panel in profiles.panels:
        texts = []
        for of_line in profiles.names:
            end = profiles.line_ends.get((of_panel, of_line))
            if end is None or end.ratio is None:
                texts.append("–" if end is None else end.why)
                continue
            estimate, low, high, n = _ratio_columns(end)
            of = f" ({n} of {end.seeds} {seeds_word()})" if n < end.seeds else ""
            texts.append(nonbreaking(format_interval(estimate, low, high)) + of)
        body.append(((of_panel, False), *((text, True) for text in texts)))
    table = Table(
        pl.DataFrame(entries, schema=_SCHEMA, orient="row"),
        headings,
        f"The {name} of the last {place} over that of the first, by {panel} and {line}",
        Grid("", (panel, *profiles.names), tuple(body)),
        statistics=((GEOMETRIC_MEAN, profiles.points),),
    )
    return figure.section(table)


def _ratio_columns(end: LineEnd) -> tuple[float | None, float | None, float | None, int]:
    """Estimate, lower and upper end of the ratio last over first, and how many seeds have one.

    Without a ratio the first three are None. With one seed both ends are.
    """
    if end.ratio is None:
        return None, None, None, 0
    bounds = (end.ratio.low, end.ratio.high) if end.ratio.n > 1 else (None, None)
    return end.ratio.estimate, *bounds, end.ratio.n
