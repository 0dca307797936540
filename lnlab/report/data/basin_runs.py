"""What a basin is drawn of: the runs of a sweep, or, where its values were tried on tuning seeds, the tuning runs."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from lnlab.analyse.select.select import runs_with, select
from lnlab.compile.decisions import Decision, from_json
from lnlab.errors import Problem, ReportError
from lnlab.keys import Json, canonical
from lnlab.report.data.labels import ALONE
from lnlab.report.data.labels import series as named
from lnlab.report.data.series import SEEDS, medians, missing, refuse_several, stored
from lnlab.report.page.methods import ranges
from lnlab.report.words.wording import together, value_of_axis
from lnlab.specfile.values import label, matches
from lnlab.tables import Results

Best = Literal["lowest", "highest"]
SCORED = "final_nll"
"""What tuning runs are known by: the last validation NLL."""


@dataclass(frozen=True)
class Runs:
    """Runs that have ended, each at its place.

    Attributes:
        seeds: as ``gather.SEEDS``; infinitely bad where a run diverged.
        points: medians, as ``gather.medians``.
        gone: ``series line x gone runs``: how many diverged, where any did.
        names: the series, in order.
        families: as in ``gather.Gathered``.
        missing: a sentence about runs that are not there, or nothing.
        rows: the stored rows behind it, by table.
        dots: what a dot is, in words.
        chosen: ``series x y``: the value chosen on tuning seeds, at the median of its tuning runs.
    """

    seeds: pl.DataFrame
    points: pl.DataFrame
    gone: pl.DataFrame
    names: tuple[str, ...]
    families: tuple[int, ...]
    missing: str
    rows: Mapping[str, pl.DataFrame]
    dots: str = "runs"
    chosen: Sequence[Mapping[str, Json]] = ()


def judged_runs(results: Results, selection: dict[str, Json], over: str, best: Best) -> Runs:
    """The runs of a plan that a selection takes; one that diverged is infinitely bad."""
    quantity = selection["quantity"]
    taken = select(results, selection, [over]).drop_nulls(over)
    runs = runs_with(results, selection, over)
    names, families, labels = named(results, runs, over)
    placed = taken.with_columns(pl.col(over).cast(pl.Float64).alias("x"), panel=pl.lit(None, pl.String))
    refuse_several(placed.join(labels, on="run", maintain_order="left"), over)
    ended = runs.join(placed.select("run", "value"), on="run", how="left", maintain_order="left")
    failed = (pl.col("status") == "diverged").fill_null(value=False) | ~pl.col("value").is_finite()
    worst = pl.when(failed & ~((best == "highest") & pl.col("value").is_finite()))
    value = worst.then(math.inf if best == "lowest" else -math.inf).otherwise("value")
    rows = ended.with_columns(
        value=value, x=pl.col(over).cast(pl.Float64), panel=pl.lit(None, pl.String), gone=failed.fill_null(value=False)
    ).drop_nulls("value")
    seeds = rows.join(labels, on="run", maintain_order="left").sort("line", "x", "seed")
    counts = seeds.group_by("series", "line", "x", maintain_order=True).agg(pl.col("gone").sum(), runs=pl.len())
    drawn = seeds.select(pl.col(c).cast(t) for c, t in SEEDS.items())
    gone = counts.filter(pl.col("gone") > 0)
    return Runs(drawn, medians(drawn), gone, names, families, missing(runs), stored(results, str(quantity), taken))


def tuning_runs(
    decisions: Sequence[Mapping[str, Json]], results: Results, selection: dict[str, Json], over: str
) -> Runs | None:
    """The tuning runs of the decisions on a path, one series per decision; None where nothing was decided on it.

    Each decision had a grid of its own, so that no line joins candidates of two of them. Judged runs have the chosen
    value alone: they show no basin. Of the decisions, those are taken that a selected judged run follows.

    Raises:
        ReportError: another quantity than that of the tuning runs is asked for.
    """
    every = [made for given in decisions if (made := from_json(given)).path == over]
    if not every:
        return None
    if selection["quantity"] != SCORED:
        what = f"{over} was chosen on tuning seeds, whose runs are known by {SCORED} alone"
        raise ReportError(Problem("quantity", what, f"leave it out, or write {SCORED}"))
    points = _points(results, runs_with(results, {k: v for k, v in selection.items() if k != "quantity"}))
    taken = [made for made in every if any(_follows(point, made) for point in points)]
    names = _names(taken)
    rows = [
        (None, name, number, float(tried.value), seed, math.inf if loss is None else loss)
        for number, (name, made) in enumerate(zip(names, taken, strict=True))
        for tried in made.candidates
        for seed, loss in zip(made.seeds, tried.losses, strict=True)
    ]
    seeds = pl.DataFrame(rows, schema=SEEDS, orient="row").sort("line", "x", "seed")
    counts = seeds.group_by("series", "line", "x", maintain_order=True).agg(
        gone=pl.col("value").is_infinite().sum(), runs=pl.len()
    )
    tried_on = ranges(sorted({seed for made in taken for seed in made.seeds}))
    return Runs(
        seeds=seeds,
        points=(found := medians(seeds)),
        gone=counts.filter(pl.col("gone") > 0),
        names=names,
        families=tuple(range(len(names))),
        missing="",
        rows={},
        dots=f"tuning runs (seeds {tried_on}, which are not judged), rings mark what was chosen",
        chosen=list(_chosen(zip(names, taken, strict=True), found)),
    )


def _points(results: Results, runs: pl.DataFrame) -> list[dict[str, Json]]:
    """The values of the axes of each run."""
    axes = results.axes.filter(pl.col("run").is_in(runs["run"].implode()))
    found: dict[str, dict[str, Json]] = {run: {} for run in runs["run"]}
    for run, axis, value in axes.select("run", "axis", "value").iter_rows():
        found[run][axis] = json.loads(value)
    return list(found.values())


def _follows(point: Mapping[str, Json], made: Decision) -> bool:
    """Whether a run is one of those that a decision was made for."""
    return all(matches(point.get(axis), value) for axis, value in made.about.items())


def _names(taken: Sequence[Decision]) -> tuple[str, ...]:
    """What tells the decisions apart: the values of the axes that vary among them."""
    axes = list(dict.fromkeys(axis for made in taken for axis in made.about))
    varying = [axis for axis in axes if len({canonical(made.about.get(axis)) for made in taken}) > 1]
    return tuple(
        together(value_of_axis(axis, made.about[axis], label(made.about[axis])) for axis in varying) or ALONE
        for made in taken
    )


def _chosen(decided: Iterable[tuple[str, Decision]], points: pl.DataFrame) -> Iterator[dict[str, Json]]:
    """Where the chosen candidates lie; one whose median is infinite lies nowhere."""
    for name, made in decided:
        at = points.filter(pl.col("series").eq(name) & pl.col("x").eq(float(made.value))).drop_nulls("estimate")
        yield from ({"series": name, "x": x, "y": y} for x, y in at.select("x", "estimate").iter_rows())
