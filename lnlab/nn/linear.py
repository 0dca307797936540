"""The linear maps of attention and feed-forward network, ``(fan_in, fan_out) -> module``: how a matrix is parametrized.

A map keeps its matrix as ``weight``, (fan_out, fan_in), which the init draws, and its bias as ``bias``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from lnlab.facts import Facts
from lnlab.registry import Registry

LinearBuilder = Callable[[int, int], nn.Module]


@dataclass(frozen=True)
class LinearFacts(Facts):
    """The facts of a linear map.

    Attributes:
        normalized: whether it divides its matrix by its size, so that a matrix of zeros has no direction.
    """

    normalized: bool = False


linears: Registry[Callable[..., nn.Module]] = Registry("linear", LinearFacts)


@linears.register("plain", later=("bias",))
def plain(fan_in: int, fan_out: int, *, bias: bool = True) -> nn.Module:
    """``x Wᵀ + b``: the matrix as it is (Vaswani et al., 2017).

    ``bias: false`` leaves out b, as Llama does.
    """
    return nn.Linear(fan_in, fan_out, bias)
