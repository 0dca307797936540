"""The parts of a stack, as builders without their widths."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from lnlab.nn.attention import attentions
from lnlab.nn.linear import LinearBuilder
from lnlab.nn.norms import norms
from lnlab.nn.placements import LayerSpec, placements
from lnlab.registry import Choice


@dataclass(frozen=True)
class Parts:
    """The parts of one stack.

    Attributes:
        layers: number of layers.
        norm: ``(width) -> module``.
        placement: ``(layer spec) -> module`` of one layer.
        attention: ``(width, heads, linear) -> module``.
        cross_attention: whether a decoder attends to the encoder's output. It is False in an encoder.
    """

    layers: int
    norm: Callable[[int], nn.Module]
    placement: Callable[[LayerSpec], nn.Module]
    attention: Callable[[int, int, LinearBuilder], nn.Module]
    cross_attention: bool = False


def parts_of(stack: Choice) -> Parts:
    """The parts that a resolved setting names under ``encoder`` or ``decoder``."""
    return Parts(
        layers=stack["layers"],
        norm=norms.builder(stack["norm"]),
        placement=placements.builder(stack["placement"]),
        attention=attentions.builder(stack["attention"]),
        cross_attention=stack.get("cross_attention", False),
    )
