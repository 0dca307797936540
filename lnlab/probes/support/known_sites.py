"""The sites at which a probe has a number, derived from the model alone, for the fact ``sites`` of a probe.

A quantity whose sites depend on more, such as a ratio that a tensor of zeros lacks, is left out.
"""

from collections.abc import Mapping, Sequence

from torch import nn

from lnlab.nn.site import AddressedModel
from lnlab.nn.sites import Site
from lnlab.nn.transformer import Layer, stacks

SitesByQuantity = Mapping[str, Sequence[Site]]
"""Quantity -> every site at which it has a number."""


def at_all_sites(quantities: Sequence[str], sites: Sequence[Site]) -> SitesByQuantity:
    """The same sites for all of these quantities."""
    return dict.fromkeys(quantities, sites)


def stream_sites(model: nn.Module) -> list[Site]:
    """Where ``lnlab.nn.sites.activations`` has a tensor, without a forward pass.

    Every sublayer has ``in``, ``branch``, ``sum`` and ``out``. The embedding and the final norm have ``out``. A model
    from elsewhere has tensors where its stream is known.
    """
    if isinstance(model, AddressedModel):
        return list(model.stream)
    sites = []
    for name, stack in stacks(model).items():
        outer = [sublayer for sublayer in ("embedding", "final_norm") if getattr(stack, sublayer) is not None]
        sites += [Site(name, None, sublayer, "out") for sublayer in outer]
        for number, layer in enumerate(stack.layers, 1):
            sublayers = layer.sublayers if isinstance(layer, Layer) else ()
            tensors = [(sublayer, tensor) for sublayer in sublayers for tensor in ("in", "branch", "sum", "out")]
            sites += [Site(name, number, sublayer, tensor) for sublayer, tensor in tensors]
    return sites
