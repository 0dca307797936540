"""A model of one causal stack that predicts the next token at every position."""

from collections.abc import Mapping
from typing import Literal

from torch import Tensor, nn

from lnlab.nn.attention import DropoutRate
from lnlab.nn.embedding import EmbeddingScale, Output, Positions
from lnlab.nn.masks import causal
from lnlab.nn.models import Count, FeedForwardChoice, LinearChoice, TokenPairs, models
from lnlab.nn.parts import Parts
from lnlab.nn.size import one_stack_size
from lnlab.nn.transformer import ModelShape, Stack
from lnlab.registry import default


@models.register(
    "language_model",
    stacks=("decoder",),
    causal=("decoder",),
    says="decoder",
    size=one_stack_size("decoder"),
    later=("feed_forward", "embedding_scale", "output_scale"),
)
class LanguageModel(nn.Module):
    """``logits = decoder(tokens) tableᵀ``: the next token from those before it, decoder only (Radford et al., 2018).

    ``tied: input`` shares the table of the embedding with the output, ``none`` keeps two. ``embedding_scale`` is the
    factor on its rows: ``fixed`` at sqrt(d_model), ``learned`` from there on, as beside DyT (Zhu et al., 2025), or
    ``one``. ``output_scale`` gives each logit a learned factor, 1 at first (nGPT; Loshchilov et al., 2024).
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
        tied: Literal["input", "none"] = "input",
        positions: Positions = "sinusoids",
        fix_norm: bool = False,
        linear: LinearChoice = default("plain"),
        feed_forward: FeedForwardChoice = default("relu"),
        embedding_scale: EmbeddingScale = "fixed",
        output_scale: bool = False,
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
            embedding_scale=embedding_scale,
        )
        self.decoder = Stack("decoder", parts["decoder"], None, shape)
        self.output = Output(size, d_model, fix_norm=fix_norm, scaled=output_scale)
        if tied == "input":
            self.output.table = self.decoder.embedding.table

    def forward(self, batch: TokenPairs) -> Tensor:
        """The logits of every next token: (batch, target length, size)."""
        logits: Tensor = self.output(self.decoder(batch.target_in, causal(batch.target_in)))
        return logits
