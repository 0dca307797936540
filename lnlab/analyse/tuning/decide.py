"""From the tuning runs of a plan to its decisions: a pure function of frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median

import polars as pl

from lnlab.analyse.select.settings import settings
from lnlab.analyse.tuning.rules import Trial, rules
from lnlab.compile.decisions import Decision, Tried, Undecided
from lnlab.errors import LabError, Problem
from lnlab.keys import Json, canonical, digest
from lnlab.tables import Results


@dataclass(frozen=True)
class _End:
    """How a run ended: its status, the final validation NLL (infinite if it diverged) and the entropy of targets."""

    status: str
    loss: float
    entropy: float | None

    def as_json(self) -> list[Json]:
        return [self.status, self.loss if isfinite(self.loss) else None, self.entropy]


_Ends = dict[tuple[str, int], _End]


def decide(asked: Sequence[Undecided], results: Results) -> tuple[Decision, ...]:
    """The decision on each question.

    Args:
        asked: what the runs of a plan are to choose.
        results: of that plan; every run has ended.

    Raises:
        LabError: a run has no validation NLL, or what a rule needs.
    """
    ends = _ends(results)
    tasks = {variant: canonical(setting.get("task")) for variant, setting in settings(results).items()}
    lowest: dict[str, float] = {}
    for question in asked:
        for _, variant in question.candidates:
            found = median(ends[variant, seed].loss for seed in question.seeds)
            lowest[tasks[variant]] = min(lowest.get(tasks[variant], inf), found)
    references = (min(lowest[tasks[variant]] for _, variant in question.candidates) for question in asked)
    return tuple(_decided(question, ends, reference) for question, reference in zip(asked, references, strict=True))


def _decided(question: Undecided, ends: _Ends, reference: float) -> Decision:
    found = [[ends[variant, seed] for seed in question.seeds] for _, variant in question.candidates]
    values = [value for value, _ in question.candidates]
    trials = [
        Trial(value, tuple(e.loss for e in each), tuple(e.entropy for e in each))
        for value, each in zip(values, found, strict=True)
    ]
    chosen = rules.builder(dict(question.rule))(trials, reference)
    rows: list[Json] = [
        [variant, seed, *end.as_json()]
        for (_, variant), each in zip(question.candidates, found, strict=True)
        for seed, end in zip(question.seeds, each, strict=True)
    ]
    return Decision(
        key=question.key,
        path=question.path,
        about=question.about,
        rule=question.rule,
        seeds=question.seeds,
        value=values[chosen.number],
        met=chosen.met,
        statistic=chosen.statistic,
        reason=chosen.reason,
        candidates=tuple(
            Tried(t.value, s if isfinite(s) else None, tuple(x if isfinite(x) else None for x in t.losses))
            for t, s in zip(trials, chosen.scores, strict=True)
        ),
        rows=digest([reference if isfinite(reference) else None, *rows]),
    )


def _ends(results: Results) -> _Ends:
    """How each run ended, by variant and seed.

    Raises:
        LabError: one that finished has no validation NLL.
    """
    losses = _last(results.tables["curves"], "validation", "nll")
    entropies = _last(results.tables["curves"], "train", "unigram_entropy")
    found: _Ends = {}
    for run, variant, seed, status in results.runs.select("run", "variant", "seed", "status").iter_rows():
        loss = inf if status == "diverged" else losses.get(run)
        if loss is None:
            what = f"seed {seed} of variant {variant[:12]} has no validation NLL"
            raise LabError(Problem("select", what, "the task must have validation sentences"))
        found[variant, seed] = _End(status, loss if isfinite(loss) else inf, entropies.get(run))
    return found


def _last(curves: pl.DataFrame, split: str, quantity: str) -> dict[str, float]:
    """The last value of a curve, by run."""
    rows = curves.filter((pl.col("split") == split) & (pl.col("quantity") == quantity)).sort("step")
    return dict(rows.group_by("run", maintain_order=True).last().select("run", "value").iter_rows())
