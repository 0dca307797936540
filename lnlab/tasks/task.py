"""The interface of a task, its batches, and the registry of tasks.

A task builder is ``(draw, roots, *, ...) -> Task``. A task can be built without its corpus, as text is read at the
first batch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Protocol

from torch import Tensor, nn

from lnlab.facts import Facts
from lnlab.registry import Choice, Registry


@dataclass(frozen=True)
class Batch:
    """The inputs and targets of a model, as int64 tokens, padded with 0.

    Attributes:
        source: (batch, source length), what an encoder reads. Its length is 0 where a task has no sources.
        target_in: (batch, target length), what a decoder reads.
        target_out: the targets: a token at every position of the stack with the outputs, (batch, length), or a label
            per sentence, (batch,).
    """

    source: Tensor
    target_in: Tensor
    target_out: Tensor

    @cached_property
    def tokens(self) -> int:
        """Number of target tokens, with end marks and without begin marks and padding."""
        return int(self.target_out.count_nonzero())  # padding is 0


class Task(Protocol):
    """A seeded stream of batches and its loss.

    Attributes:
        size: rows of the tables that read: the declared vocabulary.
        labels: rows of the output: the vocabulary again, or the number of classes.
        unit: what ``loss`` counts: ``tokens`` or ``sentences``.
        epoch_batches: training batches per epoch, the same in every epoch. None means that they have no end.
    """

    @property
    def size(self) -> int:
        """Rows of the tables that read."""
        ...

    @property
    def labels(self) -> int:
        """Rows of the output."""
        ...

    @property
    def unit(self) -> str:
        """The unit that ``loss`` counts."""
        ...

    @property
    def epoch_batches(self) -> int | None:
        """Training batches an epoch."""
        ...

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """Every batch of one epoch over a split, once, in an order addressed by (seed, purpose, split, epoch)."""
        ...

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The training loss of a batch: its sum in nats, and the count it is the sum over."""
        ...

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """As ``loss``, without label smoothing, for comparison across settings."""
        ...

    def scores(self, model: nn.Module, batch: Batch) -> tuple[dict[str, Tensor], int]:
        """The sums of ``loss`` and ``nll``, and of ``accuracy`` for labels, from one pass, and their count."""
        ...

    def unigram_entropy(self) -> float | None:
        """Entropy of the training targets' frequencies in nats, the loss without any input. None means unknown."""
        ...


def declared_tokens(params: Choice) -> float:
    """The parameter ``batch_tokens``, or 0 where there is none."""
    return float(params.get("batch_tokens") or 0)


ENOUGH_BATCHES = 8
"""Batches of a split without an end that stand for it."""
SENTENCES, SENTENCE_TOKENS = 1000, 16
"""Assumed of a split whose corpus does not say its size, and of a sentence."""


def declared_split_batches(params: Choice, split: str) -> int:
    """Batches of a split of as many sentences as the corpus declares."""
    return batches_of_sentences(params, split, declared_tokens(params) or SENTENCE_TOKENS)


def batches_of_sentences(params: Choice, split: str, tokens: float) -> int:
    """Number of batches of a split, from a number of tokens per batch."""
    declared = (params.get("corpus") or {}).get(split)  # a number of sentences, or the files that hold them
    return ceil((declared if isinstance(declared, int) else SENTENCES) * SENTENCE_TOKENS / tokens)


@dataclass(frozen=True)
class TaskFacts(Facts):
    """The facts of a task. Functions take its parameters.

    Attributes:
        says: where its targets stand: at the tokens of ``encoder`` or ``decoder``, or one per ``sentence``. None means
            not known.
        batch_tokens: number of tokens per batch.
        split_batches: maps its parameters and a split to the approximate number of batches of the split.
        tokens: the fewest tokens that a stack may read in a batch. None means not known.
        sources: whether an encoder has something to read.
        endless: whether an epoch has no end.
        translates: whether it has sentences to translate, as ``tasks.translation`` has them.
    """

    says: Callable[[Choice], Sequence[str]] | None = None
    batch_tokens: Callable[[Choice], float] = declared_tokens
    split_batches: Callable[[Choice, str], int] = declared_split_batches
    tokens: Callable[[Choice], int] | None = None
    sources: bool = True
    endless: bool = False
    translates: bool = False


tasks: Registry[Callable[..., Task]] = Registry("task", TaskFacts)
