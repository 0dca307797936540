"""The sites at which a probe has a number, as they follow from the model alone: the fact ``sites`` of a probe.

A quantity whose sites depend on more, such as a tensor of zeros that has no ratio, is left out: nothing is known of it.
"""

from collections.abc import Mapping, Sequence

from torch import nn

from lnlab.nn.sites import Site
from lnlab.nn.transformer import Layer, Stack

Known = Mapping[str, Sequence[Site]]
"""Quantity -> every site at which it has a number."""


def everywhere(quantities: Sequence[str], sites: Sequence[Site]) -> Known:
    """The same sites for all of these quantities."""
    return dict.fromkeys(quantities, sites)


def stream(model: nn.Module) -> list[Site]:
    """Where ``lnlab.nn.sites.activations`` has a tensor, without a forward pass.

    ``in``, ``branch``, ``sum`` and ``out`` of every sublayer, and ``out`` of the embedding and of the final norm.
    """
    found = []
    for name, module in model.named_modules():
        if isinstance(module, Stack):
            ends = [end for end in ("embedding", "final_norm") if getattr(module, end) is not None]
            found += [Site(name, None, end, "out") for end in ends]
        if isinstance(module, Layer):
            stack, _, number = name.split(".")
            tensors = [(sublayer, tensor) for sublayer in module.sublayers for tensor in ("in", "branch", "sum", "out")]
            found += [Site(stack, int(number) + 1, sublayer, tensor) for sublayer, tensor in tensors]
    return found
