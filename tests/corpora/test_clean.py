"""Which pairs are trained on."""

import time

import pytest

from lnlab.corpora.files.clean import fit_for_training, lowercased, token_count

# Tokens as Moses' tokenizer parts them, joined by spaces again (sacremoses 0.2.0, language en).
MOSES = [
    "One day , Los Angeles Times columnist Steve Lopez was walking along .",
    "I 'm telling a story , and she does n't", "Robert Downey , Jr . acted", "a five-year-old child -- not 17",
    "3.5 million , or 1,000,000 people ...", '" Why ? " ( he said )', "50 % of us !", "",
]  # fmt: skip


@pytest.mark.parametrize("tokens", MOSES)
def test_tokens_are_counted_as_moses_parts_them(tokens):
    """Each line is the text without the spaces that the tokenizer puts in."""
    text = tokens
    for mark in (",", ".", "'m", "n't", "?", "!", "%"):
        text = text.replace(f" {mark}", mark)
    text = text.replace('" Why', '"Why').replace('? "', '?"').replace("( he", "(he").replace("said )", "said)")
    text = text.replace("people ...", "people...")
    assert token_count(text) == len(tokens.split())


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("a b", "a b c", True), ("a b", "a b c d", False), ("a b c d", "a b", False), ("", "", False),
        ("", "a", False), ("a " * 175, "a " * 175, True), ("a " * 176, "a " * 175, False),
        ("a " * 117, "a " * 175, True), ("a " * 116, "a " * 175, False), ("a" * 1000, "b", True),
        ("a" * 1001, "b", False), ("Danke.", "Thank you.", True),
    ],
)  # fmt: skip
def test_lengths_and_ratios_at_their_limits(source, target, kept):
    assert fit_for_training(source, target) is kept


def test_limits_can_be_others_and_lower_case_is_that_of_both_languages():
    assert fit_for_training("a " * 200, "a " * 200, longest=250)
    assert fit_for_training("a", "a b c", ratio=3)
    assert lowercased([("ÄRGER Straße", "I AM")]) == [("ärger straße", "i am")]


def test_counting_takes_time_in_proportion():
    """No text makes the pattern search back and forth."""
    for text in ("1" * 200_000, "1." * 100_000, "'" * 200_000, "a'" * 100_000, "-." * 100_000, "." * 200_000):
        started = time.process_time()
        token_count(text)
        assert time.process_time() - started < 30  # back and forth it takes hours
