"""``sqrt(d) table[token] + position``, into the first layer, and ``x tableᵀ``, out of the last.

Positions are sinusoids: ``sin(t / 10000^(2i/d))`` at coordinate 2i, the cosine at 2i + 1 (Vaswani et al., 2017, Section
3.5), not scaled. With entries N(0, 1/d) the input has variance 1 + 1/2 per coordinate. The row of the padding token is
zeroed by the init and never by ``padding_idx``, which breaks second derivatives. Masks keep padding out.
"""

import math
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, normalize

from lnlab.nn.masks import PAD_TOKEN

Positions = Literal["sinusoids", "none"]
EmbeddingScale = Literal["fixed", "learned", "one"]
LONGEST_WAVE = 10_000.0


class Embedding(nn.Module):
    """``sqrt(d) table[token] + position``. The table has ``size`` rows, whether or not the corpus uses them all.

    Without positions, different tokens with entries N(0, 1/d) are i.i.d. N(0, I), as theory assumes. With ``fix_norm``
    the table's rows are used as ``unit_rows``. The factor starts at sqrt(d) if ``learned``, and is 1 if ``one``.
    """

    def __init__(
        self,
        size: int,
        width: int,
        positions: Positions = "sinusoids",
        *,
        fix_norm: bool = False,
        scale: EmbeddingScale = "fixed",
    ) -> None:
        super().__init__()
        self.positions = positions
        self.fix_norm = fix_norm
        self.table = nn.Parameter(torch.zeros(size, width))
        root = math.sqrt(width)
        self.gain = nn.Parameter(torch.tensor(root)) if scale == "learned" else 1.0 if scale == "one" else root

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, length) int64 -> (batch, length, width)."""
        width = self.table.shape[1]
        x = embedding(tokens, unit_rows(self.table) if self.fix_norm else self.table) * self.gain
        if self.positions == "none":
            return x
        return x + _sinusoids_like(tokens.shape[1], width, self.table.dtype, self.table.device)


class Output(nn.Module):
    """``x tableᵀ``: a logit for each row of the table, which may be that of an embedding (Press and Wolf, 2017).

    If it is ``scaled``, each logit has a learned factor, stored divided by √d as in nGPT.
    """

    def __init__(self, size: int, width: int, *, fix_norm: bool = False, scaled: bool = False) -> None:
        super().__init__()
        self.fix_norm = fix_norm
        self.table = nn.Parameter(torch.zeros(size, width))
        self.gain = nn.Parameter(torch.full((size,), width**-0.5)) if scaled else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, length, size)."""
        logits = linear(x, unit_rows(self.table) if self.fix_norm else self.table)
        return logits if self.gain is None else logits * (self.gain * math.sqrt(x.shape[-1]))


def unit_rows(table: Tensor) -> Tensor:
    """Scale the rows to length 1: FixNorm (Nguyen and Salazar, 2019). The zero row of padding stays."""
    return torch.cat([table[: PAD_TOKEN + 1], normalize(table[PAD_TOKEN + 1 :], dim=-1)])


@lru_cache(maxsize=64)
def sinusoids(length: int, width: int) -> Tensor:
    """Positions 0, 1, ... as sines and cosines of geometric wave lengths: (length, width), float64.

    They are cached, as every forward pass needs them, and must not be changed in place.
    """
    # On the CPU: a device need not have float64, and the default one may be another at the next call.
    time = torch.arange(length, dtype=torch.float64, device="cpu")
    even = torch.arange(0, width, 2, dtype=torch.float64, device="cpu")
    angle = time[:, None] * LONGEST_WAVE ** (-even / width)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :width]  # an odd width ends with a sine


@lru_cache(maxsize=64)
def _sinusoids_like(length: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``sinusoids`` in another number format and on another device, which need not support float64."""
    return sinusoids(length, width).to(device, dtype)
