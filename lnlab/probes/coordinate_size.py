"""``sqrt(E x²)`` and ``sqrt(E (x_t - x_0)²)``: how large activations are and how far training has moved them.

A parametrization is right if neither depends on the width (Yang et al., 2022, Appendix D.1, the coordinate check). Both
use the same batches, x_0 with the parameters of step 0. Dropout is off, and sums are in float64.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.func import functional_call

from lnlab.nn.attention import DotProductAttention
from lnlab.nn.sites import Site, activations
from lnlab.nn.transformer import stacks
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.known_sites import at_all_sites, attention_sites, stream_sites
from lnlab.probes.support.token_masks import token_masks
from lnlab.probes.support.training_state import initial
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.hidden_states import COORDINATE_SIZE

_SIZE, _CHANGE = COORDINATE_SIZE


@probes.register(
    "coordinate_size",
    table="sites",
    passes=lambda choice: 2.0 * choice["batches"],
    quantities=COORDINATE_SIZE,
    sites=lambda model, _: at_all_sites(
        (_SIZE, _CHANGE), [*stream_sites(model), *attention_sites(model), Site(None, None, "output", "logits")]
    ),
    trained=True,
)
def coordinate_size(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``sqrt(E x²), sqrt(E (x_t - x_0)²)``: size and change of activations, coordinate-wise (Yang et al., 2022).

    Along the stream, as ``hidden_norm``; and of ``logits``, those of the output, and those of attention, between a
    query and what it may attend to.

    Raises:
        LabError: the state does not know where it began.
    """
    start = initial(state)
    sums: dict[Site, Tensor] = {}
    with evaluating(state.model), torch.no_grad():
        for batch in state.batches(batches, split):
            masks = token_masks(batch)
            now, then = (_coordinates(state.model, batch, masks, at) for at in ({}, start))
            for site, x in now.items():
                squares = (x.square().sum(), (x - then[site]).square().sum())
                terms = torch.stack((*squares, squares[0].new_full((), x.numel())))
                sums[site] = sums[site] + terms if site in sums else terms
    for site, (square, change, count) in sums.items():
        for quantity, total in ((_SIZE, square), (_CHANGE, change)):
            yield {"quantity": quantity, **site.row(), "value": (total / count).sqrt().item()}


def _coordinates(
    model: nn.Module, batch: Batch, masks: Mapping[str | None, Tensor], parameters: Mapping[str, Tensor]
) -> dict[Site, Tensor]:
    """All coordinates of a batch at each site, in float64. ``parameters`` replace those of the same name."""
    with activations(model) as stream, _attention_logits(model, masks) as logits:
        output = functional_call(model, dict(parameters), (batch,))
        tokens = {site: x[masks[site.stack]] for site, x in stream.items()}
    # A task of labels has one answer a sentence, and none of them is padding.
    answered = masks[list(stacks(model))[-1]] if output.dim() == 3 else ...
    tokens |= logits | {Site(None, None, "output", "logits"): output[answered]}
    return {site: x.double() for site, x in tokens.items()}


@contextmanager
def _attention_logits(model: nn.Module, masks: Mapping[str | None, Tensor]) -> Iterator[dict[Site, Tensor]]:
    """Yield a dict that each forward pass fills with the logits of each query and the keys that it may attend to."""
    seen: dict[Site, Tensor] = {}

    def keep(site: Site, attention: DotProductAttention, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
        x, memory, allowed = inputs
        logits = attention.logits(x, memory)
        queries = masks[site.stack][:, None, :, None]
        seen[site] = logits[(allowed & queries).expand_as(logits)]

    with ExitStack() as hooks:
        inside = [(name, *item) for name, stack in stacks(model).items() for item in stack.layers.named_modules()]
        for stack_name, name, module in inside:
            if isinstance(module, DotProductAttention):
                number, sublayer = name.split(".")
                site = Site(stack_name, int(number) + 1, sublayer, "logits")
                hook = module.register_forward_pre_hook(lambda m, x, site=site: keep(site, m, x))
                hooks.callback(hook.remove)
        yield seen
