"""The generated corpus: sizes, distinctness, and Zipf's law."""

import math
import re
from collections import Counter

import pytest

from lnlab.corpora.toy_german_english import toy_german_english


@pytest.fixture(scope="module")
def corpus():
    return toy_german_english(())


def test_it_has_the_default_sizes_and_no_sentence_twice(corpus):
    assert {name: len(pairs) for name, pairs in corpus.splits.items()} == {
        "train": 20_000,
        "validation": 1_000,
        "test": 1_000,
    }
    assert corpus.printable
    german = [source for pairs in corpus.splits.values() for source, _ in pairs]
    assert len(set(german)) == 22_000
    words = {word.lower() for pair in corpus.splits["train"] for word in re.findall(r"\w+", " ".join(pair))}
    assert len(words) > 2_000


@pytest.mark.parametrize("side", [0, 1], ids=["German", "English"])
def test_word_frequencies_fall_about_like_one_over_rank(corpus, side):
    """The slope of log frequency over log rank, ranks 1 to 300, by least squares: near -1, and nearly straight."""
    words = Counter(word.lower() for pair in corpus.splits["train"] for word in re.findall(r"\w+", pair[side]))
    top = [count for _, count in words.most_common(300)]
    x = [math.log(rank) for rank in range(1, 301)]
    y = [math.log(count) for count in top]
    mean_x, mean_y = sum(x) / 300, sum(y) / 300
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    xx, yy = sum((a - mean_x) ** 2 for a in x), sum((b - mean_y) ** 2 for b in y)
    assert -1.2 < xy / xx < -0.8
    assert xy**2 / (xx * yy) > 0.97


def test_a_smaller_training_set_begins_a_larger_one_and_equal_sizes_share_one_corpus(corpus):
    small = toy_german_english((), train=500)
    assert small.splits["train"] == corpus.splits["train"][:500]
    assert small.splits["validation"] == corpus.splits["validation"]
    assert small.splits["test"] == corpus.splits["test"]
    assert small.digest != corpus.digest
    assert toy_german_english(()) is corpus
