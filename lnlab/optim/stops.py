"""Rules that end a run early, ``() -> rule``: a rule looks at the curves so far, and at nothing else.

It is called after the training loss of every update and after every evaluation, and its answer depends on the curves
alone, so a resumed run ends where the uninterrupted one does. No rule knows of claims. All of them end a run whose loss
is not finite.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from lnlab.errors import LabError
from lnlab.facts import Facts
from lnlab.issues import Issue
from lnlab.registry import Registry

Curves = Mapping[tuple[str, str], Sequence[tuple[int, float]]]
"""The points (step, value), rising in step, by split and quantity."""
_TRAINING = ("train", "loss")


@dataclass(frozen=True)
class Ending:
    """How a run ended (``diverged``, ``finished`` before its last update, or ``interrupted``), and why, in words.

    No rule returns ``interrupted``: a signal causes it, and the run goes on later.
    """

    status: Literal["diverged", "finished", "interrupted"]
    reason: str


Rule = Callable[[Curves], Ending | None]


@dataclass(frozen=True)
class StopFacts(Facts):
    """The facts of a stop rule.

    Attributes:
        evaluations: whether it sees the evaluations that ``train.evaluate`` requests, whose steps are then part of the
            run's key. The other rules see what training recorded.
    """

    evaluations: bool = False


stops: Registry[Callable[..., Rule]] = Registry("stop", StopFacts)


def unless_non_finite(rule: Rule) -> Rule:
    """Check whether a loss or an evaluation is not finite, and then the rule."""
    return lambda curves: non_finite_ending(curves) or rule(curves)


def non_finite_ending(curves: Curves) -> Ending | None:
    """The ending of a run whose last training loss, or last value of an evaluation, is not finite.

    A rule is called after every value, so the last ones are enough.
    """
    for (split, quantity), curve in curves.items():
        checked = (split, quantity) == _TRAINING or split != "train"
        if checked and curve and not math.isfinite(curve[-1][1]):
            return Ending("diverged", f"{split} {quantity} is {curve[-1][1]} at step {curve[-1][0]}")
    return None


@stops.register("non_finite")
def non_finite() -> Rule:
    """``|L| = ∞ or L ≠ L``: diverged at the first loss or evaluation that is no finite number (IEEE 754, 2019)."""
    return non_finite_ending


@stops.register("loss_above")
def loss_above(*, times: Annotated[float, Field(gt=1)] = 2.0, after: Annotated[int, Field(ge=0)] = 0) -> Rule:
    """``L_t > times L_0``: diverged when a training loss is that far above the first (after Prechelt, 1998).

    Losses of the first ``after`` updates are let pass: early on a large rate may throw a run far up and it comes back
    (Lewkowycz et al., 2020). It looks at single batches, so ``times`` has to clear their noise.
    """

    def rule(curves: Curves) -> Ending | None:
        losses = curves.get(_TRAINING)
        if not losses or losses[-1][0] < after or not losses[-1][1] > times * losses[0][1]:
            return None
        _, first = losses[0]
        step, last = losses[-1]
        what = f"train loss {last:.4g} at step {step} is above {times:g} times its first, {first:.4g}"
        return Ending("diverged", what)

    return unless_non_finite(rule)


@stops.register("target", evaluations=True)
def target(
    *,
    at_most: float,
    split: Literal["train", "validation"] = "validation",
    quantity: Literal["nll", "loss"] = "nll",
) -> Rule:
    """``L <= at_most``: finished once a curve has come down to a target, in nats (Coleman et al., 2017).

    On the training split it is the loss of one batch, as trained, that has to come down.

    Raises:
        LabError: the training split has no such curve.
    """
    if split == "train" and quantity != "loss":
        raise LabError(
            Issue("unsupported", "train.stop.quantity", "training has no curve of 'nll'", "write quantity: loss")
        )

    def rule(curves: Curves) -> Ending | None:
        curve = curves.get((split, quantity))
        if not curve or curve[-1][1] > at_most:
            return None
        step, value = curve[-1]
        return Ending("finished", f"{split} {quantity} {value:.4g} at step {step} has come down to {at_most:g}")

    return unless_non_finite(rule)


@stops.register("plateau", evaluations=True)
def plateau(*, patience: Annotated[int, Field(ge=1)] = 5, least: Annotated[float, Field(ge=0)] = 0.0) -> Rule:
    """``min of the last patience >= min before - least``: finished when no evaluation helps (Prechelt, 1998).

    Of the validation nll, in nats: the best of the last ``patience`` evaluations has to be below the best of those
    before them by more than ``least``.
    """

    def rule(curves: Curves) -> Ending | None:
        curve = curves.get(("validation", "nll"), ())
        values = [value for _, value in curve]
        before = values[:-patience]
        recent = values[-patience:]
        if not before or min(recent) < min(before) - least:
            return None
        what = f"at step {curve[-1][0]} none of {patience} evaluations has bettered validation nll {min(before):.4g}"
        return Ending("finished", what + (f" by more than {least:g}" if least else ""))

    return unless_non_finite(rule)
