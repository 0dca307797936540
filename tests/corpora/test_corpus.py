"""What a corpus is made of, and what the registered ones say of themselves."""

import pytest

from lnlab.corpora import iwslt14, multi30k, parallel_text, toy_german_english
from lnlab.corpora.corpus import SPLITS, corpora, corpus_of

PAIR = ("ein Haus", "a house")


def test_the_digest_is_that_of_the_pairs_and_their_splits():
    one = corpus_of([PAIR], [], [], printable=True)
    assert one.digest == corpus_of([PAIR], [], [], printable=False).digest
    assert one.digest != corpus_of([], [PAIR], [], printable=True).digest
    assert one.digest != corpus_of([PAIR, PAIR], [], [], printable=True).digest
    assert one.digest != corpus_of([("ein", "Haus a house")], [], [], printable=True).digest


def test_every_split_is_there():
    assert tuple(corpus_of([], [], [], printable=True).splits) == SPLITS


@pytest.mark.parametrize("module", [toy_german_english, multi30k, iwslt14, parallel_text])
def test_every_corpus_says_what_it_is_and_a_named_one_whose_it_is(module):
    entry = corpora[module.__name__.rpartition(".")[2]]
    assert entry.summary.startswith("``")
    assert entry.summary.endswith((".", "``.gz``)."))
    if entry.name != "parallel_text":
        assert entry.tags["licence"]
        assert entry.tags["citation"]
