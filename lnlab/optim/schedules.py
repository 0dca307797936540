"""Schedules of the learning rate, ``() -> factor``: the registry of all, warm-up, and a constant rate after it.

Update t = 1, 2, ... is made with the rate lr * factor(t), and a factor is a function of t alone. There is no counter
that could be wrong after a run is resumed. A schedule that depends on the total has the parameter ``steps``, one that
counts in epochs ``epoch`` (updates per epoch). lnlab supplies both.

Warm-up over T = ``warmup_steps`` updates multiplies by min(t / T, 1): the first update has 1/T and the T-th 1 (Goyal et
al., 2017). T = 0 and T = 1 both mean none. In a formula with T, 0 stands for 1. A spec may give T as a share of the
run, a number between 0 and 1: a builder receives the updates that it comes to.
"""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from lnlab.registry import Registry

Factor = Callable[[int], float]
Warmup = Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)]
schedules: Registry[Callable[..., Factor]] = Registry("schedule")


def warmup_factor(t: int, warmup_steps: float) -> float:
    """``min(t / T, 1)`` of update t, counted from 1, with T = ``warmup_steps``. T = 0 counts as 1."""
    return min(t / max(warmup_steps, 1), 1.0)


@schedules.register("constant")
def constant(*, warmup_steps: Warmup = 0) -> Factor:
    """``min(t/T, 1)``: the full rate, after a linear warm-up over T updates (Goyal et al., 2017)."""
    return lambda t: warmup_factor(t, warmup_steps)
