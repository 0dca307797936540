"""A stack of layers, each a few sublayers on residual branches (Vaswani et al., 2017, Figure 1).

Module names are addresses: ``decoder.layers.0.cross_attention.q.weight`` is the matrix q of the decoder's first layer.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from lnlab.nn.embedding import Embedding, EmbeddingScale, Positions
from lnlab.nn.feedforward import FeedForward, FeedForwardBuilder
from lnlab.nn.linear import LinearBuilder
from lnlab.nn.masks import PAD_TOKEN, padding
from lnlab.nn.parts import Parts
from lnlab.nn.placements import LayerSpec
from lnlab.nn.pooled import pooled_norms, token_mask


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a stack, and the builders of its tables and matrices.

    Attributes:
        size: rows of the table of its embedding.
        width: coordinates of a token's vector.
        heads: number of heads of every attention.
        d_ff: coordinates within the feed-forward network.
        dropout: rate on the embedding and on every branch.
        positions: the positions that the embedding adds.
        fix_norm: whether the rows of the table are used at length 1.
        linear: builds the matrices of attention and feed-forward network.
        feed_forward: builds the feed-forward network of a layer.
        embedding_scale: the factor on the rows of the table.
    """

    size: int
    width: int
    heads: int
    d_ff: int
    dropout: float = 0.0
    positions: Positions = "sinusoids"
    fix_norm: bool = False
    linear: LinearBuilder = nn.Linear
    feed_forward: FeedForwardBuilder = FeedForward
    embedding_scale: EmbeddingScale = "fixed"


class Layer(nn.Module):
    """Self-attention, optional cross-attention, and a feed-forward network, joined by a placement."""

    def __init__(self, at: LayerSpec, parts: Parts, shape: ModelShape) -> None:
        super().__init__()
        attention = partial(parts.attention, at.width, shape.heads, shape.linear)
        self.self_attention = attention()
        self.cross_attention = attention() if parts.cross_attention else None
        self.feed_forward = shape.feed_forward(at.width, shape.d_ff, shape.linear)
        self.placement = parts.placement(at)
        self.dropout = nn.Dropout(shape.dropout)

    @property
    def sublayers(self) -> dict[str, nn.Module]:
        """The sublayers by name, in the order of the residual branches."""
        names = ("self_attention", "cross_attention", "feed_forward")
        return {name: module for name in names if (module := getattr(self, name)) is not None}

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """(batch, length, width) -> the same shape. ``memory`` and its mask are for cross-attention only."""
        cross = self.cross_attention
        drop = self.dropout
        # In the order of `sublayers`, by which a placement's norms and gates have their addresses.
        branches = [lambda x: drop(self.self_attention(x, x, mask)), lambda x: drop(self.feed_forward(x))]
        if cross is not None:
            branches.insert(1, lambda x: drop(cross(x, memory, memory_mask)))
        y: Tensor = self.placement(x, *branches)
        return y


class Stack(nn.Module):
    """Embedding, layers, and a final norm if the last layer's placement needs one."""

    def __init__(self, name: str, parts: Parts, other_layers: int | None, shape: ModelShape) -> None:
        super().__init__()
        norm = partial(parts.norm, shape.width)
        sublayers = 3 if parts.cross_attention else 2
        count = parts.layers
        specs = [
            LayerSpec(
                stack=name,
                layer=i + 1,
                layers=count,
                other_layers=other_layers,
                sublayers=sublayers,
                width=shape.width,
                norm=norm,
            )
            for i in range(count)
        ]
        self.embedding = Embedding(
            shape.size, shape.width, shape.positions, fix_norm=shape.fix_norm, scale=shape.embedding_scale
        )
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = nn.ModuleList(Layer(spec, parts, shape) for spec in specs)
        self.final_norm = norm() if self.layers[-1].placement.final_norm else None  # type: ignore[union-attr]
        self.pooled = pooled_norms(self)

    def forward(
        self, tokens: Tensor, mask: Tensor, memory: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """(batch, length) int64 -> (batch, length, width)."""
        x: Tensor = self.dropout(self.embedding(tokens))
        with token_mask(self.pooled, tokens != PAD_TOKEN):
            for layer in self.layers:
                x = layer(x, mask, memory, memory_mask)
            return x if self.final_norm is None else self.final_norm(x)


class Features(nn.Module):
    """The output of a frozen stack in place of an embedding. Its weights are buffers, and no gradient passes.

    Matrices are Xavier's and the table N(0, 1/d), from torch's own generator, until they are taken from another run.
    """

    def __init__(self, frozen: Stack) -> None:
        super().__init__()
        self.frozen = frozen
        for module in frozen.modules():  # buffers, so that no optimizer and no address finds them
            for name, p in list(module.named_parameters(recurse=False)):
                if p.dim() > 1:
                    nn.init.xavier_normal_(p)
                delattr(module, name)
                module.register_buffer(name, p.detach())
        table = frozen.embedding.table
        table.normal_(0, table.shape[1] ** -0.5)[PAD_TOKEN] = 0

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, length) int64 -> (batch, length, width), which requires a gradient where gradients are enabled."""
        with torch.no_grad():
            x: Tensor = self.frozen(tokens, padding(tokens))
        return x + x.new_zeros((), requires_grad=torch.is_grad_enabled())  # probes differentiate by what layers read


def stacks(model: nn.Module) -> dict[str, Stack]:
    """Stacks of a model by name, without frozen ones."""
    inside = {part for module in model.modules() if isinstance(module, Features) for part in module.modules()}
    named = ((name, module) for name, module in model.named_modules() if module not in inside)
    return {name: module for name, module in named if isinstance(module, Stack)}


def frozen_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model's frozen stacks by name."""
    features = [(name, module) for name, module in model.named_modules() if isinstance(module, Features)]
    return {f"{name}.{weight}": p for name, module in features for weight, p in module.named_buffers()}
