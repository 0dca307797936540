"""A model, a norm and a probe of one's own; `lnlab --with mine.py run mine.yaml` runs the first question about them."""

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor, nn

from lnlab.facts import QuantityWords
from lnlab.nn.norms import norms
from lnlab.nn.sites import weights
from lnlab.outside.own_model.registered import register_model
from lnlab.probes.probe import State, probes
from lnlab.tables import Row


@norms.register("half", statistics="token")
class HalfNorm(nn.Module):
    """``x / sqrt(mean |x|) * scale``: half of what RMSNorm does; also for the models of lnlab: `norm: half`."""

    def __init__(self, width: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> the same shape."""
        return x / (x.abs().mean(-1, keepdim=True) + self.eps).sqrt() * self.scale


class Block(nn.Module):
    """Attention and a feed-forward network, each on a residual branch with its norm."""

    def __init__(self, width: int, placement: str) -> None:
        super().__init__()
        self.post = placement == "post"
        self.norms = nn.ModuleList(HalfNorm(width) for _ in range(2))
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, future: Tensor) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for norm, f in zip(self.norms, (self.attend, self.think), strict=True):
            x = norm(x + f(x, future)) if self.post else x + f(norm(x), future)
        return x

    def attend(self, x: Tensor, future: Tensor) -> Tensor:
        """The branch of attention; True in ``future`` is what a token may not see."""
        return self.attn(x, x, x, attn_mask=future, need_weights=False)[0]

    def think(self, x: Tensor, _future: Tensor) -> Tensor:
        """The branch of the feed-forward network."""
        return self.fc2(self.fc1(x).relu())


@register_model(
    "mine",
    sites={
        "blocks.{layer}.attn.in_proj_weight": "self_attention.q/k/v",
        "blocks.{layer}.fc1": "feed_forward.w1",
        "blocks.{layer}.fc2": "feed_forward.w2",
    },
    stream={"blocks.{layer}": "feed_forward.out"},
)
class Mine(nn.Module):
    """``logits = blocks(table[tokens] + place) outputᵀ``: what stands behind the `*` can be set and swept by a spec."""

    def __init__(
        self,
        size: int,
        *,
        depth: int = 4,
        width: int = 32,
        placement: Literal["pre", "post"] = "pre",
        longest: int = 256,
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(size, width)
        self.place = nn.Parameter(0.1 * torch.randn(longest, width))
        self.blocks = nn.ModuleList(Block(width, placement) for _ in range(depth))
        self.output = nn.Linear(width, size)

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, length) -> (batch, length, size); no position may see a later one."""
        length = tokens.shape[1]
        future = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        x = self.table(tokens) + self.place[:length]
        for block in self.blocks:
            x = block(x, future)
        return self.output(x)


LARGEST = QuantityWords(
    "largest weight", "over the r.m.s.", "largest entry of a matrix over the root of its mean square"
)


@probes.register(
    "largest_weight",
    table="sites",
    passes=lambda _: 0.0,
    quantities={"largest_weight": LARGEST},
    any_model=lambda _: True,
)
def largest_weight(state: State) -> Iterator[Row]:
    """``max |w| / rms(w)``: how far the largest entry of every matrix stands out."""
    for site, w in weights(state.model):
        value = w.detach().abs().max() / w.detach().square().mean().sqrt()
        yield {"quantity": "largest_weight", **site.row(), "value": value.item()}
