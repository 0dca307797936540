"""``t^-1/2``: schedules that fall as the inverse square root of the update (Vaswani et al., 2017).

They do not depend on the length of the run.
"""

from typing import Annotated, Literal

from pydantic import Field

from lnlab.optim.schedules import Factor, Warmup, schedules, warmup_factor

_Count = Annotated[int, Field(ge=1)]


@schedules.register("inverse_sqrt")
def inverse_sqrt(
    *, warmup_steps: Warmup = 0, anchor: _Count | None = None, form: Literal["literal", "shifted"] = "literal"
) -> Factor:
    """``min(t/T, 1) min(1, sqrt(A/t))``: warm-up, and a decay that begins at its anchor A (Vaswani et al., 2017).

    Without ``anchor`` A is T, which is the literal schedule of fairseq: t/T up to update T, sqrt(T/t) from there. Then
    warm-up sets the decay too, and less of it means a rate that falls earlier: at update 4,000 the factor is 1/63
    without warm-up and 1 with T = 4,000. To change the ramp alone give every arm the same ``anchor``: the factor is
    min(t/T, 1) decay(t) with the same decay in all of them, continuous, and below 1 at T if A < T.

    ``form: shifted`` decays from the first update on, by sqrt(A / (A + t)): with ``anchor: 4000`` and no warm-up it is
    the schedule of T-Fixup (Huang et al., 2020).
    """
    start = anchor or max(warmup_steps, 1)

    def factor(t: int) -> float:
        decay = start / t if form == "literal" else start / (start + t)
        return float(warmup_factor(t, warmup_steps) * min(decay, 1.0) ** 0.5)

    return factor


@schedules.register("noam")
def noam(*, d_model: _Count, warmup_steps: Warmup = 4000, scale: Annotated[float, Field(gt=0)] = 1.0) -> Factor:
    """``scale d^-1/2 min(t^-1/2, t T^-3/2)``: the rate itself, so take ``lr: 1`` (Vaswani et al., 2017).

    At its peak, update T, it is scale / sqrt(d T): 7.0e-4 for d = 512 and T = 4,000. ``scale`` multiplies
    the rate.
    """
    peak = scale * (d_model * max(warmup_steps, 1)) ** -0.5
    literal = inverse_sqrt(warmup_steps=warmup_steps)
    return lambda t: peak * literal(t)
