"""Tokens and answers without meaning: the inputs under which signal propagation is studied.

With entries N(0, 1/d) in the table, embedded by sqrt(d) table[token] and no positions, different tokens are i.i.d.
N(0, I_d), the assumption of theory (Xiong et al., 2020, Section 3.3). Answers are drawn independently of what is read.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.randomness import Draw
from lnlab.registry import Roots
from lnlab.tasks.cross_entropy import label_cross_entropy, token_cross_entropy
from lnlab.tasks.task import ENOUGH_BATCHES, Batch, tasks

_Law = Literal["distinct", "uniform", "zipf"]
_Count = Annotated[int, Field(ge=1, le=1_000_000)]


@dataclass(frozen=True)
class RandomTokens:
    """The task of one replicate. Every split is another endless stream.

    Attributes:
        draw: the randomness of the replicate.
        size: rows of the tables. Token 0 is padding and never drawn.
        sentences: number of sentences per batch.
        length: number of tokens of every sentence.
        law: distribution of the tokens that are read.
        classes: number of labels, with one label per sentence. None means that the target is a token at every position.
    """

    draw: Draw
    size: int
    sentences: int
    length: int
    law: _Law
    classes: int | None

    @property
    def labels(self) -> int:
        """Rows of the output."""
        return self.classes or self.size

    @property
    def unit(self) -> str:
        """The unit that ``loss`` counts."""
        return "sentences" if self.classes else "tokens"

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """Endless batches, each from a generator addressed by (purpose, split, epoch, number)."""
        for number in count():
            generator = Generator().manual_seed(self.draw(purpose, "batches", split, epoch, number))
            source, target = self._read(generator), self._read(generator)
            shape = (self.sentences,) if self.classes else (self.sentences, self.length)
            first, end = (0, self.classes) if self.classes else (1, self.size)  # token 0 is padding
            yield Batch(source, target, torch.randint(first, end, shape, generator=generator))

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The cross-entropy of a batch: its sum in nats, and the number of targets."""
        cross_entropy = label_cross_entropy if self.classes else token_cross_entropy
        return cross_entropy(model(batch), batch.target_out, 0.0), batch.target_out.numel()

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """As ``loss``, which is not smoothed."""
        return self.loss(model, batch)

    def scores(self, model: nn.Module, batch: Batch) -> tuple[dict[str, Tensor], int]:
        """The sum of ``loss``, which is ``nll``, over the answers of a batch, and their number."""
        loss, number = self.loss(model, batch)
        return {"loss": loss, "nll": loss}, number

    @property
    def epoch_batches(self) -> None:
        """None, as the data have no end."""

    def unigram_entropy(self) -> float:
        """The entropy of answers that are drawn uniformly."""
        return math.log(self.classes or self.size - 1)

    def _read(self, generator: Generator) -> Tensor:
        """Tokens of a batch, (sentences, length)."""
        shape = (self.sentences, self.length)
        if self.law == "uniform":
            return torch.randint(1, self.size, shape, generator=generator)
        number = self.sentences * self.length
        if self.law == "distinct":
            return 1 + torch.randperm(self.size - 1, generator=generator)[:number].view(shape)
        # Weights 1/rank, whose sum `multinomial` divides by; rank 1 is token 1, as 0 is padding.
        return 1 + torch.multinomial(1 / torch.arange(1.0, self.size), number, True, generator=generator).view(shape)


def _tokens(params: dict[str, Any]) -> int:
    return int(params["sentences"] * params["length"])


@tasks.register(
    "random_tokens",
    endless=True,
    says=lambda choice: ("sentence",) if choice["classes"] else ("encoder", "decoder"),
    batch_tokens=_tokens,
    split_batches=lambda *_: ENOUGH_BATCHES,
    tokens=_tokens,
)
def random_tokens(
    draw: Draw,
    _roots: Roots,
    *,
    vocabulary: Annotated[int, Field(ge=2, le=1_000_000)] = 2_048,
    sentences: _Count = 8,
    length: _Count = 32,
    law: _Law = "distinct",
    classes: Annotated[int, Field(ge=2, le=1_000_000)] | None = None,
) -> RandomTokens:
    """``x_i i.i.d. N(0, I)``: tokens and answers without meaning, for theory's assumptions (Xiong et al., 2020).

    ``law: distinct`` draws the tokens that are read without replacement within a batch, ``uniform`` with it, and
    ``zipf`` with frequency 1/rank. The answer is a token at every position, or one of ``classes`` labels a sentence.

    Raises:
        LabError: there are not enough different tokens.
    """
    if law == "distinct" and sentences * length > vocabulary - 1:
        needed = sentences * length + 1
        what = f"{sentences} sentences of {length} tokens need {needed} rows, and the vocabulary has {vocabulary}"
        raise LabError(Issue("conflict", "task.vocabulary", what, "raise it, or write law: uniform"))
    return RandomTokens(draw=draw, size=vocabulary, sentences=sentences, length=length, law=law, classes=classes)
