"""Initial values from the state of another run, such as pre-training, whole or in parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.nn.inits import inits
from lnlab.nn.transformer import frozen_weights
from lnlab.randomness import Draw
from lnlab.registry import default

_Seed = Annotated[int, Field(ge=0)]
_Step = Annotated[int, Field(ge=1)]
_Value = str | bool | int | float | None


@dataclass(frozen=True)
class Transfer:
    """What an initial state takes from another run, by the names of parameters.

    Attributes:
        loaded: parameters taken over.
        fresh: parameters only this model has, or that were left out.
        unused: parameters only the other run has, or that were left out.
    """

    loaded: tuple[str, ...]
    fresh: tuple[str, ...]
    unused: tuple[str, ...]


@inits.register("from_run", continues=True)
def from_run(
    model: nn.Module,
    draw: Draw,
    weights: Mapping[str, Tensor],
    *,
    spec: str,
    profile: str | None = "same",  # noqa: ARG001 - read by the compiler
    where: dict[str, _Value] | None = None,  # noqa: ARG001 - read by the compiler
    seed: Literal["same"] | _Seed = "same",  # noqa: ARG001 - read by the compiler
    at: Literal["end"] | _Step = "end",  # noqa: ARG001 - read by the compiler
    parts: list[str] | dict[str, str] | None = None,
    of: Annotated[Callable[[nn.Module, Draw], None], inits] = default("xavier_normal"),
) -> None:
    """``θ_0 = θ'_t``: the weights that a run of another spec has after t updates (Devlin et al., 2019).

    ``spec`` is the other spec's name; it lies beside this one, or comes with lnlab. Its ``profile`` is the one that
    this spec is run in (``same``), another, or null for none; ``where`` selects one of its variants; ``seed`` is the
    run's own (``same``) or a number; ``at`` is its end or a training step. With ``parts``, prefixes of the names of
    parameters such as ``encoder`` or ``encoder.layers.0``, only these are taken, and everything else begins as the
    init ``of`` has it; ``{encoder.layers.0: encoder.layers.1}`` names a part here and its source there. Where ``of``
    reads data, it reads them through frozen weights that are taken over already. The optimizer begins anew.
    """
    take_over(model, weights, parts, spec)  # first, as `of` may read data through frozen weights
    of(model, draw)
    take_over(model, weights, parts, spec)  # again, as `of` has drawn over them


@torch.no_grad()
def take_over(
    model: nn.Module, weights: Mapping[str, Tensor], parts: Sequence[str] | Mapping[str, str] | None, spec: str
) -> Transfer:
    """Copy weights, and the buffers beside them, into a model in place.

    Args:
        model: filled in place. On the meta device only shapes are compared.
        weights: weights of the other run, by name.
        parts: prefixes of the names that are taken, or a mapping from such prefixes to those of the other run. None
            means all.
        spec: spec of the other run, for messages.

    Raises:
        LabError: a part that the model lacks, a parameter that the other run lacks, or one of another shape.
    """
    named: dict[str, Tensor] = dict(model.named_parameters()) | frozen_weights(model)
    for part in parts or ():
        if not any(_is_within(name, part) for name in named):
            words = [name.split(".") for name in named]
            known = dict.fromkeys(".".join(path[:n]) for path in words for n in range(1, len(path) + 1))
            raise LabError(
                Issue("unknown-name", "init.parts", f"no parameter of this model is in '{part}'", nearest(part, known))
            )
    chosen = {name: source for name in named if (source := _source_of(name, parts)) is not None}
    if absent := [source for source in chosen.values() if source not in weights]:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        what = f"the run of '{spec}' has no parameter '{absent[0]}'{more}"
        raise LabError(Issue("unknown-key", "init", what, "name what both models have, as in parts: [encoder]"))
    for name, source in chosen.items():
        shape, other = tuple(named[name].shape), tuple(weights[source].shape)
        if shape != other:
            what = f"'{name}' has the shape {shape} here and {other} in the run of '{spec}'"
            raise LabError(Issue("no-effect", "init", what, "give both models one size, or leave it out of parts"))
        named[name].copy_(weights[source])
    buffers = {name: buffer for name, buffer in model.named_buffers() if name not in named}
    sources = {name: _source_of(name, parts) for name in buffers}
    beside = {name: source for name, source in sources.items() if source is not None and source in weights}
    for name, source in beside.items():
        if weights[source].shape == buffers[name].shape:
            buffers[name].copy_(weights[source])
    fresh = tuple(name for name in named if name not in chosen)
    used = {*chosen.values(), *beside.values(), *buffers}
    return Transfer(tuple(chosen), fresh, tuple(name for name in weights if name not in used))


def _source_of(name: str, parts: Sequence[str] | Mapping[str, str] | None) -> str | None:
    """Return the other run's name of a parameter, or None if it is not taken over."""
    if parts is None:
        return name
    part = next((part for part in parts if _is_within(name, part)), None)
    source = parts[part] if isinstance(parts, Mapping) and part is not None else part
    return None if part is None else f"{source}{name.removeprefix(part)}"


def _is_within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")
