"""The sites at which a probe has a number, derived from the model alone, for the fact ``sites`` of a probe.

A quantity that may lack a number at some of them, such as a ratio that a tensor of zeros lacks, states them all. One
whose sites depend on more than the model is left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from lnlab.nn.attention import DotProductAttention
from lnlab.nn.site import AddressedModel
from lnlab.nn.sites import Site, parameter_uses
from lnlab.nn.transformer import Layer, stacks

PlacesByQuantity = Mapping[str, Sequence[Mapping[str, Any]]]
"""Quantity -> the columns of every place at which it has a number: those of a site, and ``index``. {} is the model."""


def at_all_sites(quantities: Sequence[str], sites: Sequence[Site]) -> PlacesByQuantity:
    """The same sites for all of these quantities."""
    rows = [site.row() for site in sites]
    return dict.fromkeys(quantities, rows)


def of_the_model(quantities: Sequence[str]) -> PlacesByQuantity:
    """One number of the whole model for each of these quantities."""
    return dict.fromkeys(quantities, ({},))


def along_a_line(quantities: Sequence[str], places: Sequence[float]) -> PlacesByQuantity:
    """A number of the model at each of these places on a line for each of these quantities."""
    rows = [{"x": x} for x in places]
    return dict.fromkeys(quantities, rows)


def parameter_sites(model: nn.Module, *, matrices: bool = False, vectors: bool = False) -> list[Site]:
    """Every use of every parameter, or of those with two axes and more, or of those with fewer."""
    return [site for site, p in parameter_uses(model) if not ((matrices and p.dim() < 2) or (vectors and p.dim() > 1))]


def attention_sites(model: nn.Module) -> list[Site]:
    """The logits of every attention."""
    return [site for site, _ in _attentions(model)]


def attention_heads(quantities: Sequence[str], model: nn.Module) -> PlacesByQuantity:
    """Every head of every attention. Of a model from elsewhere they are known only when it runs."""
    if isinstance(model, AddressedModel):
        return {}
    places = [{**site.row(), "index": n} for site, heads in _attentions(model) for n in range(1, heads + 1)]
    return dict.fromkeys(quantities, places)


def _attentions(model: nn.Module) -> list[tuple[Site, int]]:
    """The site of every attention's logits, with the number of its heads."""
    return [
        (Site(name, number, sublayer, "logits"), module.heads)
        for name, stack in stacks(model).items()
        for number, layer in enumerate(stack.layers, 1)
        for sublayer, module in layer.named_children()
        if isinstance(module, DotProductAttention)
    ]


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
