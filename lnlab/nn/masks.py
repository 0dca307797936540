"""Which positions a query may attend to, as booleans that broadcast over heads: True means it may.

Token 0 is padding in every task, so the masks are read off the tokens.
"""

import torch
from torch import Tensor

PAD_TOKEN = 0


def padding(tokens: Tensor) -> Tensor:
    """Every token that is not padding: (batch, length) -> (batch, 1, 1, length)."""
    return (tokens != PAD_TOKEN)[:, None, None, :]


def causal(tokens: Tensor) -> Tensor:
    """As ``padding``, and no later token than the query: (batch, length) -> (batch, 1, length, length)."""
    length = tokens.shape[1]
    earlier = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()
    return padding(tokens) & earlier
