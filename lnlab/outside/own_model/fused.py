"""A copy of a model in which every part of a fused parameter is a parameter of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from lnlab.curvature.copies import module_copy
from lnlab.nn.site import AddressedModel, Site, StreamPoint, TokenMask
from lnlab.outside.own_model.addresses import Address


def addressed_copy(
    module: nn.Module,
    addresses: Mapping[str, Address],
    stream: Mapping[Site, StreamPoint],
    mask: TokenMask | None = None,
    memo: Mapping[int, Any] | None = None,
) -> tuple[AddressedModel, list[Tensor]]:
    """A deep copy with its addresses, and the fused parameters that its parts have replaced.

    ``memo`` is that of ``copy.deepcopy``. Gradients of embeddings are dense in the copy, as torch has no norm and no
    second derivative of sparse ones.
    """
    own = module_copy(module, memo)
    for part in own.modules():
        if isinstance(part, nn.Embedding | nn.EmbeddingBag):
            part.sparse = False
    names: dict[int, list[str]] = {}
    for name, parameter in own.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    fused = {name: own.get_parameter(name) for name, address in addresses.items() if len(address.sites) > 1}
    sites: dict[str, Site] = {}
    for name, address in addresses.items():
        if name not in fused:
            sites[name] = address.sites[0]
            continue
        parts = [nn.Parameter(part.clone()) for part in address.split(fused[name].detach())]
        for parameter in parts:
            parameter.requires_grad_(fused[name].requires_grad)
        for alias in names[id(fused[name])]:
            part_names = _replace(own, alias, parts, address)
            sites |= {} if alias != name else dict(zip(part_names, address.sites, strict=True))
    return AddressedModel(own, sites, stream, mask), list(fused.values())


def _replace(model: nn.Module, name: str, parts: Sequence[nn.Parameter], address: Address) -> list[str]:
    """Replace a parameter by its parts, from which it is then computed. Return the names of the parts.

    Part 1 of ``attn.qkv.weight`` is ``attn.qkv.part_1.weight``, so that the same part of a bias stands beside it.
    """
    path, _, word = name.rpartition(".")
    owner = model.get_submodule(path)
    holders = [f"part_{number}" for number in range(len(parts))]
    if word in owner._parameters:  # a module with two names is met twice
        del owner._parameters[word]
        for holder, part in zip(holders, parts, strict=True):
            if holder not in owner._modules:
                owner.add_module(holder, nn.Module())
            owner.get_submodule(holder).register_parameter(word, part)

        def join(self: nn.Module) -> Tensor:
            return address.join([getattr(self._modules[holder], word) for holder in holders])

        # A property belongs to a class, so that this module gets one of its own.
        owner.__class__ = type(type(owner).__name__, (type(owner),), {word: property(join)})
    return [f"{path}.{holder}.{word}".lstrip(".") for holder in holders]


def printed_paths(model: nn.Module, addresses: Mapping[str, Address]) -> dict[Site, str]:
    """The name of the parameter of each site. The rows or columns of a part follow the name of a fused one."""
    paths: dict[Site, str] = {}
    for name, address in addresses.items():
        turn = model.get_parameter(name).shape[address.dim] // address.repeats if len(address.sites) > 1 else 0
        size = turn // len(address.sites)
        every = f" of every {turn}" if address.repeats > 1 else ""
        for number, site in enumerate(address.sites):
            part = f"[{':, ' * address.dim}{number * size}:{(number + 1) * size}{every}]" if size else ""
            paths[site] = f"{name}{part}"
    return paths
