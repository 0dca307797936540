"""The resolved setting of a variant, and the one reader of dotted paths in it.

    model.d_model, encoder.norm.eps          a path leads through mappings, and to a choice's parameters
    interventions.rescale.factor             a list of choices is entered by kind
    placement, norm.eps, attention,          short for the same key of every stack that has it, with a value where
    cross_attention, model.layers            those stacks agree
    encoder.sublayers, model.sublayers       depths, which follow from the others: the residual branches of a stack, 2 a
                                             layer, or 3 with cross-attention, and those of all stacks

Where a paper writes N it may mean the layers of a stack (DeepNorm and T-Fixup, ``model.layers``), the residual branches
of a stack (Admin), or those of the whole model, 2 a layer of the encoder and 3 of the decoder (Fixup).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lnlab.keys import Json, canonical

MISSING: Final = object()
"""There is no value at that path, or the stacks disagree there."""
STACKS = ("encoder", "decoder")
SHORT_FORMS: Mapping[str, str] = {
    "placement": "placement",
    "norm": "norm",
    "attention": "attention",
    "cross_attention": "cross_attention",
    "model.layers": "layers",
}
"""Short forms, and the key of a stack that each stands for."""
_LAYERS = {stack: (f"{stack}.layers", "model.layers") for stack in STACKS}
DEPTHS: Mapping[str, tuple[str, ...]] = {
    **{f"{stack}.sublayers": axes for stack, axes in _LAYERS.items()},
    "model.sublayers": tuple(dict.fromkeys(axis for axes in _LAYERS.values() for axis in axes)),
}
"""Each depth with the axes whose value it determines."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A resolved setting, as the compiler makes it and the store keeps it.

    Attributes:
        parts: its keys, such as ``task``, ``model`` and ``encoder``. They are shared with other settings, and never
            changed.
    """

    parts: Mapping[str, Json]

    def values(self, path: str) -> list[Json]:
        """The distinct values at a path: none where it has no value, several where stacks disagree at a short form."""
        if path in DEPTHS:
            depth = self._depth(path)
            return [] if depth is None else [depth]
        value = _descend(self.parts, path_words(path))
        if value is not MISSING:
            return [value]
        stack_values = [_descend(self.parts, path_words(long)) for long in self.long_forms(path) if long != path]
        present = [value for value in stack_values if value is not MISSING]
        return present if len(present) < 2 else list({canonical(value): value for value in present}.values())

    def at(self, path: str) -> Json:
        """The value at a path, or ``MISSING`` where there is none or the stacks disagree."""
        values = self.values(path)
        return values[0] if len(values) == 1 else MISSING

    def get(self, path: str) -> Json:
        """The value at a path, or None where there is none or the stacks disagree."""
        value = self.at(path)
        return None if value is MISSING else value

    def without(self, paths: Iterable[str]) -> Mapping[str, Json]:
        """Its keys without what stands at these paths, each of which leads through mappings alone."""
        remaining = self.parts
        for path in paths:
            remaining = _remove(remaining, path_words(path))
        return remaining

    def long_forms(self, path: str) -> list[str]:
        """The paths that a short form stands for, one a stack. Any other path stands for itself."""
        below = key_of_stack(path)
        return [path] if below is None else [f"{stack}.{below}" for stack in STACKS if stack in self.parts]

    def paths(self) -> list[str]:
        """Every path that has a value, each once, short forms and depths included."""
        long = list(_paths(self.parts))
        short = [
            head + path.removeprefix(f"{stack}.{key}")
            for stack in STACKS
            for head, key in SHORT_FORMS.items()
            for path in long
            if path == f"{stack}.{key}" or path.startswith(f"{stack}.{key}.")
        ]
        return list(dict.fromkeys([*long, *short, *(path for path in DEPTHS if self._depth(path))]))

    def _depth(self, path: str) -> int | None:
        owner = path.partition(".")[0]
        stacks = [self.parts[stack] for stack in ((owner,) if owner in STACKS else STACKS) if stack in self.parts]
        return sum(map(_branches, stacks)) or None


@lru_cache(maxsize=4096)
def path_words(path: str) -> tuple[str, ...]:
    """``model.layers`` as its words."""
    return tuple(path.split("."))


@lru_cache(maxsize=4096)
def key_of_stack(path: str) -> str | None:
    """What a short form is called below a stack: ``layers`` for ``model.layers``. None for any other path."""
    for short, key in SHORT_FORMS.items():
        if path == short or path.startswith(f"{short}."):
            return key + path.removeprefix(short)
    return None


def implied_axes(path: str) -> tuple[str, ...]:
    """The axes whose value is known where that of ``path`` is."""
    return (path, *DEPTHS.get(path, ()))


def children(value: Json) -> Mapping[str, Json]:
    """What each next word of a path leads to: in a list of choices, a kind to the only choice of that kind."""
    if isinstance(value, Mapping):
        return value
    choices = [choice for choice in value if isinstance(choice, Mapping)] if isinstance(value, list | tuple) else []
    return {choice["kind"]: choice for choice in choices if len(positions_of_kind(value, choice["kind"])) == 1}


def positions_of_kind(value: Json, kind: str) -> list[int]:
    """The indices of the choices of that kind in a list. Empty for a value that is no list of choices."""
    choices = value if isinstance(value, list | tuple) else ()
    return [i for i, choice in enumerate(choices) if isinstance(choice, Mapping) and choice.get("kind") == kind]


def _descend(value: Json, words: tuple[str, ...]) -> Json:
    for word in words:
        value = children(value).get(word, MISSING)
        if value is MISSING:
            return MISSING
    return value


def _remove(value: Mapping[str, Json], words: tuple[str, ...]) -> Mapping[str, Json]:
    head, *below = words
    if not below:
        return {key: inner for key, inner in value.items() if key != head}
    inner = value.get(head)
    return {**value, head: _remove(inner, tuple(below))} if isinstance(inner, Mapping) else value


def _paths(value: Mapping[str, Json], prefix: str = "") -> Iterator[str]:
    for word, inner in value.items():
        yield prefix + word
        yield from _paths(children(inner), f"{prefix}{word}.")


def _branches(stack: Mapping[str, Json]) -> int:
    return int(stack.get("layers") or 0) * (3 if stack.get("cross_attention") else 2)
