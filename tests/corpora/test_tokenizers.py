"""Byte-pair encoding, WordPiece and whole words: bounded, the same in every process, and text that comes back."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.corpora.toy_finance import toy_finance
from lnlab.corpora.toy_german_english import toy_german_english
from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD, SPECIAL, UNK, BytePairs, bpe, tokenizers
from lnlab.corpora.vocabulary.wordpiece import wordpiece
from lnlab.corpora.vocabulary.words import words

SENTENCES = [side for pair in toy_german_english((), train=1500).splits["train"] for side in pair]
NEWS = list(toy_finance((), sentences=600).sentences)
LOWER = bpe([*SENTENCES, "\u0130 \u212a ẞ é"], 300, lowercase=True)
WORDS = [words(SENTENCES, 80, lowercase=lowercase) for lowercase in (False, True)]
LEARNED = {"bpe": (bpe, SENTENCES, 600), "wordpiece": (wordpiece, NEWS, 500)}
both_kinds = pytest.mark.parametrize("kind", LEARNED)


@pytest.fixture(scope="module")
def learned() -> BytePairs:
    return bpe(SENTENCES, 600)


@both_kinds
def test_the_declared_vocabulary_is_used_whole_with_special_tokens_first(kind):
    learn, texts, size = LEARNED[kind]
    tokenizer = learn(texts, size)
    rows = tokenizer.encode(texts)
    assert [tokenizer.words[word] for word in SPECIAL] == [PAD, BOS, EOS, UNK] == [0, 1, 2, 3]
    assert tokenizer.marks == (BOS, EOS)
    assert sorted(tokenizer.words.values()) == list(range(size))
    assert {token for row in rows for token in row} <= {*range(UNK + 1, size)}


@both_kinds
@pytest.mark.parametrize("size", [16, 21, 40, 100])
def test_a_vocabulary_smaller_than_the_alphabet_is_still_a_maximum(kind, size):
    learn, texts, _ = LEARNED[kind]
    small = learn(texts, size)
    tokens = {token for row in small.encode(texts) for token in row}
    assert max(tokens) < len(small.words) <= size
    assert PAD not in tokens
    assert (UNK in tokens) == (size < 100)


@pytest.mark.parametrize("learn", [bpe, wordpiece, words])
def test_a_text_cannot_smuggle_in_special_tokens_and_an_empty_one_has_none(learn):
    tokenizer = learn([*SENTENCES[:50], "b a <eos>"], 100)
    for text in ("<pad>", "a <eos> b", "<bos><unk>", "<eos> <pad>"):
        assert not {PAD, BOS, EOS} & {*tokenizer.encode([text])[0]}
    assert tokenizer.encode(["", "  "]) == [[], []]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "words"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_lower_case_is_a_choice(kind, lowercase):
    tokenizer = tokenizers.builder(tokenizers.resolve({"kind": kind, "lowercase": lowercase}))(["Öl öl Öl", "Ol"], 60)
    one, other = tokenizer.encode(["Öl", "öl"])
    assert (one == other) is lowercase
    assert tokenizer.decode(one) == ("Öl" if not lowercase else "ol" if kind == "wordpiece" else "öl")


PROGRAM = """
from lnlab.corpora.vocabulary.tokenizers import bpe
from lnlab.corpora.vocabulary.wordpiece import wordpiece
from lnlab.corpora.toy_german_english import toy_german_english
from lnlab.corpora.toy_finance import toy_finance
from lnlab.keys import digest
pairs = [side for pair in toy_german_english((), train=1500).splits["train"] for side in pair]
news = toy_finance((), sentences=600).sentences
learned = [(learn(texts, size), texts) for learn, texts in ((bpe, pairs), (wordpiece, news)) for size in (18, 45, 500)]
print(digest([[each.words, each.encode(texts)] for each, texts in learned]))
"""


def test_every_process_and_number_of_threads_learns_the_same():
    """Also where the alphabet is cut off among equally frequent letters."""
    found = set()
    for seed, parallel, threads in (("0", "false", "1"), ("1", "true", "4")):
        threading = {"TOKENIZERS_PARALLELISM": parallel, "RAYON_NUM_THREADS": threads}
        environment = os.environ | {"PYTHONHASHSEED": seed} | threading
        command = [sys.executable, "-c", PROGRAM]
        found.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


# --- byte pairs


@given(st.lists(st.text(st.sampled_from("aDi. ,!▁<eo>\t\n\x1c\x85\u2028\u00a0\u0301\u212a\u0130İéẞß中")), max_size=6))
def test_words_encoded_once_give_the_tokens_of_whole_texts(learned, texts):
    for tokenizer in (learned, LOWER, *WORDS):
        expected = [tokenizer._model.encode(text, add_special_tokens=False).ids for text in texts]
        assert tokenizer.encode(texts) == expected


def test_decoding_gives_the_text_back_however_many_are_encoded_at_once(learned, monkeypatch):
    rows = learned.encode(SENTENCES)
    assert [learned.decode([BOS, *tokens, EOS, PAD, PAD]) for tokens in rows] == SENTENCES
    monkeypatch.setattr("lnlab.corpora.vocabulary.tokenizers.TEXTS_AT_ONCE", 7)
    assert learned.encode(SENTENCES) == rows


def test_the_most_frequent_pair_is_merged_first():
    """Counted by hand: the word mark and a stand side by side three times, a and b twice, x and y once."""
    before, after = (bpe(["ab ab", "a xy"], size).words for size in (9, 10))
    assert sorted(before, key=before.get)[4:8] == ["a", "b", "x", "y"]
    assert set(after) - set(before) == {"▁a"}
    assert len(bpe(["ab ab"], 500).words) < 20  # a small text has fewer tokens than declared


def test_words_and_marks_of_punctuation_are_never_one_piece(learned):
    assert not [word for word in learned.words if len(word) > 1 and any(c in word for c in ",.?") and "<" not in word]
    first, second, unseen = learned.encode(["Der Mann", "Der Mann.", "Ω"])
    assert second[: len(first)] == first
    assert UNK in unseen


def test_composed_and_decomposed_letters_are_the_same(learned):
    assert learned.encode(["scha\u0308ft"]) == learned.encode(["schäft"])


KNOWN = bpe(["abcdefghijklmnopqrstuvwxyzäöüß ,.? ab cd ab cd ef"], 60)


@given(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyzäöüß ,.?"), max_size=40).map("".join))
def test_any_text_of_known_letters_comes_back_with_single_spaces(text):
    assert KNOWN.decode(KNOWN.encode([text])[0]) == " ".join(text.split())


# --- whole words

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
