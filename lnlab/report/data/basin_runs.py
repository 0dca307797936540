"""The runs of a learning-rate sweep chart: those of the sweep, or the tuning runs where one value was chosen."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from lnlab.compile.decisions import Decision, decision_from_json
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.report.data.figure import SEED_SCHEMA, FigureData, as_seeds
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.data.series import (
    median_points,
    missing_runs_sentence,
    refuse_duplicates,
    source_rows_of,
)
from lnlab.report.words.path_names import join_value_names, number_ranges
from lnlab.report.words.wording import axis_value_name, format_value, in_variant, join_words
from lnlab.select.select import Selected, runs_with
from lnlab.specfile.values import matches, value_label
from lnlab.tables import Results

BetterEnd = Literal["lowest", "highest"]
FAILING = "failing"
"""The rule that chooses the smallest value that fails."""
MOST_CHOICES_NAMED = 3
"""The most chosen values that are listed with their grids. More are listed by value."""
TUNING_QUANTITY = "final_nll"
"""The one quantity that tuning runs have: the last validation NLL."""


@dataclass(frozen=True, kw_only=True)
class SweepRuns(FigureData):
    """Runs that have ended, each at its value of the swept path, with medians over seeds. Diverged runs rank worst.

    Attributes:
        diverged: ``series line x gone runs``: how many diverged, where any did.
        dots: what a dot is, in words.
        chosen: ``series x y``: the value chosen on tuning seeds, at the median of its tuning runs.
    """

    diverged: pl.DataFrame
    dots: str = "runs"
    chosen: Sequence[Mapping[str, Json]] = ()


def judged_runs(results: Results, selection: dict[str, Json], over: str, best: BetterEnd) -> SweepRuns:
    """The selected runs of a plan. A diverged run is infinitely bad, unless more is better and its value is finite."""
    quantity = selection["quantity"]
    selected = Selected(results, selection, over)
    selected_rows, runs = selected.rows.drop_nulls(over), selected.runs
    names, families, labels = label_series(results, runs, over)
    placed = selected_rows.with_columns(pl.col(over).cast(pl.Float64).alias("x"), panel=pl.lit(None, pl.String))
    refuse_duplicates(placed.join(labels, on="run", maintain_order="left"), over)
    outcomes = runs.join(placed.select("run", "value"), on="run", how="left", maintain_order="left")
    failed = (pl.col("status") == "diverged").fill_null(value=False) | ~pl.col("value").is_finite()
    # where more is better, what a run had reached before it diverged is a number of it
    worst = pl.when(failed & ~((best == "highest") & pl.col("value").is_finite()))
    value = worst.then(math.inf if best == "lowest" else -math.inf).otherwise("value")
    rows = outcomes.with_columns(
        value=value, x=pl.col(over).cast(pl.Float64), panel=pl.lit(None, pl.String), gone=failed.fill_null(value=False)
    ).drop_nulls("value")
    seeds = rows.join(labels, on="run", maintain_order="left").sort("line", "x", "seed")
    counts = seeds.group_by("series", "line", "x", maintain_order=True).agg(pl.col("gone").sum(), runs=pl.len())
    drawn = as_seeds(seeds)
    return SweepRuns(
        seeds=drawn,
        points=median_points(drawn),
        diverged=counts.filter(pl.col("gone") > 0),
        names=names,
        families=families,
        missing=missing_runs_sentence(runs),
        rows=source_rows_of(results, str(quantity), selected_rows),
    )


def tuning_runs(
    decisions: Sequence[Mapping[str, Json]], results: Results, selection: dict[str, Json], over: str
) -> SweepRuns | None:
    """The tuning runs of the decisions on a path, one series per decision, or None without such a decision.

    Each decision had a grid of its own, so that no line joins candidates of two of them. Judged runs have the chosen
    value alone: they show no minimum over the grid. Decisions that no selected judged run follows are left out.

    Raises:
        ReportError: another quantity than that of the tuning runs is asked for.
    """
    path_decisions = [decision for entry in decisions if (decision := decision_from_json(entry)).path == over]
    if not path_decisions:
        return None
    if selection["quantity"] != TUNING_QUANTITY:
        what = f"{over} was chosen on tuning seeds, whose runs are known by {TUNING_QUANTITY} alone"
        raise ReportError(Issue("no-effect", "quantity", what, f"leave it out, or write {TUNING_QUANTITY}"))
    axis_values = _axis_values(results, runs_with(results, {k: v for k, v in selection.items() if k != "quantity"}))
    relevant = [decision for decision in path_decisions if any(_follows(point, decision) for point in axis_values)]
    names = _names(relevant)
    rows = [
        (None, name, line, float(candidate.value), seed, math.inf if loss is None else loss)
        for line, (name, decision) in enumerate(zip(names, relevant, strict=True))
        for candidate in decision.candidates
        for seed, loss in zip(decision.seeds, candidate.losses, strict=True)
    ]
    seeds = pl.DataFrame(rows, schema=SEED_SCHEMA, orient="row").sort("line", "x", "seed")
    points = median_points(seeds)
    counts = seeds.group_by("series", "line", "x", maintain_order=True).agg(
        gone=pl.col("value").is_infinite().sum(), runs=pl.len()
    )
    chosen = []
    for name, decision in zip(names, relevant, strict=True):
        of_value = pl.col("series").eq(name) & pl.col("x").eq(float(decision.value))
        # one whose median is infinite has no point
        medians = points.filter(of_value).drop_nulls("estimate").select("x", "estimate")
        chosen += [{"series": name, "x": x, "y": y} for x, y in medians.iter_rows()]
    tuning_seeds = sorted({seed for decision in relevant for seed in decision.seeds})
    which = f"seed{'s' if len(tuning_seeds) > 1 else ''} {number_ranges(tuning_seeds)}"
    return SweepRuns(
        seeds=seeds,
        points=points,
        diverged=counts.filter(pl.col("gone") > 0),
        names=names,
        families=tuple(range(len(names))),
        missing="",
        rows={},
        dots=f"tuning runs ({which}, not judged); rings: chosen values",
        chosen=chosen,
    )


def choices_sentences(
    decisions: Sequence[Mapping[str, Json]], results: Results, runs: pl.DataFrame, path: str, what: str
) -> str:
    """State which values were chosen from which grids for the runs shown, and whether they are ends of these grids.

    Empty if none was chosen, as the whole grid is shown then.

    Args:
        decisions: of the experiment.
        results: of the experiment.
        runs: that are shown.
        path: of the setting that is asked about.
        what: its name, in the plural.
    """
    axis_values = _axis_values(results, runs)
    made = [decision for entry in decisions if (decision := decision_from_json(entry)).path == path]
    relevant = [decision for decision in made if any(_follows(point, decision) for point in axis_values)]
    if not relevant:
        return ""
    grids: dict[str, str] = {}
    by_value: dict[str, list[str]] = {}
    at_edge = []
    names = _names(relevant)
    for name, decision in zip(names, relevant, strict=True):
        where = "" if name == SINGLE_SERIES else f" {in_variant(name)}"
        grid = sorted(candidate.value for candidate in decision.candidates)
        grids[f"{format_value(decision.value)}{where}"] = join_words(map(format_value, grid))
        by_value.setdefault(format_value(decision.value), []).append(name)
        # a rate that was chosen because it fails is not the best of its grid
        if len(grid) > 1 and decision.value in (grid[0], grid[-1]) and decision.rule["kind"] != FAILING:
            at_edge.append(name)
    tuning_seeds = sorted({seed for decision in relevant for seed in decision.seeds})
    seeds = f"tuning seed{'' if len(tuning_seeds) == 1 else 's'} {number_ranges(tuning_seeds)}"
    shared = next(iter(grids.values())) if len(set(grids.values())) == 1 else ""
    if len(relevant) > 1 and len(by_value) == 1:
        chosen = f"{next(iter(by_value))} in all variants"
    elif len(relevant) > MOST_CHOICES_NAMED:
        chosen = join_words(f"{value} ({'; '.join(of)})" for value, of in by_value.items())
    else:
        chosen = join_words(grids if shared else (f"{text} (of {grid})" for text, grid in grids.items()))
    of_grid = f" from {shared}" if shared else ""
    failing = all(decision.rule["kind"] == FAILING and decision.met for decision in relevant)
    number = what if len(relevant) > 1 else what.removesuffix("s")
    sentence = f"Chosen {number}{of_grid}, on {seeds}{', as the smallest that fails' if failing else ''}: {chosen}."
    if not at_edge:
        return sentence
    everywhere = len(at_edge) == len(relevant)
    where = "" if everywhere else f" ({'; '.join(at_edge)})"
    return f"{sentence} The best lies at the edge of the grid{where}; a better one may lie beyond it."


def _axis_values(results: Results, runs: pl.DataFrame) -> list[dict[str, Json]]:
    """The values of the axes of each run."""
    axes = results.axes.filter(pl.col("run").is_in(runs["run"].implode()))
    values_by_run: dict[str, dict[str, Json]] = {run: {} for run in runs["run"]}
    for run, axis, value in axes.select("run", "axis", "value").iter_rows():
        values_by_run[run][axis] = json.loads(value)
    return list(values_by_run.values())


def _follows(point: Mapping[str, Json], decision: Decision) -> bool:
    """Whether a run is one of those that a decision was made for."""
    return all(matches(point.get(axis), value) for axis, value in (*decision.about.items(), *decision.where.items()))


def _names(decisions: Sequence[Decision]) -> tuple[str, ...]:
    """What tells the decisions apart: the values of the axes that vary among them, and their grids."""
    axes = list(dict.fromkeys(axis for decision in decisions for axis in decision.about))
    varying = [axis for axis in axes if len({canonical(decision.about.get(axis)) for decision in decisions}) > 1]
    of_grids = len({decision.grid for decision in decisions}) > 1
    return tuple(
        join_value_names(
            [
                *(
                    axis_value_name(axis, decision.about[axis], value_label(decision.about[axis]))
                    for axis in varying
                    if axis in decision.about
                ),
                *([", ".join(decision.grid)] if of_grids else []),
            ]
        )
        or SINGLE_SERIES
        for decision in decisions
    )
