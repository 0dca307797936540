"""Sentences with labels: a split for every seed, a tokenizer for every split, and cross-entropy over labels.

A sentence is read between a begin and an end mark, in BERT's manner ``[CLS] ... [SEP]``, so that none is empty and a
model may look at its first token alone. A sentence that is too long is cut and not left out, so that labels keep their
shares.

The tokenizer is learned from the training sentences of its seed, in about a second. A vocabulary shared by all seeds
would know the words of their test sentences. Encoded splits are cached, as all variants of a seed use the same.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor, nn

from lnlab.corpora.corpus import SPLITS
from lnlab.corpora.labelled import Labelled, labelled
from lnlab.corpora.vocabulary.tokenizers import Tokenizer, learn_tokenizer, tokenizers
from lnlab.errors import CorpusError, LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import digest
from lnlab.randomness import Draw
from lnlab.registry import Roots, default
from lnlab.tasks.batching import equal_batches
from lnlab.tasks.cross_entropy import entropy, label_cross_entropy
from lnlab.tasks.encoded import Recipe, Sentences, cached_encoding, concatenated
from lnlab.tasks.splitting import refuse_incomplete_shares, selected, stratified
from lnlab.tasks.task import Batch, tasks
from lnlab.tasks.text_task import TokenizedTask

Share = Annotated[float, Field(ge=0, le=1)]
Fill = Literal["padding", "repeat"]
Pad = Literal["longest"] | Annotated[int, Field(ge=2, le=10_000)]
_SENTENCES = 2264
"""Assumed of a corpus that does not declare its size."""
_TYPICAL = 48
"""Tokens of the longest of some ten sentences of financial news, at a guess: what a batch is reckoned as."""


@dataclass(frozen=True, kw_only=True)
class Classification(TokenizedTask):
    """The task of one replicate, whose split depends on ``draw``. Text is read at the first batch.

    Attributes:
        corpus: maps roots to sentences with labels.
        labels: rows of the output: the declared number of classes.
        batch_sentences: the most sentences of a batch.
        split: the shares of training, validation and test.
        pad: the length to which the sentences of a batch are filled. None means that of its longest.
        fill: what fills them: padding, or the sentence itself, from its beginning.
        bucket: whether a batch has sentences of nearly one length.
        max_length: the most tokens of a sentence, its two marks included.
    """

    corpus: Callable[[Roots], Labelled]
    labels: int
    batch_sentences: int
    split: tuple[float, float, float]
    pad: int | None
    fill: Fill
    bucket: bool
    max_length: int
    unit: str = "sentences"

    @cached_property
    def labelled_corpus(self) -> Labelled:
        """The corpus, which has as many labels as are declared.

        Raises:
            CorpusError: the corpus is absent or damaged.
            LabError: it has another number of labels.
        """
        corpus = self.corpus(self.roots)
        number = len(corpus.names)
        if number != self.labels:
            what = f"the corpus has {number} labels ({', '.join(corpus.names)}), and {self.labels} are declared"
            raise LabError(Issue("conflict", "task.classes", what, f"write classes: {number}"))
        return corpus

    def survey(self) -> str:
        """What is left out of the corpus, in words. The text is empty where nothing is.

        Raises:
            LabError: the corpus cannot be used as declared, or a split has no sentence.
        """
        for split, share in zip(SPLITS, self.split, strict=True):
            if share:
                self._rows_of(split)
        used, there = len(self.positions), len(self.labelled_corpus.sentences)
        left_out = selected(self.labelled_corpus).left_out
        return f"note: {used:,} of {there:,} sentences are used; {left_out}" if left_out else ""

    @cached_property
    def positions(self) -> list[int]:
        """Positions in the corpus of the sentences that are used, in order. Rows index this list."""
        return selected(self.labelled_corpus).positions

    @cached_property
    def answers(self) -> Tensor:
        """The labels of these sentences, (sentences,)."""
        return torch.tensor([self.labelled_corpus.labels[position] for position in self.positions], dtype=torch.int64)

    @cached_property
    def rows(self) -> Mapping[str, Tensor]:
        """The rows of each split, of this seed."""
        return stratified(self.answers, self.labelled_corpus.names, self.split, self.draw)

    @cached_property
    def text(self) -> Sentences:
        """The sentences as tokens, by a tokenizer that has seen only those of the training split.

        Raises:
            CorpusError: the corpus, or a file of the tokenizer, is absent or damaged.
        """
        rows = self._rows_of("train")
        recipe = Recipe.of(self.tokenizer)
        key = (self.labelled_corpus.digest, recipe, self.size, self.max_length, digest(rows.tolist()))

        def encode() -> Sentences:
            sentences = [self.labelled_corpus.sentences[position] for position in self.positions]
            training = [sentences[row] for row in rows.tolist()]
            tokenizer = learn_tokenizer(self.tokenizer, training, self.size, self.roots)
            begin, end = tokenizer.marks
            # A long sentence is cut before its end mark, and not left out: labels keep their shares.
            cut = [[begin, *tokens[: self.max_length - 2], end] for tokens in tokenizer.encode(sentences)]
            return concatenated(cut)

        return cached_encoding(key, encode)

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """Every batch of one epoch over a split, once, in the order of draw(purpose, "batches", split, epoch).

        Raises:
            CorpusError: the corpus is absent or damaged, or the split has no sentence.
        """
        rows = self._rows_of(split)
        generator = Generator().manual_seed(self.draw(purpose, "batches", split, epoch))
        for chosen in equal_batches(rows, self.batch_sentences, generator, self.text.lengths if self.bucket else None):
            if self.fill == "repeat":
                source = self.text.repeated(chosen, self.pad or int(self.text.lengths[chosen].max()))
            else:
                source = self.text.padded(chosen, self.pad)
            yield Batch(source, source[:, :0], self.answers[chosen])  # no decoder reads anything

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The label-smoothed cross-entropy of a batch: its sum in nats, and the number of sentences."""
        return label_cross_entropy(model(batch), batch.target_out, self.label_smoothing), len(batch.target_out)

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The negative log-likelihood of a batch: its sum in nats, and the number of sentences."""
        return label_cross_entropy(model(batch), batch.target_out, 0.0), len(batch.target_out)

    def scores(self, model: nn.Module, batch: Batch) -> tuple[dict[str, Tensor], int]:
        """The sums of ``loss`` and ``nll``, the number of correct most likely labels, and the number of sentences."""
        logits = model(batch)
        answers = batch.target_out
        sums = {
            "loss": label_cross_entropy(logits, answers, self.label_smoothing),
            "nll": label_cross_entropy(logits, answers, 0.0),
            "accuracy": (logits.argmax(-1) == answers).sum(),
        }
        return sums, len(answers)

    @cached_property
    def epoch_batches(self) -> int:
        """Training batches per epoch, the same for every seed.

        Raises:
            CorpusError: the corpus is absent or damaged.
        """
        return math.ceil(len(self._rows_of("train")) / self.batch_sentences)

    def unigram_entropy(self) -> float:
        """The entropy of the labels of the training sentences."""
        return entropy(torch.bincount(self.answers[self._rows_of("train")], minlength=self.labels))

    def _rows_of(self, split: str) -> Tensor:
        """Return the rows of a split.

        Raises:
            LabError: there is no such split.
            CorpusError: it has no sentence.
        """
        if split not in SPLITS:
            raise LabError(Issue("unknown-name", "task", f"there is no split '{split}'", nearest(split, SPLITS)))
        if not len(self.rows[split]):
            left_out = selected(self.labelled_corpus).left_out
            counts = f"{len(self.positions):,} of {len(self.labelled_corpus.sentences):,} are used"
            what = f"the split '{split}' has no sentence ({'; '.join(filter(None, (counts, left_out)))})"
            raise CorpusError(Issue("missing", "task", what, "give it a larger share in split, or a larger corpus"))
        return self.rows[split]


def read_tokens(params: dict[str, Any]) -> int:
    """Tokens of a batch, padding included."""
    pad = params.get("pad", "longest")
    return int(params["batch_sentences"] * (min(_TYPICAL, params["max_length"]) if pad == "longest" else pad))


def classification_batches(params: dict[str, Any], split: str) -> int:
    """Number of batches of a split, from the number of sentences that the corpus declares."""
    share = float(params["split"][SPLITS.index(split)])
    return math.ceil(share * int(params["corpus"].get("sentences") or _SENTENCES) / int(params["batch_sentences"]))


@tasks.register(
    "classification",
    says=lambda _: ("sentence",),
    batch_tokens=read_tokens,
    split_batches=classification_batches,
    tokens=lambda _: 2,
)
def classification(
    draw: Draw,
    roots: Roots,
    *,
    corpus: Annotated[Callable[..., Labelled], labelled],
    tokenizer: Annotated[Callable[..., Tokenizer], tokenizers] = default("wordpiece"),
    vocabulary: Annotated[int, Field(ge=16, le=1_000_000)] = 8_000,
    classes: Annotated[int, Field(ge=2, le=1_000_000)] = 3,
    batch_sentences: Annotated[int, Field(ge=1, le=1_000_000)] = 32,
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0,
    split: tuple[Share, Share, Share] = (0.8, 0.1, 0.1),
    pad: Pad = "longest",
    fill: Fill = "padding",
    bucket: bool = False,
    max_length: Annotated[int, Field(ge=2, le=10_000)] = 128,
) -> Classification:
    """``(1 - eps) nll + eps / C sum(-log p)``: labels of sentences, a mean over sentences (Szegedy et al., 2016).

    ``vocabulary`` and ``classes`` are declared: the model has as many rows. ``split`` has the shares of training,
    validation and test, of every label alike, drawn anew for every seed. A batch has ``batch_sentences`` sentences or
    fewer, and at most one fewer than any other of its epoch; a batch of a single one comes only of
    ``batch_sentences: 1`` or ``2``. Batches are random, or with ``bucket`` of nearly one length; their sentences are
    padded to the longest among them, or all to ``pad`` tokens. With ``fill: repeat`` they are said again from their
    beginning in place of padding, so that all tokens are words. Sentences of more than ``max_length`` tokens, their two
    marks included, are cut before their end mark.

    Raises:
        LabError: the shares do not add up to 1, or a sentence may be longer than ``pad``.
    """
    refuse_incomplete_shares(split)
    if pad != "longest" and pad < max_length:
        what = f"sentences are padded to {pad} tokens, and may have {max_length}"
        raise LabError(
            Issue("out-of-range", "task.pad", what, f"write max_length: {pad} too, which cuts them, or a larger pad")
        )
    return Classification(
        draw=draw,
        roots=roots,
        corpus=corpus,
        tokenizer=tokenizer,
        size=vocabulary,
        labels=classes,
        batch_sentences=batch_sentences,
        label_smoothing=label_smoothing,
        split=split,
        pad=None if pad == "longest" else pad,
        fill=fill,
        bucket=bucket,
        max_length=max_length,
    )
