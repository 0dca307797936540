"""``[rule(L) says converged]``: which runs have converged, by every rule and of every loss that was recorded.

A loss is identified by its ``split`` and by the ``statistics`` that norms over the batch use: in training those of the
batch at hand, in an evaluation the running ones. A batch norm may fail in one of the two only (Wang et al., 2022).

    train, batch          the losses of the training batches, as means over epochs. Their start is the nll of a whole
                          split before any update (``_STARTS``), or else the entropy of the labels
    validation, running   the nll at each evaluation
    train, running        the same of the training split, where ``evaluation`` measures it
    validation, batch     with the statistics of validation batches, where ``batch_evaluation`` measures it
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.analyse.convergence.rules import LossCurve, convergences, epoch_means
from lnlab.analyse.quantities.training import recorded_curve
from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities
from lnlab.tables import ENDED_STATUSES, Results, computed_once, table_schema

_LOSS_QUANTITIES = ("loss", "epoch_loss", "nll", "batch_nll", "unigram_entropy", "epoch")
_NEEDS = "a loss at more than one step, and what it was before any update"
_DROP_SHARE = 0.9
"""Of the drop of a loss, what makes it converged in time."""
_EVALUATED = (("validation", "running", "nll"), ("train", "running", "nll"), ("validation", "batch", "batch_nll"))
_STARTS = (("train", "nll"), ("validation", "batch_nll"), ("validation", "nll"))
"""Where the loss before any update is read, the first that was evaluated at step 0. In evaluation mode a fresh batch
norm is the identity, so a split's nll with the statistics of its batches comes before the one without."""
_Points = list[tuple[int, float]]


@dataclass(frozen=True)
class LossRecord:
    """A loss along one run, and where it was measured.

    Attributes:
        run: its key, with ``variant`` and ``seed``.
        step: the last one.
        split: of the loss.
        statistics: that norms over the batch took.
        steps: the updates made at each of the curve's means.
        curve: as rules see it.
    """

    run: str
    variant: str
    seed: int
    step: int
    split: str
    statistics: str
    steps: tuple[int, ...]
    curve: LossCurve


def decisive_losses(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that decide convergence, without finite losses of single batches where a run has epoch means."""
    recorded = rows.filter(pl.col("quantity") == "epoch_loss")["run"].unique().implode()
    batches = (pl.col("quantity") == "loss") & (pl.col("split") == "train") & pl.col("run").is_in(recorded)
    return rows.filter(~batches | ~pl.col("value").is_finite())


CONVERGENCE_FACTS: dict[str, Any] = {
    "of": _LOSS_QUANTITIES,
    "reads": decisive_losses,
    "trained": True,
    "whole_run": True,
}


@quantities.register(
    "converged",
    bimodal=0.5,
    words=QuantityWords("convergence", "1 if it has", "whether a run has converged by the rule that is named"),
    needs=_NEEDS,
    **CONVERGENCE_FACTS,
)
def converged(results: Results) -> pl.DataFrame:
    """``[rule(L)]``: 1 where a run has converged by a ``rule`` on the loss of a ``split``, else 0 (Yu, 2024).

    ``statistics`` says of which mode where both were measured. A run that diverged has not converged.
    """
    return _rows(results, "converged", lambda _, has_converged: float(has_converged))


@quantities.register(
    "time_to_converge",
    words=QuantityWords("time to converge", "updates", "to nine tenths of the drop of the loss; ∞ without convergence"),
    needs=_NEEDS,
    **CONVERGENCE_FACTS,
)
def time_to_converge(results: Results) -> pl.DataFrame:
    """``min {t : L_t <= L_0 - 0.9 (L_0 - min L)}``: updates to nine tenths of the drop of a loss (Dahl et al., 2023).

    Infinite where a run has not converged by the ``rule``: a median over seeds ranks it worst.
    """
    return _rows(
        results,
        "time_to_converge",
        lambda course, has_converged: _time_to_drop(course) if has_converged else math.inf,
    )


def _time_to_drop(course: LossRecord) -> float:
    """The updates to nine tenths of the drop of a loss, infinite where it never drops."""
    loss_curve = course.curve
    level = loss_curve.start - _DROP_SHARE * (loss_curve.start - min(loss_curve.means))
    reached = [step for step, mean in zip(course.steps, loss_curve.means, strict=True) if mean <= level]
    # A loss that never falls below its start would be at this level at once.
    return float(reached[0]) if reached and level < loss_curve.start else math.inf


@computed_once
def loss_records(results: Results) -> Sequence[LossRecord]:
    """Every loss of every run that has finished or diverged, in the order of the plan.

    A run that diverged before a loss was recorded that others have is listed as diverged, without a curve.
    """
    ended = results.runs.filter(pl.col("steps") > 0, pl.col("status").is_in(ENDED_STATUSES))
    entropy = {run: points[0][1] for run, points in _points(results, "unigram_entropy", "train").items()}
    losses = pl.col("quantity").is_in(["loss", "nll", "batch_nll", "epoch_loss"])
    # Runs of which some loss is not finite: nothing but that ends a run for good.
    exploded = set(results.rows("curves", losses, ~pl.col("value").is_finite())["run"])
    records: list[LossRecord] = []
    for split, statistics, by_run in _losses(results):
        for run, variant, seed, status in ended.select(*STATE[:3], "status").iter_rows():
            diverged = status == "diverged"
            steps, start, means = by_run.get(run, ((), math.nan, ()))
            if diverged or run in by_run:
                loss_curve = LossCurve(
                    start=start,
                    means=means,
                    entropy=entropy.get(run),
                    diverged=diverged,
                    censored=diverged and run not in exploded,
                )
                last = steps[-1] if steps else 0
                records.append(
                    LossRecord(
                        run=run,
                        variant=variant,
                        seed=seed,
                        step=last,
                        split=split,
                        statistics=statistics,
                        steps=steps,
                        curve=loss_curve,
                    )
                )
    return tuple(records)


def loss_quantity_rows(rows: list[tuple[object, ...]], name: str) -> pl.DataFrame:
    """Rows of a quantity without a site: those of ``STATE``, ``split``, ``statistics``, ``rule`` and ``value``."""
    types = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}
    types |= {"split": pl.String, "statistics": pl.String, "rule": pl.String, "value": pl.Float64}
    sites = [pl.lit(None, table_schema("sites")[column]).alias(column) for column in SITE]
    frame = pl.DataFrame(rows, schema=types, orient="row").drop_nulls("value")
    return frame.select(*STATE, pl.lit(name).alias("quantity"), *sites, "split", "statistics", "rule", "value")


def _rows(results: Results, name: str, statistic: Callable[[LossRecord, bool], float]) -> pl.DataFrame:
    """A number of every loss of every run by every rule. No rule can judge a loss that was measured once."""
    rules = {entry.name: convergences.builder(convergences.resolve(entry.name)) for entry in convergences}
    rows: list[tuple[object, ...]] = []
    for course in loss_records(results):
        for rule, converges in rules.items():
            if (has_converged := converges(course.curve)) is not None:
                state = (course.run, course.variant, course.seed, course.step)
                rows.append((*state, course.split, course.statistics, rule, statistic(course, has_converged)))
    return loss_quantity_rows(rows, name)


_Loss = dict[str, tuple[tuple[int, ...], float, tuple[float, ...]]]
"""By run: where its means were taken, its start, and the means."""


def _losses(results: Results) -> Iterator[tuple[str, str, _Loss]]:
    """Each loss that any run has, by split and statistics."""
    if batches := _batch_losses(results):
        yield "train", "batch", batches
    for split, statistics, quantity in _EVALUATED:
        if points := _points(results, quantity, split):
            losses: _Loss = {}
            for run, ((_, start), *later) in points.items():
                losses[run] = tuple(step for step, _ in later), start, tuple(loss for _, loss in later)
            yield split, statistics, losses


def _batch_losses(results: Results) -> _Loss:
    """Epoch means of the losses of training batches, as training recorded them or else from its single losses."""
    losses = _points(results, "loss", "train")
    recorded = _points(results, "epoch_loss", "train")
    # The loss before any update: of a whole split, or else the entropy of the labels.
    starts = {run: points[0][1] for run, points in _points(results, "unigram_entropy", "train").items()}
    # What is written last stays: the first of ``_STARTS`` that a run has.
    for split, quantity in reversed(_STARTS):
        first_points = {run: points[0] for run, points in _points(results, quantity, split).items()}
        starts |= {run: loss for run, (step, loss) in first_points.items() if step == 0}
    # Updates an epoch: those of the last record over the passes that they made.
    lengths = {run: t / n for run, epochs in _points(results, "epoch", "train").items() for t, n in epochs[-1:] if n}
    batch_losses: _Loss = {}
    for run in losses | recorded:
        if run not in starts:
            continue
        if run in recorded:
            steps, means = zip(*recorded[run], strict=True)
            batch_losses[run] = steps, starts[run], means
        else:
            points = losses[run]
            means = epoch_means(points, lengths.get(run))
            # A loss at step t is that of the batch of the next update.
            last = points[-1][0] + 1
            length = lengths.get(run) or last / len(means)
            epoch_ends = (min(math.ceil(n * length), last) for n in range(1, len(means)))
            batch_losses[run] = (*epoch_ends, last), starts[run], means
    return batch_losses


def _points(results: Results, quantity: str, split: str) -> dict[str, _Points]:
    """By run: (step, value), rising in step."""
    rows = recorded_curve(results, quantity, split).group_by("run", maintain_order=True).agg("step", "value")
    return {run: list(zip(steps, values, strict=True)) for run, steps, values in rows.iter_rows()}
