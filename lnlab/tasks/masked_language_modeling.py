"""Masked language modeling: hidden words of sentences, from the words on both sides of them.

It has the sentences, the splits and the tokenizer of the task ``classification`` with the same parameters and seed, and
none of its labels. Training can therefore continue on that task, and has seen none of its test sentences.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import torch
from pydantic import Field
from torch import Generator, Tensor, nn

from lnlab.corpora.corpus import SPLITS
from lnlab.corpora.labelled import Labelled, labelled
from lnlab.corpora.vocabulary.tokenizers import PAD, UNK, Tokenizer, tokenizers
from lnlab.randomness import Draw
from lnlab.registry import Roots, default
from lnlab.tasks.classification import Classification, Share, classification, classification_batches, read_tokens
from lnlab.tasks.cross_entropy import entropy, token_cross_entropy
from lnlab.tasks.task import Batch, tasks

MASK = UNK
"""What is read in place of a hidden word: the unknown one, or in BERT's own vocabulary an entry that no text has."""


@dataclass(frozen=True)
class MaskedLanguageModeling:
    """The task of one replicate. Text is read at the first batch.

    Attributes:
        sentences: the classification of the same sentences.
        masked: the share of a sentence's words that is hidden.
    """

    sentences: Classification
    masked: float
    unit: str = "tokens"

    @property
    def size(self) -> int:
        """Rows of the model's tables: the declared vocabulary."""
        return self.sentences.size

    @property
    def labels(self) -> int:
        """Rows of the output: the vocabulary again."""
        return self.sentences.size

    @property
    def epoch_batches(self) -> int:
        """Training batches per epoch."""
        return self.sentences.epoch_batches

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """The batches of the classification, with words hidden by draw(purpose, "masks", split, epoch)."""
        generator = Generator().manual_seed(self.sentences.draw(purpose, "masks", split, epoch))
        for batch in self.sentences.batches(split, purpose, epoch):
            hidden = hidden_words(batch.source, self.masked, generator)
            source = batch.source.masked_fill(hidden, MASK)
            yield Batch(source, source[:, :0], torch.where(hidden, batch.source, PAD))

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The cross-entropy of a batch: its sum in nats, and the number of hidden words."""
        return token_cross_entropy(model(batch), batch.target_out, 0.0), batch.tokens

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """As ``loss``, which is not smoothed."""
        return self.loss(model, batch)

    def scores(self, model: nn.Module, batch: Batch) -> tuple[dict[str, Tensor], int]:
        """The sums of ``loss`` and ``nll`` over the hidden words of a batch, and their number."""
        loss, words = self.loss(model, batch)
        return {"loss": loss, "nll": loss}, words

    @cached_property
    def _frequencies(self) -> Tensor:
        words = [batch.source[_words(batch.source)] for batch in self.sentences.batches(SPLITS[0], "frequencies")]
        return torch.bincount(torch.cat(words), minlength=self.size)

    def unigram_entropy(self) -> float:
        """The entropy of the words of the training sentences, as each word may be hidden."""
        return entropy(self._frequencies)


def hidden_words(source: Tensor, share: float, generator: Generator) -> Tensor:
    """Draw the words to hide, ``share`` of each sentence's, rounded up: (batch, length), booleans."""
    words = _words(source)
    # 2 is above every draw, so that what is no word comes last; the second argsort makes ranks of the order.
    priority = torch.rand(source.shape, generator=generator).masked_fill(~words, 2)
    number = (words.sum(1, keepdim=True) * share).ceil()
    return (priority.argsort(1).argsort(1) < number) & words


def _words(source: Tensor) -> Tensor:
    """Mask of the tokens between the begin and the end mark of each sentence: (batch, length), booleans."""
    present = source != PAD
    following = torch.cat([present[:, 1:], torch.zeros_like(present[:, :1])], 1)
    words = present & following  # the end mark is the last token, which no token follows
    words[:, 0] = False  # the begin mark
    return words


@tasks.register(
    "masked_language_modeling",
    says=lambda _: ("encoder",),
    batch_tokens=read_tokens,
    split_batches=classification_batches,
    tokens=lambda _: 2,
)
def masked_language_modeling(
    draw: Draw,
    roots: Roots,
    *,
    corpus: Annotated[Callable[..., Labelled], labelled],
    tokenizer: Annotated[Callable[..., Tokenizer], tokenizers] = default("wordpiece"),
    vocabulary: Annotated[int, Field(ge=16, le=1_000_000)] = 8_000,
    classes: Annotated[int, Field(ge=2, le=1_000_000)] = 3,
    batch_sentences: Annotated[int, Field(ge=1, le=1_000_000)] = 32,
    split: tuple[Share, Share, Share] = (0.8, 0.1, 0.1),
    max_length: Annotated[int, Field(ge=2, le=10_000)] = 128,
    masked: Annotated[float, Field(gt=0, le=1)] = 0.15,
) -> MaskedLanguageModeling:
    """``-log p(x_t | the sentence without x_t)``: hidden words of sentences, a mean over them (Devlin et al., 2019).

    Sentences, splits, vocabulary and batches are those of ``classification``, whose labels nothing reads. Of each
    sentence the share ``masked`` of its words, rounded up, is replaced by the unknown word, anew in every epoch.
    ``batch_sentences`` is the size of a batch, ``max_length`` the most tokens of a sentence, its two marks included,
    and ``classes`` the number of the corpus's labels.
    """
    sentences = classification(
        draw,
        roots,
        corpus=corpus,
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        classes=classes,
        batch_sentences=batch_sentences,
        split=split,
        max_length=max_length,
    )
    assert isinstance(sentences, Classification)
    return MaskedLanguageModeling(sentences, masked)
