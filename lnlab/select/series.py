"""A series: one number per seed, or one per seed and x, and what became of the seeds that have none.

A seed counts only if it has a finite number at every x. A seed that diverged, or whose number is NaN or infinite, has
*failed* and ranks worst. A seed stopped for another reason is *excluded*. So is one that a stop rule ended early, as
its numbers after step 0 are those of a cut run. A seed that has not run yet is *pending*. Over ``step`` a seed that
diverged before a measurement that was due has failed, even if it has a number wherever any seed has one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.seed_words import seed_word
from lnlab.select.quantity import quantity_fact
from lnlab.select.reductions import REDUCTIONS, Reduction
from lnlab.select.run_status import STOPPED, any_unfinished, fate_without_numbers
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions
from lnlab.select.settings import NothingSelected
from lnlab.tables import CLUSTERS, TRAINED_ELSEWHERE, Results

_SITE = ("stack", "layer", "sublayer", "tensor", "index", "operator", "scope")
_IDENTITY = ("quantity", "step", "split", "statistics", "rule", *_SITE)
_LINE_PLACE = "place"


@dataclass(frozen=True, kw_only=True)
class SeedFates:
    """How numbers came about, and what became of the seeds that have none.

    Attributes:
        trained: whether anything was measured after step 0, or in training at an unknown step.
        failed: seeds that diverged or have a number that is not finite, with the reason in words.
        unmet: those of them that came to their end, but never to what the number counts to, as a target.
        excluded: seeds that stopped for another reason (time, memory, an error, a stop rule), with it.
        pending: seeds that have not run to their end yet.
        bimodal: the span over seeds of the numbers of one variant, where it exceeds the quantity's limit for a mean.
            None elsewhere, and for quantities without a limit.
        clusters: of seeds that are not independent. Empty where all are taken as independent.
    """

    trained: bool
    failed: Mapping[int, str] = field(default_factory=dict)
    unmet: frozenset[int] = frozenset()
    excluded: Mapping[int, str] = field(default_factory=dict)
    pending: tuple[int, ...] = ()
    bimodal: float | None = None
    clusters: Mapping[int, str] = field(default_factory=dict)

    @property
    def diverged(self) -> set[int]:
        """The failed seeds that did not come to their end."""
        return set(self.failed) - self.unmet


@dataclass(frozen=True)
class SeedSeries(SeedFates):
    """Numbers to be judged.

    Attributes:
        numbers: ``seed x value``, sorted, complete seeds only. ``x`` is a number or a word, and null without ``over``
            or after a reduction. ``value`` is null where a ratio had a zero in its denominator.
    """

    numbers: pl.DataFrame

    @property
    def seeds(self) -> list[int]:
        """The complete seeds, in order."""
        return self.numbers["seed"].unique().sort().to_list()

    @property
    def total(self) -> int:
        """How many seeds there are, complete or not."""
        return len(self.seeds) + len(self.failed) + len(self.excluded) + len(self.pending)

    @property
    def levels(self) -> list[float | str | None]:
        """Every x, in order."""
        return self.numbers["x"].unique().sort().to_list()

    @property
    def matrix(self) -> np.ndarray:
        """The numbers as (seeds, levels) in float64, NaN where ``value`` is null."""
        values = self.numbers["value"].to_numpy().astype(float)
        return values.reshape(len(self.seeds), len(self.levels))


def select_series(
    results: Results,
    of: Conditions,
    over: str | None = None,
    reduce: Reduction | None = None,
    *,
    include_stopped: bool = False,
) -> SeedSeries:
    """The series that a selection leaves.

    Args:
        results: of an experiment.
        of: which rows.
        over: the column or path of the setting that is x. Rows without one (``layer`` outside layers) drop out.
        reduce: makes one number per seed of the numbers along x.
        include_stopped: whether the numbers of a run that a stop rule ended count all the same.

    Raises:
        NothingSelected: a key is unknown, or nothing is selected though everything has run.
        LabError: more than one number is left per seed and x.
    """
    if reduce is not None and over is None:
        raise LabError(Issue("missing", "reduce", f"'{reduce}' of what?", "say over which column or path: over: layer"))
    selected = Selected(results, of, over)
    runs, rows = selected.endings, selected.rows
    if quantity_fact(of, "across") and any_unfinished(runs):  # numbers that compare runs may still move
        rows = rows.clear()
    if rows.is_empty() and _all_ended(runs):
        raise NothingSelected(selected.why_empty)
    rows = _with_x(rows, over)
    runs = _with_x(runs, over if over in runs.columns else None)
    if rows.is_empty() and _all_ended(runs):
        remedy = "select rows that have one, or leave it out"
        raise NothingSelected(Issue("empty-selection", "over", f"no selected row has a {over}", remedy))
    numbered = _with_x(selected.leading, over if over in runs.columns else None) if rows.is_empty() else rows
    _refuse_ambiguous(results, numbered, over)
    # An x at which every run failed has no row, and a seed lacks its number there all the same.
    levels = pl.concat([rows["x"], runs["x"].cast(rows["x"].dtype)]).drop_nulls().n_unique() if over else 1
    ended_runs = runs.with_columns(pl.col("status").replace(STOPPED, "finished")) if include_stopped else runs
    facts = quantity_fact(of, "needs"), quantity_fact(of, "unmet")
    observed = _complete_series(rows, ended_runs, levels, reduce, *facts)
    if (limit := quantity_fact(of, "bimodal")) is not None:
        value = pl.col("value").filter(pl.col("value").is_finite())
        spans = rows.group_by("variant", "x").agg(span=value.max() - value.min())["span"].drop_nulls()
        widest = float(spans.max() or 0.0)  # type: ignore[arg-type]
        observed = replace(observed, bimodal=widest if widest > limit else None)
    if over != "step":
        return observed
    # A seed that diverged before a measurement that was due has failed, whatever numbers it has before.
    missed = selected.missing
    return replace(
        observed,
        numbers=observed.numbers.filter(~pl.col("seed").is_in(list(missed))),
        failed=dict(sorted({**observed.failed, **missed}.items())),
        unmet=observed.unmet - missed.keys(),
        trained=observed.trained or bool(missed),
    )


def _all_ended(runs: pl.DataFrame) -> bool:
    """Whether every run has ended, and one has finished if there is any. A missing number is then final."""
    return not any_unfinished(runs) and (runs.is_empty() or "finished" in runs["status"])


def series_quotient(a: SeedSeries, b: SeedSeries) -> SeedSeries:
    """``a / b`` at every seed and x that both have. A seed counts only where both have all their numbers."""
    pairs = a.numbers.join(b.numbers, on=["seed", "x"], nulls_equal=True, maintain_order="left")
    ratio = pl.when(pl.col("value_right") != 0).then(pl.col("value") / pl.col("value_right"))
    return SeedSeries(numbers=pairs.select("seed", "x", value=ratio), **vars(joint_fates(a, b)))


def joint_fates(*sides: SeedFates) -> SeedFates:
    """What became of the seeds of a comparison: pending before excluded, and excluded before failed."""
    pending = {seed for side in sides for seed in side.pending}
    excluded = {seed: why for side in sides for seed, why in side.excluded.items() if seed not in pending}
    apart = pending | excluded.keys()
    failed = {seed: why for side in sides for seed, why in side.failed.items() if seed not in apart}
    return SeedFates(
        failed=failed,
        unmet=frozenset(failed).difference(*(side.diverged for side in sides)),
        excluded=excluded,
        pending=tuple(sorted(pending)),
        trained=any(side.trained for side in sides),
        bimodal=max((side.bimodal for side in sides if side.bimodal is not None), default=None),
        clusters={seed: cluster for side in sides for seed, cluster in side.clusters.items()},
    )


def _with_x(frame: pl.DataFrame, over: str | None) -> pl.DataFrame:
    """The rows that have an x, a number or a word as its column is. Without ``over`` it is null.

    The place on a line, which is called x too, goes to ``_LINE_PLACE``.
    """
    if "x" in frame.columns:
        frame = frame.with_columns(pl.col("x").alias(_LINE_PLACE))
    if over is None:
        return frame.with_columns(x=pl.lit(None, dtype=pl.Float64))
    frame = frame.drop_nulls(over)
    return frame.with_columns(x=pl.col(over).cast(pl.Float64 if frame.schema[over].is_numeric() else pl.String))


def _refuse_ambiguous(results: Results, rows: pl.DataFrame, over: str | None) -> None:
    """Refuse two numbers of one seed at one x, and name what still tells them apart."""
    duplicates = rows.filter(pl.struct("seed", "x").is_duplicated())
    if duplicates.is_empty():
        return
    seed, x = duplicates.row(0, named=True)["seed"], duplicates.row(0, named=True)["x"]
    same_x = pl.col("x").eq_missing(pl.lit(x, dtype=duplicates.schema["x"]))
    duplicates = duplicates.filter(pl.col("seed").eq(seed) & same_x)
    differing = [
        f"{k} ({', '.join(v)})" for k, v in varying_columns(results, duplicates).items() if len(v) > 1 and k != over
    ]
    count = f"{seed_word()} {seed} has {len(duplicates)} numbers" + ("" if over is None else f" at {over} {x}")
    if differing:
        raise LabError(
            Issue("ambiguous", "of", f"{count}: {'; '.join(differing)}", "select one of each, or name one as 'over'")
        )
    raise LabError(
        Issue(
            "duplicate",
            "of",
            f"{count} of the same quantity and site",
            "measured twice; keep one of them",
        )
    )


def varying_columns(results: Results, rows: pl.DataFrame) -> dict[str, list[str]]:
    """Every axis and every column that tells a site, with the values that the rows have there."""
    axes = (
        results.axes.filter(pl.col("run").is_in(rows["run"].implode())).group_by("axis").agg(pl.col("label").unique())
    )
    axis_labels = {axis: sorted(labels) for axis, labels in axes.sort("axis").iter_rows()}
    columns = {name: name for name in _IDENTITY} | {"x": _LINE_PLACE}
    site_values = {label: rows[column].unique() for label, column in columns.items() if column in rows.columns}
    return axis_labels | {label: sorted(map(str, values.to_list())) for label, values in site_values.items()}


def _complete_series(
    rows: pl.DataFrame,
    runs: pl.DataFrame,
    levels: int,
    reduce: Reduction | None,
    needs: str | None,
    unmet: str | None,
) -> SeedSeries:
    """Complete seeds with their numbers, and the others with their fate."""
    finite = rows.filter(pl.col("value").is_finite())
    counts = finite.group_by("seed").agg(pl.len(), late=pl.col("step").max() > 0)
    # A number taken after step 0 of a run that its rule ended is that of a cut run.
    stopped_seeds = runs.filter(pl.col("status") == STOPPED)["seed"].implode()
    complete = counts.filter(pl.col("len").eq(levels) & ~(pl.col("late") & pl.col("seed").is_in(stopped_seeds)))["seed"]
    numbers = finite.filter(pl.col("seed").is_in(complete.implode())).select("seed", "x", "value").sort("seed", "x")
    if reduce is not None:
        seeds = numbers.group_by("seed", maintain_order=True).agg("value")
        values = [REDUCTIONS[reduce](of_seed) for of_seed in seeds["value"].to_list()]
        schema = {"seed": pl.Int64, "x": pl.Float64, "value": pl.Float64}
        numbers = pl.DataFrame({"seed": seeds["seed"], "x": [None] * len(values), "value": values}, schema=schema)
    others = sorted(set(runs["seed"]) - set(complete))
    fates = {
        seed: fate_without_numbers(rows.filter(seed=seed), runs.filter(seed=seed), needs, unmet) for seed in others
    }
    return SeedSeries(
        numbers=numbers,
        failed={seed: why for seed, (fate, why) in fates.items() if fate in ("failed", "unmet")},
        unmet=frozenset(seed for seed, (fate, _) in fates.items() if fate == "unmet"),
        excluded={seed: why for seed, (fate, why) in fates.items() if fate == "excluded"},
        pending=tuple(seed for seed, (fate, _) in fates.items() if fate == "pending"),
        trained=bool((rows["step"] > 0).any()) or trained_elsewhere(runs),
        clusters=clusters_of(runs),
    )


def clusters_of(runs: pl.DataFrame) -> dict[int, str]:
    """The cluster of each seed, where the runs say that seeds are not independent."""
    stated = {} if runs.is_empty() else json.loads(runs["setting"][0]).get(CLUSTERS, {})
    return {seed: cluster for cluster, seeds in stated.items() for seed in seeds}


def trained_elsewhere(runs: pl.DataFrame) -> bool:
    """Whether any of these runs was trained outside lnlab, at steps that its table does not state."""
    return bool(runs["setting"].str.json_path_match(f"$.{TRAINED_ELSEWHERE}").is_not_null().any())
