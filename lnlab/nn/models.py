"""Whole models: ``(size, parts) -> module``, from a batch of tokens to logits.

``size`` is the number of rows of the tables that read. A model whose output has one row per label is built from
``(size, parts, labels)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field
from torch import Tensor, nn

from lnlab.facts import Facts, never
from lnlab.keys import Json
from lnlab.nn.attention import DropoutRate
from lnlab.nn.embedding import Output, Positions
from lnlab.nn.feedforward import feed_forwards
from lnlab.nn.linear import linears
from lnlab.nn.masks import causal, padding
from lnlab.nn.parts import Parts, parts_of
from lnlab.nn.size import encoder_decoder_size
from lnlab.nn.transformer import ModelShape, Stack
from lnlab.registry import Choice, Registry, default

__all__ = ["EncoderDecoder", "Parts", "TokenPairs", "models", "parts_of"]

Count = Annotated[int, Field(ge=1, le=1_000_000)]
LinearChoice = Annotated[Callable[..., nn.Module], linears]
FeedForwardChoice = Annotated[Callable[..., nn.Module], feed_forwards]

_Place = Literal["encoder", "decoder", "sentence"]


@dataclass(frozen=True)
class ModelFacts(Facts):
    """The facts of a model.

    Attributes:
        stacks: its stacks by name. A model without any cannot be planned, unless it is a user's own.
        own: whether it uses no parts of lnlab and initializes itself.
        stream: ``(setting)``, whether the residual stream of a user's own model is known.
        causal: those of its stacks that may not see the future.
        says: where its outputs stand: at the positions of ``encoder`` or ``decoder``, or one per ``sentence``. None
            means not known.
        averages: ``(choice)``, whether it reads only the mean over a sentence.
        size: ``(setting) -> (parameters, operations a token)``. A model without it cannot be planned.
        translates: whether it has ``encode`` and ``decode``, so that it can translate.
    """

    stacks: tuple[Literal["encoder", "decoder"], ...] = ()
    own: bool = False
    stream: Callable[[dict[str, Json]], bool] = never
    causal: tuple[Literal["encoder", "decoder"], ...] = ("decoder",)
    says: _Place | None = None
    averages: Callable[[Choice], bool] = never
    size: Callable[[dict[str, Json]], tuple[int, int]] | None = None
    translates: bool = False


models: Registry[Callable[..., nn.Module]] = Registry("model", ModelFacts)


class TokenPairs(Protocol):
    """The tokens that a model reads: int64, (batch, source length) and (batch, target length), padded with 0.

    A model of one stack reads one of them.
    """

    @property
    def source(self) -> Tensor:
        """The source sentences."""

    @property
    def target_in(self) -> Tensor:
        """The target sentences, one position late."""


@models.register(
    "encoder_decoder",
    stacks=("encoder", "decoder"),
    causal=("decoder",),
    says="decoder",
    size=encoder_decoder_size,
    later=("feed_forward",),
    translates=True,
)
class EncoderDecoder(nn.Module):
    """``logits = decoder(target, encoder(source)) tableᵀ``: one vocabulary for both languages (Vaswani et al., 2017).

    ``tied: target`` shares the table of the decoder's embedding with the output, ``all`` also with the encoder's
    embedding, ``none`` keeps three tables. In every model, ``fix_norm`` uses the rows of its tables at length 1 (Nguyen
    and Salazar, 2019), ``linear`` says how the matrices of attention and feed-forward network are parametrized, and
    ``feed_forward`` which network that is.
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
        tied: Literal["target", "all", "none"] = "target",
        positions: Positions = "sinusoids",
        fix_norm: bool = False,
        linear: LinearChoice = default("plain"),
        feed_forward: FeedForwardChoice = default("relu"),
    ) -> None:
        super().__init__()
        encoder, decoder = parts["encoder"], parts["decoder"]
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
        # Each stack is told the depth of the other: DeepNorm's constants depend on both.
        self.encoder = Stack("encoder", encoder, decoder.layers, shape)
        self.decoder = Stack("decoder", decoder, encoder.layers, shape)
        self.output = Output(size, d_model, fix_norm=fix_norm)
        if tied == "all":
            self.decoder.embedding.table = self.encoder.embedding.table
        if tied != "none":
            self.output.table = self.decoder.embedding.table

    def forward(self, batch: TokenPairs) -> Tensor:
        """The logits of every next target token: (batch, target length, size)."""
        return self.decode(batch.target_in, *self.encode(batch.source))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The encoded source, (batch, source length, d_model), and the mask by which a decoder attends to it."""
        present = padding(source)
        return self.encoder(source, present), present

    def decode(self, target_in: Tensor, memory: Tensor, present: Tensor, *, last: bool = False) -> Tensor:
        """The logits of every next target token, or those after the ``last`` one alone: (batch, 1, size)."""
        x = self.decoder(target_in, causal(target_in), memory, present)
        logits: Tensor = self.output(x[:, -1:] if last else x)
        return logits
