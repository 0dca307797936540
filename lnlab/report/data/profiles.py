"""Turn a selection into small profiles: a panel for each method, a line for each depth, and how each line ends.

A line that is exactly 0 or not finite, which a logarithmic axis cannot show, is stated in its panel and its cell.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from lnlab.analyse.statistics.intervals import Interval, t_interval
from lnlab.claims.criterion import FINISHING
from lnlab.keys import Json
from lnlab.report.data.downsample import thin_lines
from lnlab.report.data.figure import FigureData, as_seeds
from lnlab.report.data.series import (
    labelled_values,
    mean_points,
    missing_runs_sentence,
    refuse_duplicates,
    source_rows_of,
    undrawn_numbers,
)
from lnlab.report.data.table_cells import unfinished_places
from lnlab.select.select import Selected
from lnlab.tables import Results

MAX_PROFILE_POINTS = 24
"""Steps that a drawn line has at most: a panel is too narrow to show more."""
ZERO, INFINITE = "exactly 0", "not finite"


@dataclass(frozen=True)
class LineEnd:
    """How a line ends: its last number over its first, within each seed and then over seeds.

    Attributes:
        ratio: over the seeds that have one, or None if none has.
        why: why there is no ratio, or nothing.
        seeds: how many there are, with or without a ratio.
    """

    ratio: Interval | None
    why: str
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Profiles(FigureData):
    """Profiles by panel and line, x from 0 (the first place) to 1 (the last).

    Long lines are thinned, and numbers that cannot be drawn are null. ``names`` are the lines of each panel.

    Attributes:
        line_ends: by panel and line.
        thinned: whether some line is so long that not all its points are in ``seeds`` and ``points``.
        notes: of a panel, what is not drawn in it.
    """

    line_ends: Mapping[tuple[str, str], LineEnd]
    thinned: bool
    notes: Mapping[str, str]


def collect_profiles(
    results: Results, quantity: str, where: Mapping[str, Json], paths: tuple[str, str], x: str
) -> Profiles:
    """The profiles of one quantity.

    Args:
        results: of an experiment.
        quantity: stored or derived.
        where: which rows.
        paths: what makes the panels, and what makes the lines.
        x: the column along which the profiles go.

    Raises:
        LabError: ``where`` selects nothing.
        ReportError: a seed has more than one number at one point of a line.
    """
    selection = {"quantity": quantity, **where}
    selected = Selected(results, selection, columns=paths)
    selected_rows = selected.rows.drop_nulls([*paths, x])
    panels, lines = (labelled_values(results, selected_rows, path) for path in paths)
    rows = selected_rows.with_columns(
        pl.col(paths[0]).replace_strict(panels, default=None, return_dtype=pl.String).alias("panel"),
        pl.col(paths[1]).replace_strict(lines, default=None, return_dtype=pl.String).alias("series"),
        pl.col(x).cast(pl.Float64).alias("x"),
    )
    refuse_duplicates(rows, x)
    # x from 0 to 1 along each line, in the order of panels and lines
    of_line = ["panel", "series"]
    first, names = pl.col("x").min(), (tuple(panels.values()), tuple(lines.values()))
    span = (pl.col("x").max() - first).over(of_line)
    x_share = pl.when(span > 0).then((pl.col("x") - first.over(of_line)) / span).otherwise(0.0)
    panel_order, number = (
        pl.col(column).replace_strict(of, range(len(of)), return_dtype=pl.Int32)
        for column, of in zip(of_line, names, strict=True)
    )
    ordered = rows.with_columns(x_share, number.alias("line"), panel_order.alias("_panel"))
    placed = as_seeds(ordered.sort("_panel", "line", "x", "seed"))
    finite = placed["value"].is_finite()
    drawable = placed.with_columns(pl.when(finite & (placed["value"] > 0)).then(pl.col("value")).alias("value"))
    drawn = thin_lines(drawable, ["panel", "series"], MAX_PROFILE_POINTS)
    groups = {
        (str(panel), str(line)): line_rows
        for (panel, line), line_rows in placed.group_by("panel", "series", maintain_order=True)
    }
    lost = {
        (panels[panel], lines[line]): counts
        for (panel, line), counts in unfinished_places(results, selected_rows, paths, selection).items()
    }
    points = mean_points(drawn, log=True)
    for (panel, line), (_, n) in lost.items():  # too many runs of the line diverged for a mean
        few = pl.col("panel").eq(panel) & pl.col("series").eq(line) & (pl.col("n") < FINISHING * n - 1e-9)
        points = points.with_columns(pl.when(~few).then(pl.col(c)).alias(c) for c in ("estimate", "low", "high"))
    return Profiles(
        seeds=drawn,
        points=points,
        names=tuple(lines.values()),
        panels=tuple(panels.values()),
        line_ends={place: _end(line_rows, lost.get(place)) for place, line_rows in groups.items()},
        thinned=drawn.height < placed.height,
        notes={
            panel: _note(
                {line: groups[panel, line] for p, line in groups if p == panel},
                {line: counts for (p, line), counts in lost.items() if p == panel},
            )
            for panel in panels.values()
        },
        left_out=undrawn_numbers(int((~finite).sum()), int((finite & (placed["value"] <= 0)).sum())),
        missing=missing_runs_sentence(selected.runs),
        rows=source_rows_of(results, quantity, selected_rows),
    )


def _end(rows: pl.DataFrame, lost: tuple[int, int] | None = None) -> LineEnd:
    """How one line ends. ``lost`` counts finished and all runs where too many diverged for a ratio."""
    if lost is not None:
        return LineEnd(None, "{} of {} finished".format(*lost), rows["seed"].n_unique())
    by_seed = rows.sort("seed", "x").group_by("seed", maintain_order=True)
    numbers = pl.col("value")
    pairs = by_seed.agg(numbers.first().alias("first"), numbers.last().alias("last")).drop("seed").rows()
    ratios = [last / first for first, last in pairs if _drawable(first) and _drawable(last)]
    if ratios:
        return LineEnd(t_interval(ratios, log=True), "", len(pairs))
    if all(value == 0 for pair in pairs for value in pair):
        return LineEnd(None, ZERO, len(pairs))
    infinite = any(not math.isfinite(value) for pair in pairs for value in pair)
    return LineEnd(None, INFINITE if infinite else "0 at one end", len(pairs))


def _drawable(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _note(lines: Mapping[str, pl.DataFrame], lost: Mapping[str, tuple[int, int]]) -> str:
    """State which of a panel's lines are not drawn: ``exactly 0`` if that holds of all, else by line."""
    lines_by_state: dict[str, list[str]] = {}
    for line, rows in lines.items():
        why = "{} of {} finished".format(*lost[line]) if line in lost else ""
        for word, mask in ((INFINITE, ~rows["value"].is_finite()), (ZERO, rows["value"] == 0)):
            if not why and mask.any():
                why = word if mask.all() else f"{word} in part"
        if why:
            lines_by_state.setdefault(why, []).append(line)
    if len(lines_by_state) == 1 and [*lines] == next(iter(lines_by_state.values())):
        return next(iter(lines_by_state))
    brief = {line: first if (first := line.partition(" ")[0]).isdigit() else line for line in lines}  # 16 for 16 layers
    return "; ".join(f"{', '.join(brief[line] for line in names)}: {why}" for why, names in lines_by_state.items())
