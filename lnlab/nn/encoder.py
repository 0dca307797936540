"""Models of one stack that sees all of its sentence: an answer for every token, or one for the sentence."""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from lnlab.nn.attention import DropoutRate
from lnlab.nn.embedding import Output, Positions
from lnlab.nn.masks import PAD_TOKEN, padding
from lnlab.nn.models import Count, FeedForwardChoice, LinearChoice, TokenPairs, models
from lnlab.nn.parts import Parts
from lnlab.nn.size import classifier_size, one_stack_size
from lnlab.nn.transformer import ModelShape, Stack
from lnlab.registry import default


@models.register(
    "encoder",
    stacks=("encoder",),
    causal=(),
    says="encoder",
    size=one_stack_size("encoder"),
    later=("feed_forward",),
)
class Encoder(nn.Module):
    """``logits = encoder(source) tableᵀ``: an answer at every position, as theory has its loss (Xiong et al., 2020).

    ``tied: input`` shares the table of the embedding with the output, ``none`` keeps two.
    """

    def __init__(
        self,
        size: int,
        parts: Mapping[str, Parts],
        *,
        d_model: Count,
        heads: Count,
        d_ff: Count,
        dropout: DropoutRate = 0.0,
        tied: Literal["input", "none"] = "none",
        positions: Positions = "sinusoids",
        fix_norm: bool = False,
        linear: LinearChoice = default("plain"),
        feed_forward: FeedForwardChoice = default("relu"),
    ) -> None:
        super().__init__()
        shape = ModelShape(
            size=size,
            width=d_model,
            heads=heads,
            d_ff=d_ff,
            dropout=dropout,
            positions=positions,
            fix_norm=fix_norm,
            linear=linear,
            feed_forward=feed_forward,
        )
        self.encoder = Stack("encoder", parts["encoder"], None, shape)
        self.output = Output(size, d_model, fix_norm=fix_norm)
        if tied == "input":
            self.output.table = self.encoder.embedding.table

    def forward(self, batch: TokenPairs) -> Tensor:
        """The logits of an answer at every position of the source: (batch, source length, size)."""
        logits: Tensor = self.output(self.encoder(batch.source, padding(batch.source)))
        return logits


@models.register(
    "classifier",
    stacks=("encoder",),
    causal=(),
    says="sentence",
    averages=lambda model: model["pool"] == "mean",
    size=classifier_size,
    later=("feed_forward",),
)
class Classifier(nn.Module):
    """``weight pool(encoder(source)) + bias``: logits of one label per sentence (Devlin et al., 2019).

    ``pool: mean`` is the mean over the tokens of the sentence, padding left out; ``first`` is its first token.
    """

    def __init__(
        self,
        size: int,
        parts: Mapping[str, Parts],
        labels: int,
        *,
        d_model: Count,
        heads: Count,
        d_ff: Count,
        dropout: DropoutRate = 0.0,
        pool: Literal["mean", "first"] = "mean",
        positions: Positions = "sinusoids",
        fix_norm: bool = False,
        linear: LinearChoice = default("plain"),
        feed_forward: FeedForwardChoice = default("relu"),
    ) -> None:
        super().__init__()
        shape = ModelShape(
            size=size,
            width=d_model,
            heads=heads,
            d_ff=d_ff,
            dropout=dropout,
            positions=positions,
            fix_norm=fix_norm,
            linear=linear,
            feed_forward=feed_forward,
        )
        self.encoder = Stack("encoder", parts["encoder"], None, shape)
        self.pool = pool
        self.output = nn.Linear(d_model, labels)

    def forward(self, batch: TokenPairs) -> Tensor:
        """The logits of every sentence's label: (batch, labels)."""
        x = self.encoder(batch.source, padding(batch.source))
        pooled = x[:, 0] if self.pool == "first" else masked_mean(x, batch.source != PAD_TOKEN)
        logits: Tensor = self.output(pooled)
        return logits


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of each sentence, where ``mask`` is True: (batch, length, width) -> (batch, width)."""
    unpadded = torch.where(mask[..., None], x, 0.0)
    return unpadded.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
