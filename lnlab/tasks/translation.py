"""Translation: pairs of sentences in batches of nearly equal target tokens, and label-smoothed cross-entropy.

End marks count, begin marks and padding do not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from lnlab.corpora.corpus import SPLITS, Corpus, Pairs, corpora
from lnlab.corpora.vocabulary.tokenizers import BOS, PAD, Tokenizer, tokenizers
from lnlab.errors import CorpusError, LabError, nearest
from lnlab.issues import Issue
from lnlab.randomness import Draw
from lnlab.registry import Roots, default
from lnlab.tasks.batching import batches_of
from lnlab.tasks.cross_entropy import entropy
from lnlab.tasks.encoded import Encoded, Sentences, encoded_corpus
from lnlab.tasks.task import Batch, tasks
from lnlab.tasks.text_task import TextTask


@dataclass(frozen=True)
class Examples:
    """Sentence pairs in the order of their corpus, for translation and comparison.

    Attributes:
        numbers: number of each pair in its split, from 1.
        pairs: text of the pairs, source first.
        sources: sources of the whole split, as tokens.
        rows: rows of the pairs in ``sources``, (pairs,).
        printable: whether the text may be shown.
        tokenizer: converts tokens to text.
    """

    numbers: list[int]
    pairs: Pairs
    sources: Sentences
    rows: Tensor
    printable: bool
    tokenizer: Tokenizer


@dataclass(frozen=True, kw_only=True)
class Translation(TextTask):
    """Prediction of target sentences from source sentences.

    Attributes:
        corpus: maps roots to a corpus.
        batch_tokens: the most target tokens of a batch.
        max_length: the most tokens of a sentence, its end mark included.
    """

    corpus: Callable[[Roots], Corpus]
    batch_tokens: int
    max_length: int

    @cached_property
    def text(self) -> Encoded:
        """The corpus as tokens, shared by all tasks of this process that read the same.

        Raises:
            CorpusError: the corpus is absent or damaged.
        """
        return encoded_corpus(self.corpus(self.roots), self.tokenizer, self.size, self.roots)

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """Every batch of one epoch over a split, once, in the order of draw(purpose, "batches", split, epoch).

        Raises:
            CorpusError: the corpus is absent or damaged, or the split has no pair that is short enough.
        """
        rows, cut = self._batch_rows(split, purpose, epoch)
        source, target = self._sides(split)
        for chosen in cut:
            yield _batch(source, target, rows[chosen])

    def _batch_rows(self, split: str, purpose: str, epoch: int) -> tuple[Tensor, list[Tensor]]:
        """Return the rows of a split that are short enough, and which of these each batch has.

        Raises:
            CorpusError: none is.
        """
        source, target = self._sides(split)
        rows = self._short(source, target)
        if not len(rows):
            what = f"the split '{split}' has no pairs of at most {self._longest} tokens ({len(target.lengths)} in all)"
            raise CorpusError(
                Issue("too-large", "task", what, "give the corpus such a split, or raise max_length or batch_tokens")
            )
        seed = self.draw(purpose, "batches", split, epoch)
        return rows, batches_of(source.lengths[rows], target.lengths[rows], self.batch_tokens, seed)

    def dropped(self, split: str) -> int:
        """Number of pairs left out of a split: a side is empty or too long, or the target exceeds the budget."""
        source, target = self._sides(split)
        return len(target.lengths) - len(self._short(source, target))

    def examples(self, split: str, number: int | None = None) -> Examples:
        """The first ``number`` pairs of a split that batches may hold, for any seed. None means all of them.

        Raises:
            CorpusError: the corpus is absent or damaged.
            LabError: there is no such split, or it has fewer pairs.
        """
        corpus = self.corpus(self.roots)
        source, target = self._sides(split)
        rows = self._short(source, target)
        if len(rows) < (number or 1):
            what = f"{number or 1} sentences are asked for, and the split '{split}' has {len(rows)}"
            raise LabError(Issue("too-large", "task", what, f"ask for at most {len(rows)}"))
        rows = rows[:number]
        chosen = rows.tolist()
        pairs = [corpus.splits[split][row] for row in chosen]
        return Examples(
            numbers=[row + 1 for row in chosen],
            pairs=pairs,
            sources=source,
            rows=rows,
            printable=corpus.printable,
            tokenizer=self.text.tokenizer,
        )

    @cached_property
    def epoch_batches(self) -> int:
        """Training batches per epoch, the same for every epoch, as only lengths determine them.

        Raises:
            CorpusError: the corpus is absent or damaged.
        """
        return len(self._batch_rows("train", "train", 0)[1])

    def unigram_entropy(self) -> float:
        """The entropy of the training targets, end marks included."""
        _, target = self._sides("train")
        return entropy(torch.bincount(target.tokens, minlength=self.size))

    def _sides(self, split: str) -> tuple[Sentences, Sentences]:
        if split not in SPLITS:
            raise LabError(Issue("unknown-name", "task", f"there is no split '{split}'", nearest(split, SPLITS)))
        return self.text.splits[split]

    @property
    def _longest(self) -> int:
        return min(self.max_length, self.batch_tokens)

    def _short(self, source: Sentences, target: Sentences) -> Tensor:
        """Return the rows whose sides both have a token before their end mark, and not too many."""
        some = (source.lengths > 1) & (target.lengths > 1)
        return torch.nonzero(some & (source.lengths <= self.max_length) & (target.lengths <= self._longest))[:, 0]


def _batch(source: Sentences, target: Sentences, rows: Tensor) -> Batch:
    """Make a batch of some pairs. The decoder reads its targets one position late."""
    target_out = target.padded(rows)
    # Of a sentence that is not the longest the end mark moves to a place of padding, which the mask below restores.
    target_in = pad(target_out[:, :-1], (1, 0), value=BOS)
    return Batch(source.padded(rows), torch.where(target_out != PAD, target_in, PAD), target_out)


@tasks.register("translation", says=lambda _: ("decoder",), tokens=lambda _: 2, translates=True)
def translation(
    draw: Draw,
    roots: Roots,
    *,
    corpus: Annotated[Callable[..., Corpus], corpora],
    tokenizer: Annotated[Callable[..., Tokenizer], tokenizers] = default("bpe"),
    vocabulary: Annotated[int, Field(ge=16, le=1_000_000)] = 1_000,
    batch_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 512,
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1,
    max_length: Annotated[int, Field(ge=2, le=10_000)] = 256,
) -> Translation:
    """``(1 - eps) nll + eps / V sum(-log p)``: label-smoothed translation, a mean over tokens (Szegedy et al., 2016).

    A language model, which reads no source, learns the language of the targets.

    ``vocabulary`` is declared: the model has as many rows, whether or not the tokenizer finds as many pieces. A batch
    has at most ``batch_tokens`` target tokens, padding not counted, and nearly as many as every other. Pairs with a
    side of more than ``max_length`` tokens, end marks included, are left out, never cut.
    """
    return Translation(
        draw=draw,
        roots=roots,
        corpus=corpus,
        tokenizer=tokenizer,
        size=vocabulary,
        batch_tokens=batch_tokens,
        label_smoothing=label_smoothing,
        max_length=max_length,
    )
