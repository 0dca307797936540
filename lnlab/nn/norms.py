"""Normalization, ``(width) -> module``: the norms of one token's vector, and the registry of all norms.

The tag ``statistics`` says over what a norm takes its mean and variance: ``token``, ``sequence`` or ``batch``. In a
causal stack only ``token`` may stand: any wider statistic shows a position its future.
"""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field
from torch import nn

from lnlab.registry import Registry

Epsilon = Annotated[float, Field(gt=0)]
norms: Registry[Callable[..., nn.Module]] = Registry("norm")


@norms.register("layer", statistics="token")
def layer(width: int, *, eps: Epsilon = 1e-5) -> nn.Module:
    """``(x - mean(x)) / sqrt(var(x) + eps) * scale + shift``: over the coordinates of a token (Ba et al., 2016)."""
    return nn.LayerNorm(width, eps)


@norms.register("rms", statistics="token")
def rms(width: int, *, eps: Epsilon = 1e-6) -> nn.Module:
    """``x / sqrt(mean(x²) + eps) * scale``: no centring and no shift (Zhang and Sennrich, 2019)."""
    return nn.RMSNorm(width, eps)


@norms.register("none", statistics="token", identity=True)
def none(width: int) -> nn.Module:  # noqa: ARG001
    """``x``: no normalization, and no parameters (Zhang, Dauphin and Ma, 2019)."""
    return nn.Identity()
