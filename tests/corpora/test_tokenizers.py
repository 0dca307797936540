"""Byte-pair encoding: exact both ways, bounded, and the same in every process."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.corpora.toy_german_english import toy_german_english
from lnlab.corpora.vocabulary import words
from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD, UNK, BytePairs, bpe, tokenizers
from lnlab.keys import digest

SENTENCES = [side for pair in toy_german_english((), train=1500).splits["train"] for side in pair]


# One digest for each version of the entry: when the tokens change, its version rises and a line is added.
TOKENS = {1: "9767cf050071272d141993233f97ec779c6e1c4e2e669439c0ebb13a98b3e4f7"}


LOWER = bpe([*SENTENCES, "\u0130 \u212a ẞ é"], 300, lowercase=True)
WORDS = [words.words(SENTENCES, 80, lowercase=lowercase) for lowercase in (False, True)]


@pytest.fixture(scope="module")
def learned() -> BytePairs:
    return bpe(SENTENCES, 600)


def test_the_tokens_are_those_of_its_version(learned):
    assert digest([learned.words, learned.encode(SENTENCES)]) == TOKENS[tokenizers["bpe"].version]


@given(st.lists(st.text(st.sampled_from("aDi. ,!▁<eo>\t\n\x1c\x85\u2028\u00a0\u0301\u212a\u0130İéẞß中")), max_size=6))
def test_words_encoded_once_give_the_tokens_of_whole_texts(learned, texts):
    for tokenizer in (learned, LOWER, *WORDS):
        expected = [tokenizer._model.encode(text, add_special_tokens=False).ids for text in texts]
        assert tokenizer.encode(texts) == expected


def test_however_many_texts_are_encoded_at_once(learned, monkeypatch):
    expected = learned.encode(SENTENCES)
    monkeypatch.setattr("lnlab.corpora.vocabulary.tokenizers.TEXTS_AT_ONCE", 7)
    assert learned.encode(SENTENCES) == expected


def test_special_tokens_come_first(learned):
    assert {word: learned.words[word] for word in ("<pad>", "<bos>", "<eos>", "<unk>")} == {
        "<pad>": 0,
        "<bos>": 1,
        "<eos>": 2,
        "<unk>": 3,
    }
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)


def test_decoding_gives_the_text_back(learned):
    assert [learned.decode(tokens) for tokens in learned.encode(SENTENCES)] == SENTENCES


def test_special_tokens_are_left_out_of_the_text(learned):
    [tokens] = learned.encode(["Der Mann schläft."])
    assert learned.decode([BOS, *tokens, EOS, PAD, PAD]) == "Der Mann schläft."


def test_the_declared_vocabulary_is_used_whole_and_never_exceeded(learned):
    assert len(learned.words) == 600
    assert max(max(tokens) for tokens in learned.encode(SENTENCES)) < 600
    assert sorted(learned.words.values()) == list(range(600))


@pytest.mark.parametrize("size", [16, 20, 40, 100])
def test_a_vocabulary_smaller_than_the_alphabet_is_still_a_maximum(size):
    small = bpe(SENTENCES, size)
    tokens = [token for row in small.encode(SENTENCES) for token in row]
    assert len(small.words) == size
    assert max(tokens) < size
    assert (UNK in tokens) == (size < 100)


def test_a_small_text_gives_fewer_tokens_than_declared():
    assert len(bpe(["ab ab"], 500).words) < 20


def test_the_most_frequent_pair_is_merged_first():
    """Counted by hand: the word mark and a stand side by side three times, a and b twice, x and y once."""
    words = bpe(["ab ab", "a xy"], 9).words
    assert [word for word, token in sorted(words.items(), key=lambda item: item[1]) if token >= 4][:4] == [
        "a",
        "b",
        "x",
        "y",
    ]
    merged = bpe(["ab ab", "a xy"], 10).words
    assert set(merged) - set(words) == {"▁a"}


def test_words_and_marks_of_punctuation_are_never_one_piece(learned):
    assert not [word for word in learned.words if len(word) > 1 and any(c in word for c in ",.?") and "<" not in word]


def test_a_word_is_the_same_at_the_end_of_a_sentence_and_within(learned):
    first, second = learned.encode(["Der Mann", "Der Mann."])
    assert second[: len(first)] == first


def test_what_was_never_seen_becomes_unknown(learned):
    [tokens] = learned.encode(["Ω"])
    assert UNK in tokens


def test_a_text_cannot_smuggle_in_special_tokens(learned):
    for text in ("<pad>", "a <eos> b", "<bos><unk>"):
        [tokens] = learned.encode([text])
        assert not {PAD, BOS, EOS} & set(tokens)


def test_an_empty_text_has_no_tokens(learned):
    assert learned.encode(["", "  "]) == [[], []]


def test_lowercase_is_learned_and_applied():
    lower = bpe(SENTENCES, 400, lowercase=True)
    assert lower.encode(["DER MANN"]) == lower.encode(["der mann"])
    assert lower.decode(lower.encode(["Der Mann SCHLÄFT."])[0]) == "der mann schläft."


def test_composed_and_decomposed_letters_are_the_same(learned):
    assert learned.encode(["scha\u0308ft"]) == learned.encode(["schäft"])


@given(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyzäöüß ,.?"), max_size=40).map("".join))
def test_any_text_of_known_letters_comes_back_with_single_spaces(text):
    tokenizer = _known()
    assert tokenizer.decode(tokenizer.encode([text])[0]) == " ".join(text.split())


def _known(kept=[]):  # noqa: B006 - one tokenizer for all examples
    if not kept:
        kept.append(bpe(["abcdefghijklmnopqrstuvwxyzäöüß ,.? ab cd ab cd ef"], 60))
    return kept[0]


PROGRAM = """
from lnlab.corpora.vocabulary.tokenizers import bpe
from lnlab.corpora.toy_german_english import toy_german_english
from lnlab.keys import digest
texts = [side for pair in toy_german_english((), train=1500).splits["train"] for side in pair]
learned = [bpe(texts, size) for size in (18, 45, 600)]
print(digest([[each.words, each.encode(texts)] for each in learned]))
"""


def test_every_process_and_number_of_threads_learns_the_same():
    """Also where the alphabet is cut off among equally frequent letters."""
    found = set()
    for hash_seed, parallel, threads in (("0", "false", "1"), ("1", "true", "4")):
        environment = os.environ | {
            "PYTHONHASHSEED": hash_seed,
            "TOKENIZERS_PARALLELISM": parallel,
            "RAYON_NUM_THREADS": threads,
        }
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout.strip())
    assert len(found) == 1
