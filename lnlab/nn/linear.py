"""The linear maps of attention and feed-forward network, ``(fan_in, fan_out) -> module``: how a matrix is parametrized.

A map keeps its matrix as ``weight``, (fan_out, fan_in), which the init draws, and its bias as ``bias``. The tag
``normalized`` says that it divides its matrix by its size, so that a matrix of zeros has no direction.
"""

from collections.abc import Callable

from torch import nn

from lnlab.registry import Registry

Linear = Callable[[int, int], nn.Module]
linears: Registry[Callable[..., nn.Module]] = Registry("linear")


@linears.register("plain")
def plain(fan_in: int, fan_out: int) -> nn.Module:
    """``x Wᵀ + b``: the matrix as it is (Vaswani et al., 2017)."""
    return nn.Linear(fan_in, fan_out)
