"""Words drawn from a corpus's own frequencies: what stays, what goes, and that the same is drawn every time."""

from collections import Counter
from functools import partial
from math import log

import pytest

from lnlab.corpora.independent_words import independent_words
from lnlab.corpora.toy_finance import toy_finance


@pytest.fixture(scope="module")
def corpora():
    """The generated news, and its independent words."""
    return toy_finance(()), independent_words((), of=partial(toy_finance, sentences=2_264))


def test_labels_and_lengths_stay(corpora):
    text, words = corpora
    assert (words.labels, words.names, words.printable) == (text.labels, text.names, text.printable)
    assert [len(s.split()) for s in words.sentences] == [len(s.split()) for s in text.sentences]
    assert words.digest != text.digest == toy_finance(()).digest
    assert words.digest == independent_words((), of=partial(toy_finance, sentences=2_264)).digest


def test_words_are_as_frequent_as_in_the_text(corpora):
    """Each within five standard deviations of a binomial count."""
    text, words = (Counter(word for s in corpus.sentences for word in s.split()) for corpus in corpora)
    n = text.total()
    assert words.total() == n
    assert set(words) <= set(text)
    for word, count in text.items():
        assert abs(words[word] - count) <= 5 * (count * (1 - count / n)) ** 0.5


def test_neighbours_and_labels_are_independent(corpora):
    """The information of a pair of neighbours, and of a word on its label, is little more than the sampling's own."""
    text, words = corpora
    assert information(pairs(text)) > 3 * information(pairs(words))
    assert information(with_labels(text)) > 3 * information(with_labels(words))


def pairs(corpus):
    return [pair for s in corpus.sentences for pair in zip(s.split(), s.split()[1:], strict=False)]


def with_labels(corpus):
    return [(w, label) for s, label in zip(corpus.sentences, corpus.labels, strict=True) for w in s.split()]


def information(pairs):
    """The plug-in mutual information of two words, in nats."""
    joint, left, right = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    n = len(pairs)
    return sum(c / n * log(c * n / left[a] / right[b]) for (a, b), c in joint.items())
