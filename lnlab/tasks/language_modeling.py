"""Language modeling: the next token of running text, in windows of one length.

The passages of a split are laid end to end, each closed with an end mark, and cut into windows of ``length + 1`` tokens
of which each begins with the last token of the one before. So every token but the first is predicted once per epoch,
and only the first of a window is predicted without a context (Radford et al., 2018, Section 3.1). Windows are as in
Karpathy's nanoGPT.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import torch
from pydantic import Field
from torch import Generator, Tensor

from lnlab.corpora.corpus import SPLITS
from lnlab.corpora.text import Text, text_corpora
from lnlab.corpora.vocabulary.tokenizers import Tokenizer, learn_tokenizer, tokenizers
from lnlab.errors import CorpusError, LabError, nearest
from lnlab.issues import Issue
from lnlab.randomness import Draw
from lnlab.registry import Choice, Roots, default
from lnlab.tasks.cross_entropy import entropy
from lnlab.tasks.encoded import Recipe, cached_encoding, tokens_of
from lnlab.tasks.task import Batch, batches_of_sentences, tasks
from lnlab.tasks.text_task import TextTask


@dataclass(frozen=True, kw_only=True)
class LanguageModeling(TextTask):
    """Prediction of every token from those before it, on running text in windows.

    Attributes:
        corpus: maps roots to running text.
        length: number of tokens of a window that are read.
        windows: number of windows per batch.
    """

    corpus: Callable[[Roots], Text]
    length: int
    windows: int

    @cached_property
    def text(self) -> Mapping[str, Tensor]:
        """The tokens of each split, end to end, (tokens,). The tokenizer has seen only the training text.

        Raises:
            CorpusError: the corpus, or a file of the tokenizer, is absent or damaged.
        """
        corpus = self.corpus(self.roots)
        key = ("running text", corpus.digest, Recipe.of(self.tokenizer), self.size)

        def encode() -> dict[str, Tensor]:
            tokenizer = learn_tokenizer(self.tokenizer, corpus.splits["train"], self.size, self.roots)
            return {split: tokens_of(tokenizer, lines) for split, lines in corpus.splits.items()}

        return cached_encoding(key, encode)

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """Every window of a split once, in the order of draw(purpose, "batches", split, epoch).

        Batches differ by at most one window. The tokens after the last whole window are left out.

        Raises:
            CorpusError: the corpus is absent or damaged, or the split is shorter than a window.
        """
        windows = self._windows(split)
        generator = Generator().manual_seed(self.draw(purpose, "batches", split, epoch))
        order = torch.randperm(len(windows), generator=generator)
        for chosen in order.tensor_split(-(-len(windows) // self.windows)):
            rows = windows[chosen]
            yield Batch(rows[:, :0], rows[:, :-1], rows[:, 1:])  # no encoder reads anything

    @cached_property
    def epoch_batches(self) -> int:
        """Training batches per epoch.

        Raises:
            CorpusError: the corpus is absent or damaged.
        """
        return -(-len(self._windows("train")) // self.windows)

    def unigram_entropy(self) -> float:
        """The entropy of the training tokens that are predicted, end marks included."""
        return entropy(torch.bincount(self._windows("train")[:, 1:].flatten(), minlength=self.size))

    def _windows(self, split: str) -> Tensor:
        """The windows of a split, at least one: (windows, length + 1)."""
        if split not in SPLITS:
            raise LabError(Issue("unknown-name", "task", f"there is no split '{split}'", nearest(split, SPLITS)))
        tokens = self.text[split]
        if len(tokens) <= self.length:
            what = f"the split '{split}' has {len(tokens)} tokens, and a window needs {self.length + 1}"
            raise CorpusError(
                Issue("conflict", "task.length", what, "make windows shorter, or give the corpus more text")
            )
        return tokens.unfold(0, self.length + 1, self.length)


def _tokens(params: Choice) -> int:
    """Number of tokens of a batch."""
    return int(params["windows"] * params["length"])


@tasks.register(
    "language_modeling",
    later=("z_loss",),
    says=lambda _: ("decoder",),
    sources=False,
    batch_tokens=_tokens,
    split_batches=lambda params, split: batches_of_sentences(params, split, _tokens(params)),
    tokens=_tokens,
)
def language_modeling(
    draw: Draw,
    roots: Roots,
    *,
    corpus: Annotated[Callable[..., Text], text_corpora] = default("toy_english"),
    tokenizer: Annotated[Callable[..., Tokenizer], tokenizers] = default("bpe"),
    vocabulary: Annotated[int, Field(ge=16, le=1_000_000)] = 1_000,
    length: Annotated[int, Field(ge=1, le=100_000)] = 64,
    windows: Annotated[int, Field(ge=1, le=1_000_000)] = 8,
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0,
    z_loss: Annotated[float, Field(ge=0)] = 0.0,
) -> LanguageModeling:
    """``-log p(x_t | x_1 ... x_{t-1})``: the next token of running text, a mean over tokens (Radford et al., 2018).

    A batch has ``windows`` windows of ``length`` tokens or one fewer; what is read is never padded. ``vocabulary`` is
    declared: the model has as many rows, whether or not the tokenizer finds as many pieces. ``z_loss`` adds that weight
    times (log Z)² a token to what is trained on, 1e-4 in PaLM (Chowdhery et al., 2022); never to ``nll``.
    """
    return LanguageModeling(
        draw=draw,
        roots=roots,
        corpus=corpus,
        tokenizer=tokenizer,
        size=vocabulary,
        length=length,
        windows=windows,
        label_smoothing=label_smoothing,
        z_loss=z_loss,
    )
