"""The generated news: its proportions, its lengths, what its labels mean, and that words alone do not say it."""

import re
from collections import Counter

import pytest

from lnlab.corpora.toy_finance import toy_finance

REAL = {"neutral": 1_391, "positive": 570, "negative": 303}


@pytest.fixture(scope="module")
def corpus():
    return toy_finance(())


def named(corpus):
    return [(text, corpus.names[label]) for text, label in zip(corpus.sentences, corpus.labels, strict=True)]


def test_every_slot_is_filled(corpus):
    assert corpus.printable
    assert not [text for text in corpus.sentences if re.search(r"[{}]|  | \.\d|_", text)]


def test_its_classes_are_as_large_as_the_real_ones(corpus):
    assert Counter(name for _, name in named(corpus)) == REAL
    for size in (3, 100, 1_999):
        counts = Counter(name for _, name in named(toy_finance((), sentences=size)))
        assert all(abs(counts[name] - size * n / 2_264) < 1 for name, n in REAL.items())


def test_its_lengths_are_like_the_real_ones(corpus):
    """Of the published file: mean 22.4, median 21, 95 % have at most 42, the longest 81."""
    lengths = sorted(len(text.split()) for text in corpus.sentences)
    assert sum(lengths) / len(lengths) == pytest.approx(22.4, abs=2.5)
    assert lengths[len(lengths) // 2] == pytest.approx(21, abs=2)
    assert lengths[int(0.95 * len(lengths))] == pytest.approx(42, abs=5)
    assert 60 < lengths[-1] < 100


def test_no_sentence_occurs_twice_and_a_smaller_corpus_begins_a_larger_one(corpus):
    assert len(set(corpus.sentences)) == len(corpus.sentences) == 2_264
    small = toy_finance((), sentences=300)
    assert named(small) == named(corpus)[:300]
    assert toy_finance((), sentences=300) is small


GAINS = """net sales; operating profit; net profit; turnover; order intake; pretax profit; cash flow from operations;
gross profit; the order backlog; revenue from services; export sales; comparable earnings; rental income;
licence revenue"""
BURDENS = """operating loss; net debt; operating costs; net loss; raw material costs; credit losses; personnel expenses;
pretax loss; financing costs; warranty provisions; the cost of energy; overdue receivables"""
FIGURES = {
    " ".join(word.split()): good for words, good in ((GAINS, True), (BURDENS, False)) for word in words.split(";")
}
FIGURE = "|".join(sorted(FIGURES, key=len, reverse=True))
AMOUNTS = re.compile(
    rf"({FIGURE}) [^,]*?(?:, )?(?:to |at |totalled |amounted to |reached |was )EUR ([\d.]+) mn"
    r"(?: in [^,]*?)?,? (?:in [a-z ]*)?(?:from|compared to|against) EUR ([\d.]+) mn",
    re.IGNORECASE,
)


def test_what_two_amounts_say_is_the_label(corpus):
    """Read independently of the grammar: what rises, and whether that is good; sentences with a concession left out."""
    read = 0
    for text, name in named(corpus):
        found = AMOUNTS.findall(text)
        if len(found) == 1 and "lthough" not in text:
            figure, now, then = found[0]
            rises = float(now) > float(then)
            assert float(now) != float(then)
            assert name == ("positive" if rises == FIGURES[figure.lower()] else "negative"), text
            read += 1
    assert read > 200
