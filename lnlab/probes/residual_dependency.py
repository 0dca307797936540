"""``x_i = Σ_j β_ij â_j``: the branches of which the stream consists after each sublayer (Liu et al., 2020, Section 4).

With fixed statistics of its norms, a stack's stream is a sum of the input x_0 and the transformed branches a_j: a layer
norm multiplies every part by scale/σ of the whole and subtracts the part's mean, and every other operation of a
placement (a factor on the skip, a gate) is linear already. So the placements run once more on all parts together, with
their norms fixed at the statistics of the whole.

β_ij is the mean over tokens of the standard deviation of part j after sublayer i, with Σ_j β_ij² = 1. The shifts of
norms are a part of the stream but of no branch, and have no β.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.fixup import Shift
from lnlab.nn.sites import Site, Stream, activations, norms_beside
from lnlab.nn.transformer import Layer, Stack, stacks
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.support.known_sites import PlacesByQuantity, at_all_sites, stream_sites
from lnlab.probes.support.token_masks import token_masks
from lnlab.registry import Choice
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import RESIDUAL_DEPENDENCY


def _places(model: nn.Module, choice: Choice) -> PlacesByQuantity:
    outputs = [site for site in stream_sites(model) if site.layer is not None and site.tensor == "out"]
    shares = [
        {**site.row(), "index": j}
        for stack in stacks(model)
        for i, site in enumerate((site for site in outputs if site.stack == stack), 1)
        for j in range(i + 1)
    ]
    own = at_all_sites(("own_dependency", "own_dependency_inverse_sq"), outputs)
    return {**own, **({"residual_dependency": shares} if choice["matrix"] else {})}


@probes.register("residual_dependency", table="sites", passes=once, quantities=RESIDUAL_DEPENDENCY, sites=_places)
def residual_dependency(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
    matrix: bool = True,
) -> Iterator[Row]:
    """``β_ij, Σ_j β_ij² = 1``: the share of branch j in the stream after sublayer i (Liu et al., 2020, Section 4).

    ``residual_dependency`` is β_ij at the ``out`` of sublayer i, with j as ``index``: 0 is the stack's input, 1 its
    first sublayer; without ``matrix`` it is left out. ``own_dependency`` is β_ii and ``own_dependency_inverse_sq``
    1/β_ii², which in Pre-LN grows linearly with i; a branch that is zero has no such row. Dropout is off.

    Raises:
        LabError: the model has norms that are not linear given a token's mean and σ.
    """
    # By sublayer: Σ over tokens of the standard deviations of x_0 and of the branches up to its own.
    rows: dict[Site, Tensor] = {}
    with evaluating(state.model), torch.no_grad():
        for batch in state.batches(batches, split):
            with activations(state.model) as seen:
                state.model(batch)
            masks = token_masks(batch)
            for name, stack in stacks(state.model).items():
                tensors = {site: x[masks[name]] for site, x in seen.items() if site.stack == name}
                for i, (site, parts) in enumerate(parts_of_stream(name, stack, tensors), 1):
                    # Of x_0 and the branches up to i: later ones are zero still, and the shifts come last.
                    present = parts[: i + 1]
                    # By the norm of the centred parts, as `Tensor.std` takes five times as long.
                    centred = present - present.mean(-1, keepdim=True)
                    sigma = torch.linalg.vector_norm(centred, dim=-1) / present.shape[-1] ** 0.5
                    rows[site] = rows.get(site, torch.zeros(())) + sigma.sum(1, dtype=torch.float64)
    for site, row in rows.items():
        beta = (row / row.norm()).tolist()
        for j, value in enumerate(beta if matrix else ()):
            yield {"quantity": "residual_dependency", **site.row(), "index": j, "value": value}
        yield {"quantity": "own_dependency", **site.row(), "value": beta[-1]}
        if beta[-1]:
            yield {"quantity": "own_dependency_inverse_sq", **site.row(), "value": beta[-1] ** -2}


def parts_of_stream(name: str, stack: Stack, seen: dict[Site, Tensor]) -> Iterator[tuple[Site, Tensor]]:
    """The stream after each sublayer, in order, as parts that sum to it: (parts, tokens, width).

    The iteration is by layer, as all layers together need memory that grows with the square of the depth.

    Args:
        name: name of the stack.
        stack: the stack. Its norms are hooked during the iteration.
        seen: activations of its sites (tokens, width).

    Yields:
        The site ``out`` and the parts: x_0, the branches of its layer and before (zero before their turn), and the
        norms' shifts.
    """
    start = seen[Site(name, None, "embedding", "out")]
    x = torch.stack([start, torch.zeros_like(start)])
    turn = count(1)
    for number, layer in enumerate(stack.layers, 1):
        if isinstance(layer, Layer):
            recorded: dict[Site, Tensor] = {}
            # Places for the branches of this layer; the shifts of norms stay the last part.
            x = torch.cat([x[:-1], x.new_zeros(len(layer.sublayers), *start.shape), x[-1:]])
            x = _through(layer, Stream(recorded, name, number), x, seen, turn)
            yield from ((site, parts) for site, parts in recorded.items() if site.tensor == "out")


def _through(layer: Layer, stream: Stream, x: Tensor, seen: dict[Site, Tensor], turn: Iterator[int]) -> Tensor:
    """The parts of the stream after a layer, with each sublayer's output at its index. ``stream`` records them."""

    def branch(sublayer: str) -> Callable[[Tensor], Tensor]:
        def f(stream_parts: Tensor) -> Tensor:
            stream.enter(sublayer, stream_parts)
            parts = torch.zeros_like(stream_parts)
            parts[next(turn)] = seen[Site(stream.stack, stream.layer, sublayer, "branch")]
            stream.leave(sublayer, parts)
            return parts

        return f

    def split(sublayer: str, norm: nn.Module, inputs: tuple[Tensor], _: Tensor) -> Tensor:
        normed = normed_parts(norm, inputs[0])
        stream.norm(sublayer, inputs[0], normed)
        return normed  # what a forward hook returns replaces the output of its module

    with ExitStack() as hooks:
        for sublayer, norm in norms_beside(layer):
            hooks.callback(norm.register_forward_hook(partial(split, sublayer)).remove)
        y: Tensor = layer.placement(x, *map(branch, layer.sublayers))
    stream.complete_sum(y)
    return y


def normed_parts(norm: nn.Module, parts: Tensor) -> Tensor:
    """Each part of the input after a norm, (parts, ..., width). The last part has the shift.

    Raises:
        LabError: the norm is not linear given the mean and the size of a token.
    """
    if isinstance(norm, nn.Identity):
        return parts
    if isinstance(norm, Shift):
        return torch.cat([parts[:-1], parts[-1:] + norm.shift])
    whole = parts.sum(0)
    if isinstance(norm, nn.LayerNorm):
        size = (whole.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()
        y = (parts - parts.mean(-1, keepdim=True)) * (norm.weight / size)
        y[-1] += norm.bias
        return y
    if isinstance(norm, nn.RMSNorm) and norm.eps is not None:
        scaled: Tensor = parts * (norm.weight / (whole.square().mean(-1, keepdim=True) + norm.eps).sqrt())
        return scaled
    what = f"the parts of a stream cannot be separated through the norm {type(norm).__name__}"
    raise LabError(Issue("unsupported", "", what, "measure residual_dependency with norm: layer, rms or none"))
