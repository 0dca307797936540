"""The data that an init may read: batches of tokens, the tokens that each stack reads, and the norms of their vectors.

An input vector is the input of a stack's first layer: ``sqrt(d) table[token] + position``. It costs next to nothing
compared with a layer, so that every token of a corpus can be embedded.
"""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor, nn

from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.models import TokenPairs
from lnlab.nn.transformer import stacks


class Batches(Protocol):
    """The batches that an init may read, the same in every variant of a seed with the same task."""

    def __call__(self, n: int | None, split: str = "train") -> Iterable[TokenPairs]:
        """Iterate over the first ``n`` batches of a split. None means every batch of one epoch."""


def tokens_read(batch: TokenPairs) -> dict[str, Tensor]:
    """The tokens that each stack reads, (batch, length), padded with 0, by the name of the stack."""
    return {"encoder": batch.source, "decoder": batch.target_in}


@torch.no_grad()
def input_norms(model: nn.Module, batch: TokenPairs) -> dict[str, Tensor]:
    """``‖x_j‖`` of every input vector of a batch, padding left out: (tokens,), float64, by the name of the stack."""
    read = tokens_read(batch)
    inputs = {name: stack.embedding(read[name])[read[name] != PAD_TOKEN] for name, stack in stacks(model).items()}
    return {name: x.double().norm(dim=-1) for name, x in inputs.items()}
