"""Splits of labelled sentences: every sentence once, every label by its share, another split for every seed."""

from collections import Counter
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnlab.corpora.corpus import SPLITS
from lnlab.corpora.financial_phrasebank import financial_phrasebank
from lnlab.corpora.labelled import labelled_of
from lnlab.randomness import Draw
from lnlab.tasks.splitting import selected, split_sizes, stratified

NAMES = ("bad", "good")
SHARES = st.sampled_from([(0.8, 0.1, 0.1), (0.8, 0.2, 0.0), (1.0, 0.0, 0.0), (0.34, 0.33, 0.33), (0.5, 0.25, 0.25)])


def corpus(*rows):
    return labelled_of(rows, NAMES, printable=True)


def test_the_first_of_equal_sentences_is_left_and_one_with_two_labels_has_none(golden):
    given = corpus(("Sales rose .", "good"), ("It fell .", "bad"), ("sales  ROSE .", "good"), ("Sales rose", "good"))
    assert selected(given).positions == [0, 1, 3]
    assert selected(corpus(("a", "good"), ("b", "bad"), ("A", "bad"), ("c", "good"))).positions == [1, 3]
    chosen = selected(corpus(*[("a", "good"), ("b", "bad")] * 100, ("c", "good"), ("C", "bad")))
    assert chosen.positions == [0, 1]
    golden(chosen.left_out)
    assert selected(corpus(("a", "good"), ("b", "bad"))).left_out == ""


@pytest.mark.data
@pytest.mark.parametrize(("agreement", "left"), [("all", 2_259), ("50", 4_836)])
def test_what_is_left_of_the_phrasebank(phrasebank_root, agreement, left):
    """5 lines occur twice; where half agreed 8, two of them with two labels: 4,838 different ones, less those two."""
    assert len(selected(financial_phrasebank((phrasebank_root,), agreement=agreement)).positions) == left


@given(st.lists(st.integers(0, 2), max_size=80), SHARES, st.integers(0, 10**9))
def test_every_row_stands_in_one_split_and_every_label_has_its_share(labels, shares, seed):
    found = stratified(torch.tensor(labels, dtype=torch.int64), ("a", "b", "c"), shares, Draw(seed))
    assert list(found) == list(SPLITS)
    assert sorted(row for rows in found.values() for row in rows.tolist()) == list(range(len(labels)))
    whole = Counter(labels)
    for split, share in zip(SPLITS, shares, strict=True):
        part = Counter(labels[row] for row in found[split].tolist())
        assert all(abs(part[label] - share * n) <= 1 for label, n in whole.items())


WORDS = st.sampled_from(["up", "Up", "UP ", "down", " down", "flat", "x", "y", "z"])


@given(st.lists(st.tuples(WORDS, st.sampled_from(NAMES)), max_size=40), SHARES, st.integers(0, 10**9))
def test_no_sentence_stands_in_two_splits_for_any_seed(rows, shares, seed):
    given = corpus(*rows)
    places = selected(given).positions
    found = stratified(torch.tensor([given.labels[p] for p in places]).long(), NAMES, shares, Draw(seed))
    texts = {split: {given.sentences[places[row]].strip().lower() for row in found[split].tolist()} for split in SPLITS}
    assert sum(map(len, texts.values())) == len(set.union(*texts.values())) == len(places)


@given(st.integers(0, 5_000), SHARES)
def test_sizes_are_the_differences_of_rounded_sums(number, shares):
    """Computed with fractions: none is further than half a sentence from its sum."""
    found = split_sizes(number, shares)
    assert sum(found) == number
    assert min(found) >= 0
    exact = [Fraction(str(share)) for share in shares]
    for end in (1, 2):
        assert abs(sum(found[:end]) - number * sum(exact[:end])) <= Fraction(1, 2)


def test_the_sizes_of_the_study():
    """80 % of 1,386 + 570 + 303 sentences, label by label: 1,109 + 456 + 242."""
    assert [sum(part) for part in zip(*(split_sizes(n, (0.8, 0.2, 0)) for n in (1_386, 570, 303)), strict=True)] == [
        1_807,
        452,
        0,
    ]


def test_another_seed_draws_another_split_and_a_sentence_is_in_each_as_often_as_its_share_says():
    labels = torch.tensor([0, 1] * 50)
    first, again, other = (stratified(labels, NAMES, (0.5, 0.5, 0), Draw(seed))["train"] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    # Over 400 seeds: 0.8, 0.1, 0.1 of 400, give or take 4.5 standard deviations.
    labels = torch.tensor([0] * 20 + [1] * 10)
    counts = {split: torch.zeros(30) for split in SPLITS}
    for seed in range(400):
        for split, rows in stratified(labels, NAMES, (0.8, 0.1, 0.1), Draw(seed)).items():
            counts[split][rows] += 1
    for split, share in zip(SPLITS, (0.8, 0.1, 0.1), strict=True):
        assert (counts[split] - 400 * share).abs().max() < 4.5 * (400 * share * (1 - share)) ** 0.5
