"""``(x - mean) / sqrt(var + eps)`` and ``x / sqrt(mean(x²) + eps)`` of one token's vector.

Layer norm is from Ba et al. (2016), RMSNorm from Zhang and Sennrich (2019). A norm is built from its width. All norms
are registered in ``norms``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from torch import nn

from lnlab.facts import Facts, never
from lnlab.registry import Choice, Registry

NormEpsilon = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class NormFacts(Facts):
    """The facts of a norm.

    Attributes:
        statistics: the scope of its mean and variance. A causal stack allows only ``token``, as any wider statistic
            depends on later positions.
        coordinatewise: ``(choice, width)``, whether each coordinate is centred separately, over a sentence.
        identity: whether it does nothing.
    """

    statistics: Literal["token", "sequence", "batch"]
    coordinatewise: Callable[[Choice, int], bool] = never
    identity: bool = False


norms: Registry[Callable[..., nn.Module]] = Registry("norm", NormFacts)


@norms.register("layer", statistics="token")
def layer(width: int, *, eps: NormEpsilon = 1e-5) -> nn.Module:
    """``(x - mean(x)) / sqrt(var(x) + eps) * scale + shift``: over the coordinates of a token (Ba et al., 2016)."""
    return nn.LayerNorm(width, eps)


@norms.register("rms", statistics="token")
def rms(width: int, *, eps: NormEpsilon = 1e-6) -> nn.Module:
    """``x / sqrt(mean(x²) + eps) * scale``: no centring and no shift (Zhang and Sennrich, 2019)."""
    return nn.RMSNorm(width, eps)


@norms.register("none", statistics="token", identity=True)
def none(width: int) -> nn.Module:  # noqa: ARG001
    """``x``: no normalization, and no parameters (Zhang, Dauphin and Ma, 2019)."""
    return nn.Identity()
