"""Whole words: the most frequent ones, in one order on every machine, and text that comes back."""

import pytest

from lnlab.corpora.vocabulary.tokenizers import SPECIAL, UNK, tokenizers
from lnlab.corpora.vocabulary.words import words

TEXTS = ["Ein Haus, ein Hund.", "ein Haus und ein Hund", "b a <eos>"]


def test_the_most_frequent_words_come_first_and_equal_ones_by_their_characters():
    found = sorted(words(TEXTS, 12).words.items(), key=lambda pair: pair[1])
    assert [word for word, _ in found] == [*SPECIAL, "▁ein", "▁Haus", "▁Hund", ",", ".", "<", ">", "eos"]
    assert [number for _, number in found] == list(range(12))


def test_what_does_not_fit_is_unknown_and_the_rest_comes_back():
    small, whole = words(TEXTS, 7), words(TEXTS, 100)
    assert small.encode(["ein Hund bellt"]) == [[4, 6, UNK]]
    (tokens,) = whole.encode(["Ein   Hund, und ein Haus."])
    assert whole.decode(tokens) == "Ein Hund, und ein Haus."


def test_a_text_cannot_say_a_mark_of_ours():
    (tokens,) = words(TEXTS, 100).encode(["<eos> <pad>"])
    assert min(tokens) >= UNK


@pytest.mark.parametrize("lowercase", [True, False])
def test_lower_case_is_a_choice(lowercase):
    tokenizer = tokenizers.builder({"kind": "words", "lowercase": lowercase})(TEXTS, 100)
    one, other = tokenizer.encode(["Ein", "ein"])
    assert (one == other) is lowercase
