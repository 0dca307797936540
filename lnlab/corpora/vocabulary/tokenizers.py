"""From sentences to tokens and back, the registry of tokenizers, and byte-pair encoding.

A tokenizer is learned from the training side of a corpus. A builder is ``(texts, size, *, ...) -> Tokenizer``. One that
reads a file takes the data roots as third argument and has the facts of a corpus.

In byte-pair encoding a word begins with a mark in place of the space before it and marks of punctuation stand alone, so
that decoding is exact up to runs of white space. Choices that could depend on the order of a hash table or of threads
are fixed here: the characters of the alphabet, and that no suffix marks the ends of words.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Model

from lnlab.corpora.corpus import TextFacts
from lnlab.registry import Registry, Roots, supplied_parameters

# Workers have one thread each; the results are the same with any number.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
WORD_MARK = "▁"
"""What stands for the space before a word, the first one included."""
WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""White space by Unicode. The \\s of Python has four characters more."""
TEXTS_AT_ONCE = 100_000
"""Texts whose words are held in memory at the same time."""
LONGEST_WORD = 1_000
"""Characters of a word that a vocabulary is learned from in one piece."""
OVERLONG = re.compile(rf"[^ \t\r\n]{{{LONGEST_WORD + 1}}}")


class Tokenizer(Protocol):
    """Text to tokens and back. Tokens are above 0 and below the declared vocabulary."""

    @property
    def marks(self) -> tuple[int, int]:
        """The tokens that begin and end a sentence that is read as a whole. No text has them."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, without begin and end marks."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without begin marks, end marks and padding."""
        ...


tokenizers: Registry[Callable[..., Tokenizer]] = Registry("tokenizer", TextFacts)


def learn_tokenizer(build: Callable[..., Tokenizer], texts: Sequence[str], size: int, roots: Roots) -> Tokenizer:
    """The tokenizer of a builder whose parameters are bound, from the texts of a training side.

    Raises:
        CorpusError: a file that it reads is absent or damaged.
    """
    reads = len(supplied_parameters(getattr(build, "func", build))) > 2
    return build(texts, size, roots) if reads else build(texts, size)


class BytePairs:
    """A learned byte-pair encoding.

    Attributes:
        marks: the tokens that begin and end a sentence.
    """

    marks = BOS, EOS

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def words(self) -> dict[str, int]:
        """Every piece with its token."""
        vocabulary: dict[str, int] = self._model.get_vocab()
        return vocabulary

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, without begin and end marks.

        Pieces never reach over white space, so each word is encoded by itself, and once however often it occurs.
        """
        tokens: dict[str, list[int]] = {}
        encoded: list[list[int]] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            rows = [_words(text) for text in texts[start : start + TEXTS_AT_ONCE]]
            fresh = list({word for row in rows for word in row if word not in tokens})
            found = self._model.encode_batch_fast(fresh, add_special_tokens=False)
            tokens.update((word, each.ids) for word, each in zip(fresh, found, strict=True))
            encoded += [list(chain.from_iterable(map(tokens.__getitem__, row))) for row in rows]
        return encoded

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        text: str = self._model.decode(list(tokens))
        return text


def _words(text: str) -> list[str]:
    # The first word has no mark where white space stands before it or a mark of its own begins it.
    return [text] if WORD_MARK in text or text[:1].isspace() else WHITE_SPACE.split(text)


@tokenizers.register("bpe")
def bpe(texts: Iterable[str], size: int, *, lowercase: bool = False) -> Tokenizer:
    """``merge the most frequent pair``: byte-pair encoding, one vocabulary for both languages (Sennrich et al., 2016).

    ``size`` is the most tokens there may be, the four special ones included; a small text gives fewer. Characters
    that do not fit, and those never seen in training, become ``<unk>``.
    """
    model = untrained(models.BPE(unk_token=SPECIAL[UNK]), lowercase=lowercase)
    texts = list(texts)
    counts = Counter(chain.from_iterable(model.normalizer.normalize_str(text) for text in texts))
    counts[WORD_MARK] = counts.pop(" ", 0) + len(texts)
    alphabet = most_frequent(counts, size - len(SPECIAL))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    if any(OVERLONG.search(text) for text in texts):
        # The trainer takes the square of a word's length, so that one of 300,000 letters would never end. It learns
        # from the thousands that such a word is made of, and all other words are learned as they are.
        reading = model.pre_tokenizer
        cut = pre_tokenizers.Split(Regex(f".{{1,{LONGEST_WORD}}}"), "isolated")
        model.pre_tokenizer = pre_tokenizers.Sequence([reading, cut])
        model.train_from_iterator(texts, trainer, length=len(texts))
        model.pre_tokenizer = reading
    else:
        model.train_from_iterator(texts, trainer, length=len(texts))
    model.encode_special_tokens = True  # or else a text that contains "<eos>" would end at it
    return BytePairs(model)


def untrained(kind: models.Model, *, lowercase: bool) -> Model:
    """Build an untrained model that collapses white space, marks the start of words, and isolates punctuation."""
    model = Model(kind)
    steps = [normalizers.NFC(), *([normalizers.Lowercase()] if lowercase else [])]
    model.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    mark = pre_tokenizers.Metaspace(prepend_scheme="first")
    model.pre_tokenizer = pre_tokenizers.Sequence([mark, pre_tokenizers.Punctuation("isolated")])
    model.decoder = decoders.Metaspace(prepend_scheme="first")
    return model


def most_frequent(counts: Mapping[str, int], room: int) -> list[str]:
    """The ``room`` most frequent characters. Equally frequent ones are in the order of their codes."""
    return sorted(sorted(counts), key=counts.__getitem__, reverse=True)[:room]
