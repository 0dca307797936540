"""Addresses of the parameters of any module, from a table of patterns.

    {"blocks.{layer}.attn.qkv": "self_attention.qkv"}

A pattern names a module, or one parameter; ``{layer}`` is a number that counts from 0. An address is
``[stack.]sublayer[.tensor]``. Of a module with the tensor ``qkv``, ``weight`` is ``qkv`` and ``bias`` is ``bqkv``, as
in lnlab's own models; of a norm without one, they are ``scale`` and ``shift``. A parameter that no pattern matches
keeps the path of its module as its sublayer, and its own name as its tensor.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from torch import nn

from lnlab.errors import LabError, Problem
from lnlab.nn.site import Site
from lnlab.setting import STACKS

_LAYER = "{layer}"
_NORM_TENSORS = {"weight": "scale", "bias": "shift"}


@dataclass(frozen=True)
class _Rule:
    """One row of the table."""

    pattern: str
    regex: re.Pattern[str]
    stack: str | None
    sublayer: str
    tensor: str | None

    def site(self, model: nn.Module, name: str) -> Site | None:
        """The address of the parameter of that name, or None where the pattern does not match."""
        match = self.regex.fullmatch(name)
        if match is None:
            return None
        groups = match.groupdict()
        layer = None if groups.get("layer") is None else int(groups["layer"]) + 1
        return Site(self.stack, layer, self.sublayer, self._tensor(model, name, groups["own"]))

    def _tensor(self, model: nn.Module, name: str, own: str | None) -> str:
        if own is None:
            return self.tensor or name.rpartition(".")[2]
        if self.tensor is None:
            weight = getattr(model.get_submodule(name.rpartition(".")[0]), "weight", None)
            is_norm = isinstance(weight, nn.Parameter) and weight.dim() == 1
            return _NORM_TENSORS.get(own, own) if is_norm else own
        if own == "bias":
            return f"b{self.tensor.removeprefix('w')}"
        return self.tensor if own == "weight" else f"{own}_{self.tensor}"


def parameter_sites(model: nn.Module, patterns: Mapping[str, str]) -> dict[str, Site]:
    """By the name of every parameter of a module its address; a tied one has that of its first name with a match.

    Raises:
        LabError: there is no parameter, one has no gradient by its type, a pattern cannot be read or matches nothing,
            two patterns match one parameter, or two parameters would have one address.
    """
    rules = [_rule(pattern, address) for pattern, address in patterns.items()]
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    if not names:
        _refuse(f"{type(model).__name__} has no parameters", "give a model that has been built, weights included")
    matched: set[str] = set()
    sites: dict[str, Site] = {}
    owners: dict[Site, str] = {}
    for name, parameter in model.named_parameters():
        if not parameter.is_floating_point():
            what = f"the parameter '{name}' is {parameter.dtype}, which has no gradient"
            _refuse(what, "measure the model before it is quantized")
        site = _first_match(model, names[id(parameter)], rules, matched) or _own_path(name)
        if site in owners:
            what = f"the parameters '{owners[site]}' and '{name}' have one address, {_written(site)}"
            _refuse(what, "give them different addresses in sites=, or {layer} a place in the pattern")
        owners[site] = name
        sites[name] = site
    for rule in rules:
        if rule.pattern not in matched:
            _refuse(
                f"the pattern '{rule.pattern}' in sites= matches no parameter and no module that has one",
                f"write a path of this model, such as '{next(iter(sites))}'",
            )
    return sites


def _first_match(model: nn.Module, names: list[str], rules: list[_Rule], matched: set[str]) -> Site | None:
    """The address of a parameter with these names; the patterns that match are added to ``matched``."""
    first = None
    for name in names:
        matches = [(rule, site) for rule in rules if (site := rule.site(model, name)) is not None]
        if len(matches) > 1:
            patterns = " and ".join(f"'{rule.pattern}'" for rule, _ in matches)
            _refuse(f"the patterns {patterns} in sites= both match '{name}'", "leave one of them out")
        matched.update(rule.pattern for rule, _ in matches)
        if first is None and matches:
            first = matches[0][1]
    return first


def _own_path(name: str) -> Site:
    path, _, tensor = name.rpartition(".")
    return Site(None, None, path or None, tensor)


def _rule(pattern: str, address: str) -> _Rule:
    """One row of the table, read."""
    words = address.split(".")
    stack = words.pop(0) if words[0] in STACKS and len(words) > 1 else None
    if len(words) > 2 or not all(word.isidentifier() for word in words):
        _refuse(f"the address '{address}' in sites= cannot be read", "write [encoder.|decoder.]sublayer[.tensor]")
    if pattern.count(_LAYER) > 1:
        _refuse(f"the pattern '{pattern}' in sites= has {{layer}} more than once", "write the other number out")
    regex = re.escape(pattern).replace(re.escape(_LAYER), r"(?P<layer>\d+)") + r"(?:\.(?P<own>[^.]+))?"
    return _Rule(pattern, re.compile(regex), stack, words[0], words[1] if len(words) == 2 else None)


def _written(site: Site) -> str:
    layer = None if site.layer is None else f"layer {site.layer}"
    return " ".join(filter(None, (site.stack, layer, site.sublayer, site.tensor)))


def _refuse(what: str, remedy: str) -> NoReturn:
    raise LabError(Problem("measure", what, remedy))
