r"""Rules that choose one of several candidates by how training ended on tuning seeds.

    best:    argmin_c median_s L(c, s)
    safest:  argmin_c max_s L(c, s)
    failing: min {c: median_s phi(c, s) < below},   phi = (H1 - L) / (H1 - L_ref)

L is the final validation NLL in nats, infinite where the run diverged. H1 is the entropy of single targets, the loss of
a model that knows their frequencies and nothing else, so phi is the learned fraction. L_ref is the lowest median of all
candidates on the same task. A choice made on some seeds is judged on others, as the best of several is lucky (the
winner's curse: Capen, Clapp & Campbell, 1971).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median
from typing import Annotated

from pydantic import Field

from lnlab.compile.decisions import Grounds
from lnlab.errors import LabError
from lnlab.facts import Facts
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Registry


@dataclass(frozen=True)
class TuningTrial:
    """A candidate on the tuning seeds.

    Attributes:
        value: the candidate.
        losses: L of each seed.
        entropies: H1 of each seed. None where the run has none.
    """

    value: Json
    losses: tuple[float, ...]
    entropies: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class ChosenCandidate(Grounds):
    """What a rule chose.

    Attributes:
        number: of the candidate.
        scores: of each candidate.
    """

    number: int
    scores: tuple[float, ...]


@dataclass(frozen=True)
class RuleFacts(Facts):
    """What a rule says of itself.

    Attributes:
        numbers: whether it is only for candidates that are numbers.
    """

    numbers: bool = False


rules: Registry[Callable[..., ChosenCandidate]] = Registry("rule", RuleFacts)
"""Builders ``(trials: Sequence[TuningTrial], reference: float, *, ...) -> ChosenCandidate``. The reference is L_ref."""


@rules.register("best")
def best(trials: Sequence[TuningTrial], reference: float) -> ChosenCandidate:  # noqa: ARG001 - what the lab supplies
    """``argmin median L``: the lowest final validation NLL, with its own tuning for each arm (Choi et al., 2019).

    A run that diverged ranks worst; of equals, the first is chosen. Of an optimum at the edge of the candidates it is
    said that the true one may lie beyond.
    """
    return _lowest(trials, tuple(median(trial.losses) for trial in trials), "median")


@rules.register("safest")
def safest(trials: Sequence[TuningTrial], reference: float) -> ChosenCandidate:  # noqa: ARG001 - what the lab supplies
    """``argmin max L``: lowest final validation NLL on the worst tuning seed (Wald, 1945).

    For variants that train on some seeds and fail on others at the rate of the lowest median. A run that diverged ranks
    worst, and an optimum at the edge is pointed out, as in ``best``.
    """
    return _lowest(trials, tuple(max(trial.losses) for trial in trials), "worst")


def _lowest(trials: Sequence[TuningTrial], scores: tuple[float, ...], statistic: str) -> ChosenCandidate:
    """The first of the lowest scores."""
    number = min(range(len(scores)), key=scores.__getitem__)
    if not isfinite(scores[number]):
        reason = f"all {len(trials)} candidates diverged; the first goes on"
        return ChosenCandidate(number=number, met=False, statistic="validation NLL", scores=scores, reason=reason)
    reason = f"the best of {len(trials)} candidates, {statistic} validation NLL {scores[number]:.4g} nats"
    values = [trial.value for trial in trials]
    if len(values) > 1 and all(isinstance(value, int | float) for value in values):
        extremes = {min(values): "smallest", max(values): "largest"}
        if values[number] in extremes:
            reason += f"; it is the {extremes[values[number]]} one, so the optimum may lie beyond"
    return ChosenCandidate(number=number, met=True, statistic="validation NLL", scores=scores, reason=reason)


@rules.register("failing", numbers=True)
def failing(
    trials: Sequence[TuningTrial], reference: float, *, below: Annotated[float, Field(gt=0, lt=1)] = 0.25
) -> ChosenCandidate:
    """``min {c: median phi < below}``: the smallest that fails, as Post-LN without warm-up (Xiong et al., 2020).

    A candidate fails if it learns less than this fraction of what can be learned, phi = (H1 - L)/(H1 - L_ref). phi is
    0 for a diverged run, and for all runs where no candidate beats the unigram entropy of the targets. If none fails,
    the largest candidate is chosen.

    Raises:
        LabError: a run that did not diverge has no H1.
    """
    scores = tuple(median(trial_fractions(trial, reference)) for trial in trials)
    rising = sorted(range(len(trials)), key=lambda number: trials[number].value)
    failed = [number for number in rising if scores[number] < below]
    if failed:
        reason = f"the smallest of {len(trials)} candidates that fails, median learned fraction {scores[failed[0]]:.2g}"
        return ChosenCandidate(
            number=failed[0], met=True, statistic="learned fraction", scores=scores, reason=f"{reason} < {below:g}"
        )
    least = f"the lowest median learned fraction is {min(scores):.2g}, not below {below:g}"
    return ChosenCandidate(
        number=rising[-1],
        met=False,
        statistic="learned fraction",
        scores=scores,
        reason=f"none of the candidates fails: {least}; the largest goes on",
    )


def trial_fractions(trial: TuningTrial, reference: float) -> list[float]:
    """The learned fraction phi of each seed."""
    return [_phi(loss, h1, reference) for loss, h1 in zip(trial.losses, trial.entropies, strict=True)]


def _phi(loss: float, h1: float | None, reference: float) -> float:
    if loss == inf:
        return 0.0
    if h1 is None:
        what = "the task has no unigram entropy, so that no learned fraction is known"
        raise LabError(Issue("unsupported", "choose", what, "choose another rule, as best"))
    return (h1 - loss) / (h1 - reference) if h1 > reference else 0.0
