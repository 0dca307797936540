"""Whole words and marks of punctuation, the most frequent of a training side, as in tutorials and older papers."""

from collections import Counter
from collections.abc import Iterable

from tokenizers import models

from lnlab.corpora.vocabulary.tokenizers import SPECIAL, UNK, BytePairs, Tokenizer, tokenizers, untrained


@tokenizers.register("words")
def words(texts: Iterable[str], size: int, *, lowercase: bool = False) -> Tokenizer:
    """``the most frequent words that fit``: one vocabulary for both languages, no pieces (Bahdanau et al., 2015).

    All others are ``<unk>``. Marks of punctuation are words, and equally frequent words are taken in the order of their
    characters, so that the vocabulary is the same on every machine. ``size`` counts the four special tokens too.
    """
    steps = untrained(models.WordLevel({}, unk_token=SPECIAL[UNK]), lowercase=lowercase)
    counts: Counter[str] = Counter()
    for text in texts:
        normal = steps.normalizer.normalize_str(text)
        counts.update(word for word, _ in steps.pre_tokenizer.pre_tokenize_str(normal))
    # The special tokens have numbers already, the first ones.
    most_frequent = sorted(counts.keys() - set(SPECIAL), key=lambda word: (-counts[word], word))[: size - len(SPECIAL)]
    numbers = {word: number for number, word in enumerate((*SPECIAL, *most_frequent))}
    return BytePairs(untrained(models.WordLevel(numbers, unk_token=SPECIAL[UNK]), lowercase=lowercase))
