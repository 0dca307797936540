"""From the tuning runs of a plan to its decisions: a pure function of frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median

import polars as pl

from lnlab.analyse.tuning.rules import TuningTrial, rules
from lnlab.compile.decisions import Decision, TuningCandidate, Undecided
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.select.settings import settings_of
from lnlab.tables import Results


@dataclass(frozen=True)
class _Ending:
    """How a run ended: its status, the final validation NLL (infinite if it diverged) and the entropy of targets."""

    status: str
    loss: float
    entropy: float | None

    def as_json(self) -> list[Json]:
        return [self.status, self.loss if isfinite(self.loss) else None, self.entropy]


_Endings = dict[tuple[str, int], _Ending]


def decide_tuning(questions: Sequence[Undecided], results: Results) -> tuple[Decision, ...]:
    """The decision on each question.

    Args:
        questions: what the runs of a plan are to choose.
        results: of that plan. Every run has ended.

    Raises:
        LabError: a run has no validation NLL, or what a rule needs.
    """
    endings = _endings(results)
    settings = settings_of(results).by_variant
    tasks = {variant: canonical(setting.get("task")) for variant, setting in settings.items()}
    # Questions on one task share their reference, so that candidates of one are measured against those of another.
    lowest: dict[str, float] = {}
    for question in questions:
        for _, variant in question.candidates:
            median_loss = median(endings[variant, seed].loss for seed in question.seeds)
            lowest[tasks[variant]] = min(lowest.get(tasks[variant], inf), median_loss)
    decisions = []
    for question in questions:
        reference = min(lowest[tasks[variant]] for _, variant in question.candidates)
        candidate_endings = [[endings[variant, seed] for seed in question.seeds] for _, variant in question.candidates]
        values = [value for value, _ in question.candidates]
        trials = [
            TuningTrial(
                value, tuple(ending.loss for ending in seed_endings), tuple(ending.entropy for ending in seed_endings)
            )
            for value, seed_endings in zip(values, candidate_endings, strict=True)
        ]
        chosen = rules.builder(dict(question.rule))(trials, reference)
        rows: list[Json] = [
            [variant, seed, *ending.as_json()]
            for (_, variant), seed_endings in zip(question.candidates, candidate_endings, strict=True)
            for seed, ending in zip(question.seeds, seed_endings, strict=True)
        ]
        # A decision is kept as JSON, which has no infinity: a run that diverged has no loss there.
        candidates = tuple(
            TuningCandidate(t.value, s if isfinite(s) else None, tuple(x if isfinite(x) else None for x in t.losses))
            for t, s in zip(trials, chosen.scores, strict=True)
        )
        decisions.append(
            Decision(
                key=question.key,
                path=question.path,
                about=question.about,
                rule=question.rule,
                seeds=question.seeds,
                value=values[chosen.number],
                met=chosen.met,
                statistic=chosen.statistic,
                reason=chosen.reason,
                candidates=candidates,
                rows=digest([reference if isfinite(reference) else None, *rows]),
            )
        )
    return tuple(decisions)


def _endings(results: Results) -> _Endings:
    """How each run ended, by variant and seed.

    Raises:
        LabError: one that finished has no validation NLL.
    """
    losses = _last(results.tables["curves"], "validation", "nll")
    entropies = _last(results.tables["curves"], "train", "unigram_entropy")
    endings: _Endings = {}
    for run, variant, seed, status in results.runs.select("run", "variant", "seed", "status").iter_rows():
        loss = inf if status == "diverged" else losses.get(run)
        if loss is None:
            what = f"seed {seed} of variant {variant[:12]} has no validation NLL"
            raise LabError(Issue("unsupported", "choose", what, "the task must have validation sentences"))
        # NaN has no order: it ranks with what diverged.
        endings[variant, seed] = _Ending(status, loss if isfinite(loss) else inf, entropies.get(run))
    return endings


def _last(curves: pl.DataFrame, split: str, quantity: str) -> dict[str, float]:
    """The last value of a curve, by run."""
    rows = curves.filter((pl.col("split") == split) & (pl.col("quantity") == quantity)).sort("step")
    return dict(rows.group_by("run", maintain_order=True).last().select("run", "value").iter_rows())
