"""A number of whole runs against the learning rate: how wide the basin is, where its floor lies, and where runs end."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts import learning_rate_basin
from lnlab.report.charts.axes import Axis, axis_at_values, linear_axis
from lnlab.report.data.basin_runs import BetterEnd, SweepRuns, judged_runs, tuning_runs
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.quantity_words import quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import MEDIAN_AND_RANGE
from lnlab.report.words.wording import MAX_NAMED, format_short, format_value, in_variant, join_words
from lnlab.tables import Results

_AXIS_NAMES = {"lr": "learning rate", "batch_sentences": "batch size"}
_ROW_HEIGHT = 0.07
"""The height of a row of crosses, as a share of the axis."""


@sections.register("basin")
def basin(
    results: Results,
    decisions: Sequence[Mapping[str, Json]] = (),
    *,
    quantity: str = "final_nll",
    where: dict[str, Json] | None = None,
    over: str = "optimizer.lr",
    best: BetterEnd = "lowest",
) -> Section:
    """``median over seeds of the quantity at each learning rate``: runs as dots, and where runs diverged, how many.

    A run that diverged ranks worst. ``over`` may be another path of the setting; ``best`` says which end of the
    quantity is good. The heading says where the optimum lies, and whether that is an edge of the grid. Where ``over``
    was chosen on tuning seeds, the tuning runs are drawn, a line per decision, with the chosen value marked.

    Raises:
        ReportError: another quantity than ``final_nll`` of tuning runs.
    """
    selection = {"quantity": quantity, **(where or {})}
    runs = tuning_runs(decisions, results, selection, over) or judged_runs(results, selection, over, best)
    if runs.seeds.is_empty():
        return runs.unmeasured(quantity)
    finding = _finding(runs, over, best)
    return runs.section(finding, _chart(runs, quantity, over, best, finding))


def _chart(runs: SweepRuns, quantity: str, over: str, best: BetterEnd, finding: str) -> Chart:
    log = min(runs.points["x"]) > 0
    x_axis = axis_at_values(
        f"{_axis_name(over)}{' (log scale)' if log else ''}", runs.points["x"], log=log, right_margin=0.08
    )
    diverged = [name for name in runs.names if name in set(runs.diverged["series"])]
    y_axis = _y_axis(runs, quantity, len(diverged), best)
    numbers = estimate_headings(f"median {quantity_name(quantity)}", "lowest", "highest", "runs")
    crosses = _crosses(runs, diverged, y_axis, best)
    return runs.chart(
        learning_rate_basin.basin_chart(x_axis, y_axis, runs.style, crosses, runs.chosen),
        {"series": "variant", "x": _axis_name(over), **numbers},
        alt=f"Line chart of the {quantity_with_unit(quantity)}, against the {x_axis.title}. {finding}.",
        caption=_caption(runs, quantity, over, best),
        statistic="median",
    )


def _axis_name(over: str) -> str:
    """``learning rate`` for ``optimizer.lr``, ``batch size`` for ``task.batch_sentences``."""
    leaf = over.rpartition(".")[2]
    return _AXIS_NAMES.get(leaf, leaf.replace("_", " "))


def _y_axis(runs: SweepRuns, quantity: str, rows: int, best: BetterEnd) -> Axis:
    """An axis over all finite numbers, with room for rows of crosses on its bad side."""
    finite = [value for value in runs.seeds["value"] if math.isfinite(value)] or [0.0, 1.0]
    axis = linear_axis(quantity_with_unit(quantity), finite)
    low, high = axis.domain
    margin = (rows + 0.5) * _ROW_HEIGHT * (high - low) if rows else 0.0
    return replace(axis, domain=(low, high + margin) if best == "lowest" else (low - margin, high))


def _crosses(runs: SweepRuns, series: Sequence[str], y: Axis, best: BetterEnd) -> list[dict[str, Json]]:
    """A row of crosses for each series that lost runs."""
    low, high = y.domain
    step = _ROW_HEIGHT * (high - low) / (1 + (len(series) + 0.5) * _ROW_HEIGHT)
    start, sign = (high, -1) if best == "lowest" else (low, 1)
    return [
        {"series": name, "x": x, "y": start + sign * (series.index(name) + 0.5) * step, "label": f"{count}/{total}"}
        for name, x, count, total in runs.diverged.select("series", "x", "gone", "runs").iter_rows()
    ]


def _caption(runs: SweepRuns, quantity: str, over: str, best: BetterEnd) -> str:
    caption = (
        f"{quantity_definition(quantity)} against the {_axis_name(over)}. Dots: {runs.dots}. "
        f"{MEDIAN_AND_RANGE.sentence(runs.points, 'Lines', of='run')}"
    )
    if runs.diverged.is_empty():
        return caption
    edge = "top" if best == "lowest" else "bottom"
    return (
        f"{caption} Crosses at the {edge} say how many of how many runs diverged; they rank worst, and where they are "
        "half of the runs the median is not drawn."
    )


def _finding(runs: SweepRuns, over: str, best: BetterEnd) -> str:
    """Where each series is best, and whether that is an edge of its grid."""
    optima = {name: optimum for name in runs.names if (optimum := _optimum(runs, name, best))}
    failed = [name for name in runs.names if name not in optima]
    clauses = [_optimum_clause(name, *optimum, over) for name, optimum in optima.items()]
    if len(clauses) > MAX_NAMED:
        low, high = (pick(optima, key=lambda name: optima[name][0]) for pick in (min, max))
        edges = [name for name, (_, _, edge) in optima.items() if edge]
        smallest, largest = optima[low][0], optima[high][0]
        span = (
            f"the best {_axis_name(over)} ranges from {format_value(smallest)} ({low}) to "
            f"{format_value(largest)} ({high})"
        )
        if smallest == largest:
            span = f"the best {_axis_name(over)} is {format_value(smallest)} in each of {len(clauses)} variants"
        at_edge = f"{len(edges)} of {len(clauses)} {'lies' if len(edges) == 1 else 'lie'} on the edge of the grid"
        clauses = [span, at_edge] if edges else [span]
    if failed:
        names = join_words(failed) if len(failed) <= MAX_NAMED else f"{len(failed)} variants"
        of_series = "" if failed == [SINGLE_SERIES] else f" {in_variant(names)}"
        clauses.append(f"half of the runs{of_series} diverged at every {_axis_name(over)}")
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:]


def _optimum_clause(name: str, x: float, value: float, edge: str, over: str) -> str:
    who = "the best" if name == SINGLE_SERIES else f"{name} is best at the"
    where = f"{_axis_name(over)} {'is' if name == SINGLE_SERIES else ''} {format_value(x)}".replace("  ", " ")
    note = f", the {edge} of the grid: the optimum may lie beyond it" if edge else ""
    return f"{who} {where} ({format_short(value)}){note}"


def _optimum(runs: SweepRuns, name: str, best: BetterEnd) -> tuple[float, float, str] | None:
    """The x of the best median, that median, and which edge of the grid that is, if any."""
    line = runs.points.filter(pl.col("series") == name)
    ranked = line.drop_nulls("estimate").sort("estimate", descending=best == "highest", maintain_order=True)
    if ranked.is_empty():
        return None
    x, value = ranked.select("x", "estimate").row(0)
    edges = {line["x"].min(): "smallest", line["x"].max(): "largest"}
    return x, value, edges.get(x, "") if line["x"].n_unique() > 1 else ""
