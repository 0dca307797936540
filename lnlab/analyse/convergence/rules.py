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
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, isfinite
from typing import Annotated

from pydantic import Field

from lnlab.registry import Registry

_DEFAULT_EPOCHS = 10
"""Into how many parts a curve is cut where nobody says how long an epoch is."""
DIVERGENCE_FACTOR = 2.0
"""Times the loss before any update: a run whose mean over an epoch lies above has diverged, even if it comes back."""
_ROOM = 0.1
"""Nats by which an epoch that learns nothing may lie above the loss before any update."""
_Room = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class LossCurve:
    """A loss along one run, as rules see it.

    Attributes:
        start: before any update, in nats: of a whole split, or what stands for it.
        means: over each epoch in turn, or at each evaluation after the start, in nats.
        entropy: of the labels, in nats. None where it is not known.
        diverged: whether the run did.
        censored: whether a rule ended it while its loss was finite, so that its end is unknown.
    """

    start: float
    means: tuple[float, ...]
    entropy: float | None = None
    diverged: bool = False
    censored: bool = False


_Rule = Callable[[LossCurve], bool | None]
convergences: Registry[_Rule] = Registry("convergence")
"""Builders ``(curve: LossCurve, *, ...) -> bool | None``: whether it converged; None if too little of it is there."""


def epoch_means(points: Sequence[tuple[int, float]], epoch: float | None) -> tuple[float, ...]:
    """The means of losses of single batches. A rest of at least half an epoch is an epoch of its own.

    Args:
        points: (updates made before, loss of the next batch), rising, at least one point.
        epoch: updates an epoch. None means a tenth of the run.
    """
    epoch_length = epoch or (points[-1][0] + 1) / _DEFAULT_EPOCHS
    epochs: dict[int, list[float]] = {}
    for step, loss in points:
        epochs.setdefault(int(step // epoch_length), []).append(loss)
    losses = list(epochs.values())
    if len(losses) > 1 and 2 * len(losses[-1]) < len(losses[-2]):
        losses[-2:] = [losses[-2] + losses[-1]]
    # NaN or infinite where one is; ``fsum`` would refuse infinities of both signs.
    return tuple(fsum(epoch) / len(epoch) if all(map(isfinite, epoch)) else math.nan for epoch in losses)


@convergences.register("stable")
def stable(curve: LossCurve, *, room: _Room = _ROOM) -> bool | None:
    """``ρ(e, L_e) <= 0 and L_n <= L_0 + room``: a loss that does not rise (Spearman, 1904).

    A run diverges by a loss that is not finite, or by a mean over an epoch above twice that before any update. ``room``
    is in nats. What does not learn anything may be stable.
    """
    return _contained(curve) and curve.means[-1] <= curve.start + room and _spearman_sign(curve.means) <= 0


@convergences.register("learned")
def learned(curve: LossCurve, *, share: Annotated[float, Field(gt=0, lt=1)] = 0.125) -> bool | None:
    """``L_n < (1 - share) H``: a loss below that of the frequencies of the labels by a share of it (Shannon, 1948).

    An eighth of the 0.9157 nats of Financial PhraseBank makes 0.80. What came before the last epoch does not matter, if
    it was finite.
    """
    if not (finite := _finite(curve, curve.means)):
        return finite
    return None if curve.entropy is None else curve.means[-1] < (1 - share) * curve.entropy


@convergences.register("unstuck")
def unstuck(curve: LossCurve, *, margin: Annotated[float, Field(ge=0)] = 0.01, room: _Room = _ROOM) -> bool | None:
    """``L_n < H - margin or L_e < L_(e-1) for e > n/2``: learns, or is still at it (after Prechelt, 1998).

    Stuck is a run that ends no better than the frequencies of the labels and has stopped falling; one that is slow,
    falls in each epoch of the second half and ends no higher than it began is not. ``margin`` is in nats. Runs diverge,
    and have ``room``, as in ``stable``.
    """
    if not (contained := _contained(curve)):
        return contained
    last = curve.means[-1]
    if curve.entropy is not None and last < curve.entropy - margin:
        return True
    return last <= curve.start + room and _still_falls(curve)


@convergences.register("settled")
def settled(curve: LossCurve, *, room: _Room = _ROOM) -> bool | None:
    """``L_n <= max(L_0, H) + room``: ends finite and no worse than it began, however high in between (Yu, 2024).

    ``room`` is in nats. Runs must be let go on while their loss is finite (``stop: non_finite``): of one that another
    rule ended nobody knows whether it would have settled.
    """
    if curve.censored:
        return None
    # Only the end is judged: a loss in between need not even be finite.
    return _finite(curve, curve.means[-1:]) and curve.means[-1] <= max(curve.start, curve.entropy or 0.0) + room


def _finite(curve: LossCurve, means: Sequence[float]) -> bool | None:
    """Whether a run did not diverge and these losses are finite, or None if it hardly began."""
    if curve.diverged or not all(map(isfinite, (curve.start, *means))):
        return False
    return True if means else None


def _contained(curve: LossCurve) -> bool | None:
    """The same of all its losses, none of which is above twice that before any update."""
    return _finite(curve, curve.means) and max(curve.means) <= DIVERGENCE_FACTOR * curve.start


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
