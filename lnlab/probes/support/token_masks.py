"""Which positions of a batch hold tokens, by stack."""

from torch import Tensor

from lnlab.nn.data import tokens_read
from lnlab.nn.masks import PAD_TOKEN
from lnlab.tasks.task import Batch


def token_masks(batch: Batch) -> dict[str | None, Tensor]:
    """By the name of a stack: (batch, length), True where it reads a token and not padding."""
    return {stack: tokens != PAD_TOKEN for stack, tokens in tokens_read(batch).items()}
