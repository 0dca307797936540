"""A corpus as tokens, and the gathering of padded tensors."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnlab.corpora.corpus import corpus_of
from lnlab.corpora.vocabulary.tokenizers import EOS, bpe
from lnlab.tasks import encoded as room
from lnlab.tasks.encoded import encoded_corpus, with_end_marks

PAIRS = [("ein Haus", "a house"), ("ein Hund", "a dog"), ("der Hund", "the dog")]


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    monkeypatch.setattr(room, "_cache", {})


def corpus(pairs=PAIRS):
    return corpus_of(pairs, pairs[:1], [], printable=True)


rows_of_tokens = st.lists(st.lists(st.integers(3, 99), max_size=7), min_size=1, max_size=9)


@given(rows_of_tokens, st.data())
def test_padding_gathers_each_sentence_with_its_end_mark(rows, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5))
    padded = with_end_marks(rows).padded(torch.tensor(chosen))
    expected = [[*rows[i], EOS] for i in chosen]
    longest = max(map(len, expected))
    assert padded.tolist() == [row + [0] * (longest - len(row)) for row in expected]
    assert padded.dtype == torch.int64


def test_no_sentences_are_no_sentences():
    assert len(with_end_marks([]).lengths) == 0


def test_equal_corpora_tokenizers_and_vocabularies_share_one_encoding_of_the_few_that_are_kept():
    first = encoded_corpus(corpus(), partial(bpe, lowercase=False), 50)
    assert encoded_corpus(corpus(list(PAIRS)), partial(bpe, lowercase=False), 50) is first
    build = partial(bpe, lowercase=False)
    made = [encoded_corpus(corpus(), build, size) for size in range(50, 50 + room.CACHE_SIZE + 1)]
    assert len(room._cache) == room.CACHE_SIZE
    assert encoded_corpus(corpus(), build, 50 + room.CACHE_SIZE) is made[-1]
    assert encoded_corpus(corpus(), build, 50) is not made[0]


@pytest.mark.parametrize(
    "other",
    [
        (corpus(PAIRS[:2]), partial(bpe, lowercase=False), 50),
        (corpus(), partial(bpe, lowercase=True), 50),
        (corpus(), partial(bpe, lowercase=False), 51),
        (corpus(), lambda texts, size: bpe(texts, size), 50),
    ],
    ids=["corpus", "parameter", "vocabulary", "builder"],
)
def test_anything_else_is_encoded_anew(other):
    assert encoded_corpus(*other) is not encoded_corpus(corpus(), partial(bpe, lowercase=False), 50)


def test_the_tokenizer_sees_the_training_side_alone():
    seen = []

    def listening(texts, size):
        seen.extend(texts)
        return bpe(texts, size)

    encoded_corpus(corpus_of([("a", "b")], [("c", "d")], [("e", "f")], printable=True), listening, 50)
    assert seen == ["a", "b"]
