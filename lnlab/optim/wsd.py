"""``1`` until the last share of a run, then down to ``floor``: warm-up, stable, decay (Hu et al., 2024)."""

import math
from typing import Annotated, Literal

from pydantic import Field

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.optim.annealing import Floor
from lnlab.optim.schedules import Factor, Warmup, schedules, warmup_factor


@schedules.register("wsd")
def wsd(
    steps: int,
    *,
    warmup_steps: Warmup = 0,
    decay: Annotated[float, Field(gt=0, le=1)] = 0.1,
    shape: Literal["linear", "sqrt", "cosine", "exponential"] = "linear",
    floor: Floor = 0.0,
) -> Factor:
    """``min(t/T, 1) (1 - (1 - floor) s(p))``: constant, then down over the last ``decay`` of a run (Hu et al., 2024).

    p = (t - S) / (steps - S) with S = (1 - decay) steps, and s(p) is p, sqrt(p) or (1 - cos π p) / 2; ``exponential``
    is floor^p. Its mean is higher than that of ``linear`` at the same peak, so give each its own best rate.

    Raises:
        LabError: an exponential decay to 0.
    """
    if shape == "exponential" and floor == 0:
        remedy = "give schedule.floor, such as 0.1"
        raise LabError(Issue("unsupported", "schedule.floor", "an exponential decay does not come to 0", remedy))
    start = (1 - decay) * steps

    def factor(t: int) -> float:
        p = min(max(t - start, 0.0) / max(steps - start, 1.0), 1.0)
        if shape == "exponential":
            return float(warmup_factor(t, warmup_steps) * floor**p)
        s = {"linear": p, "sqrt": math.sqrt(p), "cosine": (1 - math.cos(math.pi * p)) / 2}[shape]
        return float(warmup_factor(t, warmup_steps) * (1 - (1 - floor) * s))

    return factor
