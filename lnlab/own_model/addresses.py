"""Addresses of the parameters of any module, from tables of patterns: the user's, then those of known families.

    {"blocks.{layer}.fc": "feed_forward.w1", "blocks.{layer}.attn.qkv": "self_attention.q/k/v"}

A pattern names a module, or one parameter; ``{layer}`` is a number that counts from 0. An address is
``[stack.]sublayer[.tensor]``. Of a module with the tensor ``w1``, ``weight`` is ``w1`` and ``bias`` is ``b1``, as in
lnlab's own models; of a norm without one, they are ``scale`` and ``shift``. A fused parameter has several tensors:
``q/k/v`` lie above one another, as the rows of ``nn.Linear``, and ``q|k|v`` side by side, as the columns of GPT-2's
``Conv1D``. A parameter that no pattern matches keeps the path of its module as its sublayer, and its own name as its
tensor; so does one whose address in a known family another parameter has as well.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from torch import nn

from lnlab.errors import LabError, Problem
from lnlab.nn.site import Site
from lnlab.own_model.families import FAMILIES
from lnlab.setting import STACKS

_LAYER = "{layer}"
_NORM_TENSORS = {"weight": "scale", "bias": "shift"}


@dataclass(frozen=True)
class Address:
    """Where a parameter belongs: one site, or one for each of its equal parts along ``dim``."""

    sites: tuple[Site, ...]
    dim: int = 0


@dataclass(frozen=True)
class _Rule:
    """One row of a table; ``certain`` where the module is known to be fused as it says."""

    pattern: str
    regex: re.Pattern[str]
    stack: str | None
    sublayer: str
    tensors: tuple[str, ...]
    dim: int
    certain: bool = True

    def address(self, model: nn.Module, name: str, base: str = "") -> Address | None:
        """The address of the parameter of that name below ``base``, or None where the pattern does not match."""
        match = self.regex.fullmatch(name, len(base))
        if match is None:
            return None
        owner = model.get_submodule(name.rpartition(".")[0])
        if not self.certain and len(self.tensors) > 1 and not _squares(owner, len(self.tensors)):
            return None
        groups = match.groupdict()
        layer = None if groups.get("layer") is None else int(groups["layer"]) + 1
        tensors = [_tensor(owner, name, groups["own"], t) for t in self.tensors or (None,)]
        dim = min(self.dim, model.get_parameter(name).dim() - 1)
        return Address(tuple(Site(self.stack, layer, self.sublayer, tensor) for tensor in tensors), dim)


def parameter_addresses(model: nn.Module, patterns: Mapping[str, str]) -> dict[str, Address]:
    """By the name of every parameter of a module its address; a tied one has that of its first name with a match.

    Raises:
        LabError: there is no parameter, one has no gradient by its type, a pattern cannot be read or matches nothing,
            two patterns match one parameter, it has no such parts, or two parameters would have one address.
    """
    rules = [_rule(pattern, address) for pattern, address in patterns.items()]
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    if not names:
        _refuse(f"{type(model).__name__} has no parameters", "give a model that has been built, weights included")
    matched: set[str] = set()
    declared = {name: _declared(model, names[id(p)], rules, matched) for name, p in model.named_parameters()}
    for rule in rules:
        if rule.pattern not in matched:
            _refuse(
                f"the pattern '{rule.pattern}' in sites= matches no parameter and no module that has one",
                f"write a path of this model, such as '{next(iter(declared))}'",
            )
    recognised = _recognised(model, names, {name for name, address in declared.items() if address is not None})
    addresses = {name: declared[name] or recognised.get(name) or _own_path(name) for name in declared}
    _check(model, addresses)
    return addresses


def _check(model: nn.Module, addresses: Mapping[str, Address]) -> None:
    """Refuse parameters without a gradient or without the parts of their address, and addresses that two have."""
    owners: dict[Site, str] = {}
    for name, address in addresses.items():
        parameter = model.get_parameter(name)
        if not parameter.is_floating_point():
            what = f"the parameter '{name}' is {parameter.dtype}, which has no gradient"
            _refuse(what, "measure the model before it is quantized")
        parts = len(address.sites)
        if parts > 1 and (parameter.dim() == 0 or parameter.shape[address.dim] % parts):
            what = f"the parameter '{name}' of shape {tuple(parameter.shape)} has no {parts} equal parts"
            _refuse(what, "write q/k/v for parts above one another, q|k|v for parts side by side, or one tensor")
        for site in address.sites:
            if site in owners:
                what = f"the parameters '{owners[site]}' and '{name}' have one address, {_written(site)}"
                _refuse(what, "give them different addresses in sites=, or {layer} a place in the pattern")
            owners[site] = name


def _declared(model: nn.Module, names: list[str], rules: list[_Rule], matched: set[str]) -> Address | None:
    """The address of a parameter with these names; the patterns that match are added to ``matched``."""
    first = None
    for name in names:
        matches = [(rule, address) for rule in rules if (address := rule.address(model, name)) is not None]
        if len(matches) > 1:
            patterns = " and ".join(f"'{rule.pattern}'" for rule, _ in matches)
            _refuse(f"the patterns {patterns} in sites= both match '{name}'", "leave one of them out")
        matched.update(rule.pattern for rule, _ in matches)
        if first is None and matches:
            first = matches[0][1]
    return first


def _recognised(model: nn.Module, names: Mapping[int, list[str]], declared: set[str]) -> dict[str, Address]:
    """The addresses that known families give to the other parameters, without those that are not unique."""
    tables = dict(_family_rules(model))
    addresses: dict[str, Address] = {}
    for name, parameter in model.named_parameters():
        candidates = (
            address
            for alias in names[id(parameter)]
            for root in _ancestors(alias)
            for base, rule in tables.get(root, ())
            if (address := rule.address(model, alias, base)) is not None
        )
        if name not in declared and (address := next(candidates, None)) is not None:
            addresses[name] = address
    count = Counter(site for address in addresses.values() for site in address.sites)
    count.update(site for name, _ in model.named_parameters() for site in _own_path(name).sites)
    return {name: a for name, a in addresses.items() if all(count[site] == 1 for site in a.sites)}


def _family_rules(model: nn.Module) -> Iterator[tuple[str, list[tuple[str, _Rule]]]]:
    """By the path of every module of a known family its rules, each with the path that its pattern is relative to."""
    for path, module in model.named_modules(remove_duplicate=False):
        families = [f for c in type(module).__mro__ for f in FAMILIES.get(c.__name__, ()) if f.describes(c)]
        rules = []
        for family in families:
            for pattern, address in family.sites.items():
                base = path.rpartition(".")[0] if pattern.startswith(_LAYER) else path
                rules.append((f"{base}." if base else "", _rule(pattern, address, certain=bool(family.origin))))
        if rules:
            yield path, rules


def _ancestors(name: str) -> Iterator[str]:
    """The paths of the modules around a parameter, from its own."""
    while name:
        name = name.rpartition(".")[0]
        yield name


def _squares(owner: nn.Module, parts: int) -> bool:
    """Whether the weight of a module is so many square matrices above one another."""
    weight = getattr(owner, "weight", None)
    return isinstance(weight, nn.Parameter) and weight.dim() == 2 and weight.shape[0] == parts * weight.shape[1]


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


def _rule(pattern: str, address: str, *, certain: bool = True) -> _Rule:
    """One row of a table, read."""
    words = address.split(".")
    stack = words.pop(0) if words[0] in STACKS and len(words) > 1 else None
    tensors = tuple(re.split(r"[/|]", words[1])) if len(words) == 2 else ()
    mixed = "/" in address and "|" in address
    if len(words) > 2 or mixed or not all(word.isidentifier() for word in (words[0], *tensors)):
        remedy = "write [encoder.|decoder.]sublayer[.tensor], and q/k/v or q|k|v for the parts of a fused tensor"
        _refuse(f"the address '{address}' in sites= cannot be read", remedy)
    if pattern.count(_LAYER) > 1:
        _refuse(f"the pattern '{pattern}' in sites= has {{layer}} more than once", "write the other number out")
    regex = re.escape(pattern).replace(re.escape(_LAYER), r"(?P<layer>\d+)") + r"(?:\.(?P<own>[^.]+))?"
    return _Rule(pattern, re.compile(regex), stack, words[0], tensors, int("|" in address), certain)


def _written(site: Site) -> str:
    layer = None if site.layer is None else f"layer {site.layer}"
    return " ".join(filter(None, (site.stack, layer, site.sublayer, site.tensor)))


def _refuse(what: str, remedy: str) -> NoReturn:
    raise LabError(Problem("measure", what, remedy))
