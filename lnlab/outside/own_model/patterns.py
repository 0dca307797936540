"""Tables of patterns, read: paths of modules on one side, addresses on the other."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from torch import nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.outside.own_model.families.bert import BERT
from lnlab.outside.own_model.families.family import Family
from lnlab.outside.own_model.families.gpt import GPT
from lnlab.outside.own_model.families.llama import LLAMA
from lnlab.outside.own_model.families.t5 import T5
from lnlab.outside.own_model.families.torch_layers import TORCH
from lnlab.outside.own_model.families.vision import VISION
from lnlab.setting import STACKS

LAYER = "{layer}"
_TABLES = (BERT, GPT, LLAMA, T5, TORCH, VISION)
FAMILIES: Mapping[str, tuple[Family, ...]] = {
    name: tuple(family for table in _TABLES for family in table.get(name, ()))
    for name in sorted({name for table in _TABLES for name in table})
}
"""The families that a class may be of, by its name."""


@dataclass(frozen=True)
class PatternRule:
    """One row of a table.

    Attributes:
        pattern: the path as it is written.
        regex: that path, with a group ``layer`` where it has one.
        stack: of the address, or None.
        sublayer: of the address.
        tensors: of the address: none, one, or those that its last word joins.
        sideways: whether that word joins them by ``|``.
        repeats: how often they follow one another, 8 in ``8(q/k/v)``.
        certain: whether the module is known to be as the row says.
    """

    pattern: str
    regex: re.Pattern[str]
    stack: str | None
    sublayer: str
    tensors: tuple[str, ...]
    sideways: bool
    repeats: int = 1
    certain: bool = True


def read_rule(pattern: str, address: str, argument: str, ending: str = "", *, certain: bool = True) -> PatternRule:
    """One row of a table, read.

    Args:
        pattern: a path, in which ``{layer}`` is a number.
        address: ``[stack.]sublayer[.tensor]``.
        argument: where the row stands, for messages.
        ending: a regular expression of what may follow the path.
        certain: as in ``PatternRule``.

    Raises:
        LabError: the address or the pattern cannot be read.
    """
    words = address.split(".")
    stack = words.pop(0) if words[0] in STACKS and len(words) > 1 else None
    repeated = re.fullmatch(r"([1-9]\d*)\((.+)\)", words[1]) if len(words) == 2 else None
    repeats, joined = (int(repeated[1]), repeated[2]) if repeated else (1, words[-1])
    tensors = tuple(re.split(r"[/|]", joined)) if len(words) == 2 else ()
    mixed = "/" in address and "|" in address
    if len(words) > 2 or mixed or not all(word.isidentifier() for word in (words[0], *tensors)):
        remedy = "write [encoder.|decoder.]sublayer[.tensor], with / or | between several tensors, or 8(q/k/v)"
        refuse(f"the address '{address}' in {argument}= cannot be read", remedy)
    if pattern.count(LAYER) > 1:
        refuse(f"the pattern '{pattern}' in {argument}= has {{layer}} more than once", "write the other number out")
    regex = re.escape(pattern).replace(re.escape(LAYER), r"(?P<layer>\d+)") + ending
    return PatternRule(
        pattern=pattern,
        regex=re.compile(regex),
        stack=stack,
        sublayer=words[0],
        tensors=tensors,
        sideways="|" in address,
        repeats=repeats,
        certain=certain,
    )


def layer_of(match: re.Match[str]) -> int | None:
    """The layer that a path names, from 1."""
    number = match.groupdict().get("layer")
    return None if number is None else int(number) + 1


def known_families(model: nn.Module) -> Iterator[tuple[str, Family]]:
    """The path of every module of a known family, with the family."""
    for path, module in model.named_modules(remove_duplicate=False):
        for owner in type(module).__mro__:
            yield from (
                (path, family) for family in FAMILIES.get(owner.__name__, ()) if family.describes(owner, module)
            )


def base_of(path: str, pattern: str) -> str:
    """What stands before a family's pattern in names: the path of its module, or of the list that a block is in."""
    base = path.rpartition(".")[0] if pattern.startswith(LAYER) else path
    return f"{base}." if base else ""


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise the one message of a mistake in a call of ``lnlab.measure``."""
    raise LabError(Issue("ambiguous", "measure", what, remedy))


def refuse_unmatched(patterns: Mapping[str, str], matched: set[str], argument: str, kind: str, example: str) -> None:
    """Refuse a pattern of the user that matches nothing."""
    for pattern in patterns:
        if pattern not in matched:
            what = f"the pattern '{pattern}' in {argument}= matches no {kind}"
            refuse(what, f"write a path of this model, such as '{example}'")
