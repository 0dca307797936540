"""From 1 at the end of warm-up to ``floor`` at the last update: schedules that need the total number of ``steps``.

With progress p = (t - T) / (steps - T), the factor is ``1 - (1 - floor) p`` (Liu et al., 2020), or the cosine from 1 to
``floor`` (Loshchilov and Hutter, 2017). As the total is part of the key, a longer run is another run from its first
update on.
"""

import math
from typing import Annotated

from pydantic import Field

from lnlab.optim.schedules import Factor, Warmup, schedules, warmup_factor

Floor = Annotated[float, Field(ge=0, le=1)]


def _progress(t: int, warmup_steps: float, steps: int) -> float:
    """p: 0 up to the end of warm-up, 1 from the last update on."""
    start = max(warmup_steps, 1)
    return min(max(t - start, 0) / max(steps - start, 1), 1.0)


@schedules.register("linear")
def linear(steps: int, *, warmup_steps: Warmup = 0, floor: Floor = 0.0) -> Factor:
    """``min(t/T, 1) (1 - (1 - floor) p)``: straight down, p = (t - T) / (steps - T) (Liu et al., 2020).

    ``floor`` is in units of the rate: the authors' least rate of 1e-9 at lr 3e-4 is 3.3e-6. With a floor of 0 the last
    update moves nothing.
    """
    return lambda t: warmup_factor(t, warmup_steps) * (1 - (1 - floor) * _progress(t, warmup_steps, steps))


@schedules.register("cosine")
def cosine(steps: int, *, warmup_steps: Warmup = 0, floor: Floor = 0.0) -> Factor:
    """``min(t/T, 1) (floor + (1 - floor)(1 + cos π p)/2)``: p = (t - T) / (steps - T) (Loshchilov and Hutter, 2017).

    One half period, without restarts. With a floor of 0 the last update moves nothing.
    """

    def factor(t: int) -> float:
        wave = (1 + math.cos(math.pi * _progress(t, warmup_steps, steps))) / 2
        return warmup_factor(t, warmup_steps) * (floor + (1 - floor) * wave)

    return factor
