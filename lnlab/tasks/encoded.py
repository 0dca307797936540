"""A corpus as tokens, encoded once per process for all tasks, and put into padded tensors."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import torch
from torch import Tensor

from lnlab.corpora.corpus import Corpus
from lnlab.corpora.vocabulary.tokenizers import EOS, Tokenizer, learn_tokenizer
from lnlab.keys import canonical
from lnlab.registry import Roots

T = TypeVar("T")


@dataclass(frozen=True)
class Sentences:
    """Sentences of different lengths in one tensor, each with its marks.

    Attributes:
        tokens: all tokens, one sentence after another, int64.
        starts: (sentences,), where each begins.
        lengths: (sentences,), number of tokens of each, its marks included.
    """

    tokens: Tensor
    starts: Tensor
    lengths: Tensor

    def padded(self, rows: Tensor, length: int | None = None) -> Tensor:
        """The sentences of ``rows``, padded with 0 to ``length`` or else to the longest: (rows, length)."""
        starts = self.starts[rows]
        lengths = self.lengths[rows]
        position = torch.arange(length or int(lengths.max()))
        present = position < lengths[:, None]
        # An absent place reads the first token of all, and is set to 0.
        return self.tokens[torch.where(present, starts[:, None] + position, 0)] * present

    def repeated(self, rows: Tensor, length: int) -> Tensor:
        """The sentences of ``rows``, each repeated until it has ``length`` tokens: (rows, length)."""
        position = torch.arange(length) % self.lengths[rows][:, None]
        return self.tokens[self.starts[rows][:, None] + position]


@dataclass(frozen=True)
class Recipe:
    """A tokenizer's builder with its parameters, as a value: equal recipes make equal tokenizers."""

    build: Callable[..., Tokenizer]
    params: str

    @classmethod
    def of(cls, bound: Callable[..., Tokenizer]) -> "Recipe":
        """The recipe of a builder whose parameters are bound."""
        return cls(getattr(bound, "func", bound), canonical(getattr(bound, "keywords", {})))


@dataclass(frozen=True)
class Encoded:
    """A corpus as tokens: the sources and the targets of each split, and the tokenizer of all."""

    splits: Mapping[str, tuple[Sentences, Sentences]]
    tokenizer: Tokenizer


_cache: dict[Hashable, Any] = {}
_BLOCK = 10_000
"""Lines that are encoded together."""
CACHE_SIZE = 4
"""Encoded corpora in the memory of a process. The oldest is dropped first."""


def cached_encoding(key: Hashable, encode: Callable[[], T]) -> T:
    """The encoding of this key from the cache of this process, or else from ``encode``, which is then cached."""
    if key not in _cache:
        fresh = encode()
        while len(_cache) >= CACHE_SIZE:
            _cache.pop(next(iter(_cache)))
        _cache[key] = fresh
    encoding: T = _cache[key]
    return encoding


def encoded_corpus(corpus: Corpus, tokenizer: Callable[..., Tokenizer], vocabulary: int, roots: Roots = ()) -> Encoded:
    """The corpus as tokens. Equal corpus, tokenizer and vocabulary share one encoding.

    Raises:
        CorpusError: a file of the tokenizer is absent or damaged.
    """
    key = (corpus.digest, Recipe.of(tokenizer), vocabulary)

    def encode() -> Encoded:  # by a tokenizer that has seen the training side alone
        trained = learn_tokenizer(tokenizer, list(chain.from_iterable(corpus.splits["train"])), vocabulary, roots)
        splits = {}
        for name, pairs in corpus.splits.items():
            sides = [[pair[side] for pair in pairs] for side in (0, 1)]
            splits[name] = (with_end_marks(trained.encode(sides[0])), with_end_marks(trained.encode(sides[1])))
        return Encoded(splits, trained)

    return cached_encoding(key, encode)


def tokens_of(tokenizer: Tokenizer, lines: Sequence[str]) -> Tensor:
    """The tokens of all lines, each closed with an end mark, end to end: (tokens,), int64.

    Some lines at a time, as lists of tokens take several times the memory of a tensor.
    """
    blocks = (tokenizer.encode(lines[start : start + _BLOCK]) for start in range(0, len(lines), _BLOCK))
    return torch.cat([torch.empty(0, dtype=torch.int64), *(with_end_marks(block).tokens for block in blocks)])


def with_end_marks(rows: Sequence[Sequence[int]]) -> Sentences:
    """Lists of tokens, each closed with an end mark."""
    return concatenated([[*row, EOS] for row in rows])


def concatenated(rows: Sequence[Sequence[int]]) -> Sentences:
    """Lists of tokens as they are."""
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    tokens = torch.tensor(list(chain.from_iterable(rows)), dtype=torch.int64)
    return Sentences(tokens, lengths.cumsum(0) - lengths, lengths)  # each begins where those before it end
