"""``‖g_l - dL/dx_l‖ / ‖dL/dx_l‖``: the gradient recursions of Post-LN and Pre-LN against one backward pass.

Both sides start from the same dL/dx_L above the last layer. One is computed block by block (``recursions``). The other
is the gradient at the input of layer l from a backward pass through the whole stack. Both are in float64.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.placements import Post, Pre
from lnlab.nn.site import Site
from lnlab.nn.transformer import Stack, stacks
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.known_sites import at_all_sites
from lnlab.probes.support.recursions import ResidualBlock, product_form, separated_form, sum_form, without_attention
from lnlab.tables import Row
from lnlab.vocabulary.gradients import GRADIENT_RECURSION

Form = Callable[[Sequence[ResidualBlock], Tensor], list[Tensor]]
Passage = list[tuple[Any, ...]]
"""One forward pass through a stack: the stream and the branches that entered each layer, then the last one's output."""

POST: Mapping[str, Form] = {
    "recursion_error": product_form,
    "recursion_error_without_attention": lambda blocks, g: product_form(without_attention(blocks), g),
    "recursion_error_separated": separated_form,
}
PRE: Mapping[str, Form] = {
    "recursion_error": sum_form,
    "recursion_error_without_attention": lambda blocks, g: sum_form(without_attention(blocks), g),
}


@probes.register(
    "gradient_recursion",
    table="sites",
    # A sum of K (K + 1) / 2 products in float64 for K blocks: at six layers about 60 forward passes.
    passes=lambda choice: 60.0 * choice["batches"],
    quantities=GRADIENT_RECURSION,
    sites=lambda model, _: at_all_sites(
        tuple(
            POST if all(type(layer.placement) is Post for s in stacks(model).values() for layer in s.layers) else PRE
        ),
        [Site(name, n, None, "in") for name, s in stacks(model).items() for n, _ in enumerate(s.layers, 1)],
    ),
)
def gradient_recursion(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``‖g_l - dL/dx_l‖/‖dL/dx_l‖``: gradient by recursion against a backward pass (Wang et al., 2019, Section 2).

    At the stream ``in`` each layer: ``recursion_error``, of Post-LN's product and Pre-LN's sum;
    ``recursion_error_without_attention``, of the same with F the feed-forward network alone;
    ``recursion_error_separated``, of Post-LN's formula read as Π LN' Π (1 + F'). The time grows with the square of the
    depth. A stack without a gradient has no row. Dropout is off.

    Raises:
        LabError: a stack is neither Post-LN nor Pre-LN, or has norms with statistics of many tokens.
    """
    # Frozen weights require a gradient here, too: a stream without a graph has none.
    model = deepcopy(state.model).double().requires_grad_()
    by_name = stacks(model)
    forms = {}
    for name, stack in by_name.items():
        kinds = {type(layer.placement) for layer in stack.layers}
        if stack.pooled:
            what = "the gradient recursions are of norms that see one token at a time"
            raise LabError(Issue("unsupported", "", what, "measure gradient_recursion with norm: layer, rms or none"))
        if kinds not in ({Post}, {Pre}):
            what = f"there is no gradient recursion for {' and '.join(sorted(kind.__name__ for kind in kinds))}"
            raise LabError(Issue("unsupported", "", what, "measure gradient_recursion with placement: post or pre"))
        forms[name] = POST if kinds == {Post} else PRE
    sums: dict[tuple[str, str, int], Tensor] = {}
    with evaluating(model), torch.enable_grad():
        for batch in state.batches(batches, split):
            with _record_passages(by_name) as passages:
                loss, _ = state.task.loss(model, batch)
            for name, passage in passages.items():
                for quantity, layer, squares in _compared(by_name[name], passage, loss, forms[name]):
                    at = quantity, name, layer
                    sums[at] = sums[at] + squares if at in sums else squares
    for (quantity, name, layer), (error, size) in sums.items():
        site = {"stack": name, "layer": layer, "sublayer": None, "tensor": "in"}
        yield {"quantity": quantity, **site, "value": (error / size).sqrt().item()}


@contextmanager
def _record_passages(by_name: Mapping[str, Stack]) -> Iterator[dict[str, Passage]]:
    """Yield a dict that a forward pass fills with its passage through each stack."""
    passages: dict[str, Passage] = {name: [] for name in by_name}
    with ExitStack() as hooks:
        for name, stack in by_name.items():
            append = passages[name].append
            for placement in _placements(stack):
                handle = placement.register_forward_pre_hook(lambda _m, inputs, keep=append: keep(inputs))
                hooks.callback(handle.remove)
            handle = stack.layers[-1].register_forward_hook(lambda _m, _x, y, keep=append: keep((y,)))
            hooks.callback(handle.remove)
        yield passages


def _compared(
    stack: Stack, passage: Passage, loss: Tensor, forms: Mapping[str, Form]
) -> Iterator[tuple[str, int, Tensor]]:
    """Yield quantity, layer and (‖g - dL/dx‖², ‖dL/dx‖²) of one batch, or nothing if the stack has no gradient."""
    streams = [x for x, *_ in passage]
    # The graph is kept, as the next stack differentiates the same loss.
    *exact, top = torch.autograd.grad(loss, streams, retain_graph=True, allow_unused=True, materialize_grads=True)
    if not top.any():
        return
    # Every residual block at the stream that entered it; the second branch of a layer gets what the first one left.
    blocks = []
    for number, (placement, (stream, *branches)) in enumerate(zip(_placements(stack), passage, strict=False), 1):
        x = stream.detach()
        for f, norm in zip(branches, placement.norms, strict=True):
            block = ResidualBlock(number, x, f, norm, attention=f is not branches[-1])
            blocks.append(block)
            with torch.no_grad():
                x = block.after_post() if isinstance(placement, Post) else block.after_pre()
    for quantity, form in forms.items():
        # Reversed, so that of the blocks of a layer the first one stays: its gradient is that of the layer's input.
        entering = {block.layer: g for block, g in reversed([*zip(blocks, form(blocks, top), strict=True)])}
        for layer, reference in enumerate(exact, 1):
            error = entering[layer] - reference
            yield quantity, layer, torch.stack([error.square().sum(), reference.square().sum()])


def _placements(stack: Stack) -> list[Post | Pre]:
    # `gradient_recursion` has refused every other placement; the test is for the type checker.
    return [placement for layer in stack.layers if isinstance(placement := layer.placement, Post | Pre)]
