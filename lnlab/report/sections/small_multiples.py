"""Many methods at many depths: a small panel each on one scale, and a table of how far each line goes."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts import small_multiples as panel_charts
from lnlab.report.charts.axes import Axis, logarithmic_axis
from lnlab.report.charts.room import crowded_at_foot
from lnlab.report.data.figure import estimate_headings, finite_numbers
from lnlab.report.data.profiles import MAX_PROFILE_POINTS, LineEnd, Profiles, collect_profiles
from lnlab.report.section import Chart, Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import format_interval, format_short, in_variant, join_words, nonbreaking
from lnlab.tables import Results

_NEAR = 2.0
"""A line whose ends differ by no more than this factor stays near itself."""
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
    """
    profiles = collect_profiles(results, quantity, where or {}, (panels, lines), x)
    if profiles.points["estimate"].count() == 0:
        return profiles.empty_section(f"Nothing of the {quantity_name(quantity)} can be drawn yet")
    place = f"{where['stack']} {x}" if where and isinstance(where.get("stack"), str) and x == "layer" else path_name(x)
    finding = f"{'At' if lines == 'step' else 'With'} {_finding(profiles, quantity, place, path_name(panels))}"
    chart = _chart(profiles, quantity, (path_name(panels), path_name(lines), place), finding, between)
    table = _table(profiles, quantity, (path_name(panels), path_name(lines), place))
    return profiles.section(finding, chart, tables=(table,))


def _chart(
    profiles: Profiles, quantity: str, words: tuple[str, str, str], finding: str, between: tuple[float, float] | None
) -> Chart:
    panel, line, place = words
    y_axis = _axis(profiles, f"{axis_title(quantity)} (log scale)", between)
    beyond = _beyond(profiles.points, y_axis.domain)
    notes = {
        name: panel_charts.NOTE_BREAK.join(filter(None, (profiles.notes[name], beyond.get(name))))
        for name in profiles.panels
    }
    of_panels = profiles.points.drop_nulls("estimate").partition_by("panel", as_dict=True)
    at_head = [
        name
        for (name,), points in of_panels.items()
        if notes[name] and crowded_at_foot(points, y_axis.domain, panel_charts.note_height(notes[name]))
    ]
    numbers = estimate_headings(quantity_name(quantity))
    return profiles.chart(
        panel_charts.small_multiples_chart(profiles.panels, profiles.names, y_axis, notes, at_head),
        {"panel": panel, "series": line, "x": f"{place}, from 0 (first) to 1 (last)", **numbers},
        alt=f"Small line charts of the {quantity_with_unit(quantity)}, one per {panel}, from the first to "
        f"the last {place}. {finding}.",
        caption=_caption(profiles, quantity, words, clipped=bool(beyond)),
        log=True,
    )


def _axis(profiles: Profiles, title: str, between: tuple[float, float] | None) -> Axis:
    """An axis over every number, or one that ends where the spec says.

    Raises:
        ReportError: its ends are not positive, or in the wrong order.
    """
    if between is None:
        return logarithmic_axis(title, finite_numbers(profiles.points, "estimate", "low", "high", positive=True))
    if not 0 < between[0] < between[1]:
        raise ReportError(
            Issue("wrong-type", "between", f"found {list(between)}", "write two positive numbers, the lower one first")
        )
    return replace(logarithmic_axis(title, between), domain=between)


def _beyond(points: pl.DataFrame, domain: tuple[float, float]) -> dict[str, str]:
    """How far the lines of a panel go beyond the axis."""
    ranges = (
        points.drop_nulls("estimate")
        .group_by("panel")
        .agg(pl.col("estimate").min().alias("low"), pl.col("estimate").max().alias("high"))
    )
    texts = {}
    for panel, low, high in ranges.iter_rows():
        down = f"down to {format_short(low)}" if low < domain[0] else ""
        up = f"up to {format_short(high)}" if high > domain[1] else ""
        texts[panel] = ", ".join(filter(None, (down, up)))
    return {panel: text for panel, text in texts.items() if text}


def _caption(profiles: Profiles, quantity: str, words: tuple[str, str, str], *, clipped: bool) -> str:
    panel, _, place = words
    first, last = profiles.names[0], profiles.names[-1]
    lines = f"Lines are coloured in order from {first} to {last}." if first != last else f"All lines: {first}."
    beyond = " A panel whose lines leave the scale says how far they go." if clipped else ""
    beyond += f" Long lines are drawn in at most {MAX_PROFILE_POINTS + 1} places." if profiles.thinned else ""
    return (
        f"{quantity_definition(quantity)} from the first to the last {place}, one panel per {panel}, "
        "all on one logarithmic "
        f"scale. {GEOMETRIC_MEAN.sentence(profiles.points, 'Lines', 'band')} {lines}{beyond}"
    )


def _table(profiles: Profiles, quantity: str, words: tuple[str, str, str]) -> Table:
    """Last over first of every line: exact, one row a line, and for readers a panel a row."""
    panel, line, place = words
    entries = [(*key, *_numbers(end), end.seeds, end.why or None) for key, end in profiles.line_ends.items()]
    headings = {"panel": panel, "line": line, "estimate": "last/first", "low": "95 % low", "high": "95 % high"}
    headings |= {"n": "seeds with a ratio", "seeds": "seeds", "note": "note"}
    caption = (
        f"The {quantity_name(quantity)} of the last {place} over that of the first, by {panel} and {line}. "
        f"{GEOMETRIC_MEAN.sentence(profiles.points, '', 'in brackets')}"
    )
    body = tuple(
        ((name, False), *(_cell(profiles.line_ends.get((name, line_name))) for line_name in profiles.names))
        for name in profiles.panels
    )
    grid = Grid("", (panel, *profiles.names), body)
    return Table(pl.DataFrame(entries, schema=_SCHEMA, orient="row"), headings, caption, grid)


def _numbers(end: LineEnd) -> tuple[float | None, float | None, float | None, int]:
    """Estimate, interval (from two seeds on) and how many seeds have a ratio."""
    if end.ratio is None:
        return None, None, None, 0
    bounds = (end.ratio.low, end.ratio.high) if end.ratio.n > 1 else (None, None)
    return end.ratio.estimate, *bounds, end.ratio.n


def _cell(end: LineEnd | None) -> Cell:
    if end is None:
        return "–", True
    estimate, low, high, n = _numbers(end)
    if estimate is None:
        return end.why, True
    of = f" ({n} of {end.seeds} seeds)" if n < end.seeds else ""
    return nonbreaking(format_interval(estimate, low, high)) + of, True


def _finding(profiles: Profiles, quantity: str, place: str, panel: str) -> str:
    """What the line with the last name does in each panel: which grows most, which falls most, which stay near."""
    line = profiles.names[-1]
    line_ends = {name: profiles.line_ends[name, line] for name in profiles.panels if (name, line) in profiles.line_ends}
    ratios = {name: end.ratio.estimate for name, end in line_ends.items() if end.ratio is not None}
    clauses = _extremes(ratios, place)
    near = [name for name, ratio in ratios.items() if max(ratio, 1 / ratio) <= _NEAR]
    if ratios:
        clauses.append(f"it stays within a factor of {format_short(_NEAR)} in {len(near)} of {len(line_ends)} {panel}s")
    for why in dict.fromkeys(end.why for end in line_ends.values() if end.why):
        clauses.append(f"{why} {in_variant(join_words(name for name, end in line_ends.items() if end.why == why))}")
    return f"{line}, the {quantity_name(quantity)} {'; '.join(clauses)}"


def _extremes(ratios: Mapping[str, float], place: str) -> list[str]:
    """Who grows most and who falls most from the first place to the last."""
    span = f" from the first to the last {place}"
    clauses = []
    if ratios and ratios[top := max(ratios, key=lambda name: ratios[name])] > 1:
        clauses.append(f"grows most {in_variant(top)} (by a factor of {nonbreaking(format_short(ratios[top]))}{span})")
        span = ""
    if ratios and ratios[low := min(ratios, key=lambda name: ratios[name])] < 1:
        clauses.append(f"falls most {in_variant(low)} (to {nonbreaking(format_short(ratios[low]))} of itself{span})")
    return clauses
