r"""Has a run converged? Rules that decide it from a loss along training, and from nothing else.

    stable:   L_e falls with e (Spearman's rho <= 0), and L_n <= L_0 + room
    learned:  L_n < (1 - share) H
    unstuck:  L_n < H - margin,  or  L_e < L_(e-1) for every e > n/2, and L_n <= L_0 + room
    settled:  L_n <= max(L_0, H) + room

L_0 is the loss before any update, of a whole split or else H, and never of one batch: that of 32 sentences may be half
or twice the whole's. L_e is its mean over epoch e (where it was evaluated, its values), n the last epoch, and H the
entropy of the labels, the loss of a model that knows their frequencies and nothing else. No rule knows of learning
rates, so none can be fitted to a table of them. Nothing says which rule a table of C and N was made by. ``stable``
passes every run that ends no higher than it began, frozen models too. ``learned`` fails every run that is too slow for
its epochs. ``unstuck`` fails runs that end no better than the frequencies and no longer fall, and passes a slow run
that still falls. ``settled`` judges the end alone, so it passes a run whose loss rose to any height and came back to
the frequencies.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum, isfinite
from typing import Annotated, Literal

from pydantic import Field

from lnlab.registry import Registry

_DEFAULT_EPOCHS = 10
"""Into how many parts a curve is cut where nobody says how long an epoch is."""
DIVERGENCE_FACTOR = 2.0
"""Times the loss before any update: a run whose mean over an epoch lies above has diverged, even if it comes back."""
_ROOM = 0.1
"""Nats by which an epoch that learns nothing may lie above the loss before any update."""
_Room = Annotated[float, Field(ge=0)]

JudgementCause = Literal["converged", "diverged", "no better", "rising", "stuck", "too slow", "short"]


@dataclass(frozen=True)
class LossCurve:
    """A loss along one run, as rules see it.

    Attributes:
        start: before any update, in nats: of a whole split, or what stands for it.
        means: over each epoch in turn, or at each evaluation after the start, in nats.
        entropy: of the labels, in nats. None where it is not known.
        divergence: how the run diverged, in words. Empty where it did not.
        censored: whether a rule ended it while its loss was finite, so that its end is unknown.
    """

    start: float
    means: tuple[float, ...]
    entropy: float | None = None
    divergence: str = ""
    censored: bool = False


@dataclass(frozen=True)
class Judgement:
    """What a rule says of a run.

    Attributes:
        converged: or not.
        why: in a word. ``short`` means that too little of the curve is there.
        reason: in a sentence.
    """

    converged: bool
    why: JudgementCause
    reason: str


_Rule = Callable[[LossCurve], Judgement]
convergences: Registry[_Rule] = Registry("convergence")
"""Builders ``(curve: Curve, *, ...) -> Judged``: pure functions of one curve."""


def curve_of_batches(
    points: Sequence[tuple[int, float]],
    epoch: float | None,
    start: float,
    entropy: float | None = None,
    divergence: str = "",
) -> LossCurve:
    """The epoch means of losses of single batches. A rest of at least half an epoch is an epoch of its own.

    Args:
        points: (updates made before, loss of the next batch), rising, at least one point.
        epoch: updates an epoch. None means a tenth of the run.
        start: as in ``LossCurve``. The loss of the first batch does not qualify.
        entropy: as in ``LossCurve``.
        divergence: as in ``LossCurve``.
    """
    epoch_length = epoch or (points[-1][0] + 1) / _DEFAULT_EPOCHS
    epochs: dict[int, list[float]] = {}
    for step, loss in points:
        epochs.setdefault(int(step // epoch_length), []).append(loss)
    losses = list(epochs.values())
    if len(losses) > 1 and 2 * len(losses[-1]) < len(losses[-2]):
        losses[-2:] = [losses[-2] + losses[-1]]
    # NaN or infinite where one is; ``fsum`` would refuse infinities of both signs.
    means = [fsum(epoch) / len(epoch) if all(map(isfinite, epoch)) else math.nan for epoch in losses]
    return LossCurve(start, tuple(means), entropy, divergence)


def curve_of_evaluations(
    points: Sequence[tuple[int, float]], entropy: float | None = None, divergence: str = ""
) -> LossCurve:
    """The curve of evaluations, of which the first is the start."""
    return LossCurve(points[0][1], tuple(loss for _, loss in points[1:]), entropy, divergence)


@convergences.register("stable")
def stable(curve: LossCurve, *, room: _Room = _ROOM) -> Judgement:
    """``ρ(e, L_e) <= 0 and L_n <= L_0 + room``: a loss that does not rise (Spearman, 1904).

    A run diverges by a loss that is not finite, or by a mean over an epoch above twice that before any update. ``room``
    is in nats. What does not learn anything may be stable.
    """
    if failure := divergence_judgement(curve) or _no_better(curve, room):
        return failure
    if _spearman_sign(curve.means) > 0:
        return Judgement(False, "rising", f"its loss rises over epochs, to {curve.means[-1]:.4g}")
    return Judgement(True, "converged", f"its loss falls from {curve.start:.4g} to {curve.means[-1]:.4g}")


@convergences.register("learned")
def learned(curve: LossCurve, *, share: Annotated[float, Field(gt=0, lt=1)] = 0.125) -> Judgement:
    """``L_n < (1 - share) H``: a loss below that of the frequencies of the labels by a share of it (Shannon, 1948).

    An eighth of the 0.9157 nats of Financial PhraseBank makes 0.80. What came before the last epoch does not matter, if
    it was finite.
    """
    if failure := _unusable(curve):
        return failure
    if curve.entropy is None:
        return Judgement(False, "short", "the entropy of its labels is not known")
    last = curve.means[-1]
    level = (1 - share) * curve.entropy
    if last < level:
        return Judgement(True, "converged", f"its loss ends at {last:.4g}, below {level:.4g}")
    why: JudgementCause = "too slow" if _still_falls(curve) else "stuck"
    return Judgement(False, why, f"its loss ends at {last:.4g}, not below {level:.4g}")


@convergences.register("unstuck")
def unstuck(curve: LossCurve, *, margin: Annotated[float, Field(ge=0)] = 0.01, room: _Room = _ROOM) -> Judgement:
    """``L_n < H - margin or L_e < L_(e-1) for e > n/2``: learns, or is still at it (after Prechelt, 1998).

    Stuck is a run that ends no better than the frequencies of the labels and has stopped falling; one that is slow,
    falls in each epoch of the second half and ends no higher than it began is not. ``margin`` is in nats. Runs diverge,
    and have ``room``, as in ``stable``.
    """
    if failure := divergence_judgement(curve):
        return failure
    last = curve.means[-1]
    if curve.entropy is not None and last < curve.entropy - margin:
        return Judgement(True, "converged", f"its loss ends at {last:.4g}, below the entropy {curve.entropy:.4g}")
    if failure := _no_better(curve, room):
        return failure
    if _still_falls(curve):
        return Judgement(True, "converged", f"its loss still falls, to {last:.4g}")
    return Judgement(False, "stuck", f"its loss is stuck at {last:.4g}")


@convergences.register("settled")
def settled(curve: LossCurve, *, room: _Room = _ROOM) -> Judgement:
    """``L_n <= max(L_0, H) + room``: ends finite and no worse than it began, however high in between (Yu, 2024).

    ``room`` is in nats. Runs must be let go on while their loss is finite (``stop: non_finite``): of one that another
    rule ended nobody knows whether it would have settled.
    """
    if curve.censored:
        return Judgement(False, "short", "a stop rule ended it while its loss was finite")
    # Only the end is judged: a loss in between need not even be finite.
    if failure := _unusable(replace(curve, means=curve.means[-1:])):
        return failure
    last = curve.means[-1]
    level = max(curve.start, curve.entropy or 0.0) + room
    if last <= level:
        return Judgement(True, "converged", f"its loss ends at {last:.4g}, no more than {level:.4g}")
    return Judgement(False, "no better", f"its loss ends at {last:.4g}, above {level:.4g}")


def divergence_judgement(curve: LossCurve) -> Judgement | None:
    """The judgement that a curve is broken or exceeds twice its start, or None if it does neither."""
    if failure := _unusable(curve):
        return failure
    for epoch, mean in enumerate(curve.means, 1):
        if mean > DIVERGENCE_FACTOR * curve.start:
            reason = f"its mean loss in epoch {epoch} is {mean:.4g}, above twice that at the start, {curve.start:.4g}"
            return Judgement(False, "diverged", reason)
    return None


def _unusable(curve: LossCurve) -> Judgement | None:
    """The judgement that a run diverged, has a number that is not finite, or hardly began. None for any other run."""
    if curve.divergence:
        return Judgement(False, "diverged", curve.divergence)
    if not all(map(isfinite, (curve.start, *curve.means))):
        return Judgement(False, "diverged", "its loss is not finite")
    return None if curve.means else Judgement(False, "short", "nothing was measured after its start")


def _no_better(curve: LossCurve, room: float) -> Judgement | None:
    last = curve.means[-1]
    if last <= curve.start + room:
        return None
    return Judgement(False, "no better", f"its loss ends at {last:.4g}, above that at the start, {curve.start:.4g}")


def _still_falls(curve: LossCurve) -> bool:
    """Whether each epoch of the second half is below the one before."""
    # The start stands in front, so that the slice begins one epoch before the second half.
    half = (curve.start, *curve.means)[len(curve.means) // 2 :]
    return all(later < earlier for earlier, later in pairwise(half))


def _spearman_sign(values: Sequence[float]) -> float:
    """A number with the sign of Spearman's rho against the order. Equal values share their rank."""
    middle = (len(values) - 1) / 2
    ordered = sorted(values)
    # A rank lies half-way between the number of smaller values and that of values no larger.
    ranks = [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in values]
    return fsum((position - middle) * rank for position, rank in enumerate(ranks))
