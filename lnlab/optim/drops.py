"""``factor^k``: a rate that is constant between sudden drops (He et al., 2016)."""

from typing import Annotated

from pydantic import Field

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.optim.schedules import Factor, Warmup, schedules, warmup_factor

_Updates = tuple[Annotated[int, Field(ge=1)], ...]
_Epochs = tuple[Annotated[float, Field(gt=0)], ...]
_ROUNDING = 1e-6
"""A tolerance in updates: three updates of 517 / 3 batches are an epoch, though floats round it."""


@schedules.register("step")
def step(
    epoch: float | None,
    *,
    at: _Updates = (),
    epochs: _Epochs = (),
    factor: Annotated[float, Field(gt=0)] = 0.1,
    warmup_steps: Warmup = 0,
) -> Factor:
    """``min(t/T, 1) factor^k``: k drops are past, each after so many updates or epochs (He et al., 2016).

    ``at: [8000]`` makes update 8,001 the first with the new rate, ``epochs: [8]`` the first update that begins once 8
    epochs have been seen. Both may be given, and what is given twice counts twice. ``epoch``, how many updates an epoch
    has, is None where the data have no end.

    Raises:
        LabError: no drop is given, or one in epochs where there are none.
    """
    if not at and not epochs:
        raise LabError(
            Issue("missing", "schedule", "'step' is given no drop", "add at: [...] (updates), or epochs: [...]")
        )
    if epochs and epoch is None:
        what = "this task has no epochs: its data are endless"
        raise LabError(Issue("unsupported", "schedule.epochs", what, "give the drops in updates, as at: [...]"))
    # Before update t there have been t - 1, and a drop after n updates is the first thing that update n + 1 sees.
    drops = [*at, *(e * (epoch or 0.0) - _ROUNDING for e in epochs)]
    return lambda t: warmup_factor(t, warmup_steps) * factor ** sum(t - 1 >= drop for drop in drops)
