"""Depths that follow from a resolved setting; selections and ``over`` name them like its paths.

    encoder.sublayers, decoder.sublayers: the residual branches of a stack, 2 a layer, or 3 with cross-attention
    model.sublayers: those of all stacks

Where a paper writes N it may mean the layers of a stack (``model.layers``; DeepNorm, T-Fixup), the residual branches of
a stack (Admin), or those of the whole model, 2 a layer of the encoder and 3 of the decoder (Fixup).
"""

from collections.abc import Mapping
from typing import Any

STACKS = ("encoder", "decoder")
_LAYERS = {stack: (f"{stack}.layers", "model.layers") for stack in STACKS}
DEPTHS: Mapping[str, tuple[str, ...]] = {
    **{f"{stack}.sublayers": axes for stack, axes in _LAYERS.items()},
    "model.sublayers": tuple(dict.fromkeys(axis for axes in _LAYERS.values() for axis in axes)),
}
"""Each depth with the axes that it says in another way."""


def depth_at(setting: Mapping[str, Any], path: str) -> int | None:
    """The depth of that name, or None if it is no depth or the setting has no such stack."""
    if path not in DEPTHS:
        return None
    owner = path.partition(".")[0]
    stacks = [setting[s] for s in ((owner,) if owner in STACKS else STACKS) if s in setting]
    return sum(map(_branches, stacks)) or None


def depths_of(setting: Mapping[str, Any]) -> list[str]:
    """The depths that a setting has."""
    return [path for path in DEPTHS if depth_at(setting, path)]


def axes_said_by(path: str) -> tuple[str, ...]:
    """The axes whose value is known where that of ``path`` is."""
    return (path, *DEPTHS.get(path, ()))


def _branches(stack: Mapping[str, Any]) -> int:
    return int(stack.get("layers") or 0) * (3 if stack.get("cross_attention") else 2)
