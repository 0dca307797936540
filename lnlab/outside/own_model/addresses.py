"""Addresses of the parameters of any module, from tables of patterns: the user's, then those of known families.

    {"blocks.{layer}.fc": "feed_forward.w1", "blocks.{layer}.attn.qkv": "self_attention.q/k/v"}

A pattern names a module, or one parameter. ``{layer}`` is a number that counts from 0. An address is
``[stack.]sublayer[.tensor]``. If it has the tensor ``w1``, the module's ``weight`` is ``w1`` and its ``bias`` is
``b1``, as in lnlab's own models. The two are ``scale`` and ``shift`` in a norm whose address has no tensor. A fused
parameter has several tensors: ``q/k/v`` lie above one another, as the rows of ``nn.Linear``, and ``q|k|v`` side by
side, as the columns of GPT-2's ``Conv1D``. ``8(q/k/v)`` are 8 times q, k and v in turn, as in GPT-NeoX, where each of 8
heads has its q, k and v beside one another. A parameter that no pattern matches keeps the path of its module as its
sublayer, and its own name as its tensor. The same holds for one whose address in a known family another parameter has
as well.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from lnlab.nn.site import Site
from lnlab.outside.own_model.patterns import (
    PatternRule,
    base_of,
    known_families,
    layer_of,
    read_rule,
    refuse,
    refuse_unmatched,
)

_NORM_TENSORS = {"weight": "scale", "bias": "shift"}
_MEASURABLE = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
_PARAMETER = r"(?:\.(?P<own>[^.]+))?"


@dataclass(frozen=True)
class Address:
    """Where a parameter belongs: one site, or one for each of its equal parts along ``dim``.

    With ``repeats`` above 1 all parts come so often in turn, and a site has every turn of its own.
    """

    sites: tuple[Site, ...]
    dim: int = 0
    repeats: int = 1

    def split(self, whole: Tensor) -> list[Tensor]:
        """The part of each site."""
        # (..., repeats, parts, entries of one part, ...): each part is gathered over all turns.
        turns = torch.unflatten(whole, self.dim, (self.repeats, len(self.sites), -1))
        return [part.flatten(self.dim, self.dim + 1) for part in turns.unbind(self.dim + 1)]

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """The whole again."""
        turns = [torch.unflatten(part, self.dim, (self.repeats, -1)) for part in parts]
        return torch.stack(turns, self.dim + 1).flatten(self.dim, self.dim + 2)


def parameter_addresses(model: nn.Module, patterns: Mapping[str, str]) -> dict[str, Address]:
    """The address of every parameter of a module, by its name. A tied one has that of its first name with a match.

    Raises:
        LabError: there is no parameter, one has no gradient by its type, a pattern cannot be read or matches nothing,
            two patterns match one parameter, it has no such parts, or two parameters would have one address.
    """
    rules = [read_rule(pattern, address, "sites", _PARAMETER) for pattern, address in patterns.items()]
    names: dict[int, list[str]] = {}  # every name of a tied parameter, as a pattern may match any of them
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if is_lazy(parameter):
            refuse(f"the parameter '{name}' has no size yet", "call the model on a batch once, in build(seed)")
        names.setdefault(id(parameter), []).append(name)
    if not names:
        refuse(f"{type(model).__name__} has no parameters", "give a model with weights: built, and not quantized")
    matched: set[str] = set()
    declared: dict[str, Address | None] = {}
    for name, parameter in model.named_parameters():
        declared[name] = None
        for alias in names[id(parameter)]:
            matches = [(rule, address) for rule in rules if (address := _address(rule, model, alias)) is not None]
            if len(matches) > 1:
                both = " and ".join(f"'{rule.pattern}'" for rule, _ in matches)
                refuse(f"the patterns {both} in sites= both match '{alias}'", "leave one of them out")
            matched.update(rule.pattern for rule, _ in matches)
            if declared[name] is None and matches:
                declared[name] = matches[0][1]
    refuse_unmatched(patterns, matched, "sites", "parameter and no module that has one", next(iter(declared)))
    recognised = _recognised(model, names, declared)
    addresses = {name: declared[name] or recognised.get(name) or _own_path(name) for name in declared}
    _check(model, addresses)
    return addresses


def _check(model: nn.Module, addresses: Mapping[str, Address]) -> None:
    """Refuse parameters without a gradient or without the parts of their address, and addresses that two have."""
    owners: dict[Site, str] = {}
    for name, address in addresses.items():
        parameter = model.get_parameter(name)
        if parameter.is_complex():
            what = f"the parameter '{name}' is {parameter.dtype}, and probes read real numbers"
            refuse(what, "store torch.view_as_real of it, and take torch.view_as_complex in the model")
        if not parameter.is_floating_point():
            what = f"the parameter '{name}' is {parameter.dtype}, which has no gradient"
            refuse(what, "make it a buffer; of a quantized model, load the weights in a floating-point type")
        if parameter.dtype not in _MEASURABLE or parameter.layout is not torch.strided:
            what = f"the parameter '{name}' is {parameter.dtype}, {parameter.layout}, in which torch computes little"
            refuse(what, "convert it to a dense tensor of float32, float64, bfloat16 or float16")
        parts = address.repeats * len(address.sites)
        if parts > 1 and (parameter.dim() == 0 or parameter.shape[address.dim] % parts):
            what = f"the parameter '{name}' of shape {tuple(parameter.shape)} has no {parts} equal parts"
            refuse(what, "write q/k/v for parts above one another, q|k|v for parts side by side, or one tensor")
        for site in address.sites:
            if site in owners:
                layer = None if site.layer is None else f"layer {site.layer}"
                written = " ".join(filter(None, (site.stack, layer, site.sublayer, site.tensor)))
                what = f"the parameters '{owners[site]}' and '{name}' have one address, {written}"
                refuse(what, "give them different addresses in sites=, or {layer} a place in the pattern")
            owners[site] = name


def _recognised(
    model: nn.Module, names: Mapping[int, list[str]], declared: Mapping[str, Address | None]
) -> dict[str, Address]:
    """The addresses that known families give to parameters without a declared one, if nothing else has them."""
    # By the path of a module of a known family its rules, each with what stands before its pattern in names.
    tables: dict[str, list[tuple[str, PatternRule]]] = {}
    for path, family in known_families(model):
        for pattern, written in family.sites.items():
            rule = read_rule(pattern, written, "sites", _PARAMETER, certain=bool(family.origin))
            tables.setdefault(path, []).append((base_of(path, pattern), rule))
    addresses: dict[str, Address] = {}
    for name, parameter in model.named_parameters():
        candidates = (
            address
            for alias in names[id(parameter)]
            for depth in range(alias.count("."), -1, -1)  # from the innermost module outwards, as it knows best
            for base, rule in tables.get(".".join(alias.split(".")[:depth]), ())
            if (address := _address(rule, model, alias, base)) is not None
        )
        if declared[name] is None and (address := next(candidates, None)) is not None:
            addresses[name] = address
    others = [address for address in declared.values() if address is not None]
    # Own paths are counted, too: the parameters that are left over have them as their addresses.
    count = Counter(site for address in (*addresses.values(), *others) for site in address.sites)
    count.update(site for name, _ in model.named_parameters() for site in _own_path(name).sites)
    return {name: a for name, a in addresses.items() if all(count[site] == 1 for site in a.sites)}


def _address(rule: PatternRule, model: nn.Module, name: str, base: str = "") -> Address | None:
    """The address of the parameter of that name below ``base``, or None where the pattern does not match."""
    match = rule.regex.fullmatch(name, len(base))
    if match is None:
        return None
    owner = model.get_submodule(name.rpartition(".")[0])
    if not rule.certain and len(rule.tensors) > 1:
        # If the code of a class was copied, its name does not say that the parts are equal. Square matrices do.
        weight, parts = getattr(owner, "weight", None), len(rule.tensors)
        if not isinstance(weight, nn.Parameter) or weight.dim() != 2 or weight.shape[0] != parts * weight.shape[1]:
            return None
    tensors = [_tensor(owner, name, match["own"], tensor) for tensor in rule.tensors or (None,)]
    # The bias of matrices that lie side by side has one dimension alone.
    dim = min(int(rule.sideways), model.get_parameter(name).dim() - 1)
    return Address(
        tuple(Site(rule.stack, layer_of(match), rule.sublayer, tensor) for tensor in tensors), dim, rule.repeats
    )


def _tensor(owner: nn.Module, name: str, own: str | None, tensor: str | None) -> str:
    """What a parameter of a module is called: ``own`` is its name there, or None where the pattern is of itself."""
    if own is None:
        return tensor or name.rpartition(".")[2]
    if tensor is None:
        weight = getattr(owner, "weight", None)
        is_norm = isinstance(weight, nn.Parameter) and weight.dim() == 1
        return _NORM_TENSORS.get(own, own) if is_norm else own
    if own == "bias":
        return f"b{tensor.removeprefix('w')}"
    return tensor if own == "weight" else f"{own}_{tensor}"


def _own_path(name: str) -> Address:
    path, _, tensor = name.rpartition(".")
    return Address((Site(None, None, path or None, tensor),))
