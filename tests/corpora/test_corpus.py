"""What a corpus is made of, and what the registered ones say of themselves."""

import pytest

from lnlab.corpora import corpus as room
from lnlab.corpora.corpus import SPLITS, corpus_of
from lnlab.corpora.labelled import labelled_of
from lnlab.keys import digest


@pytest.mark.parametrize("sizes", [(0, 0, 0), (1, 0, 0), (3, 4, 5), (9, 8, 1)])
def test_the_digest_is_that_of_one_json_text_however_it_is_made(sizes, monkeypatch):
    monkeypatch.setattr(room, "_BLOCK", 4)
    splits = [[(f'Ä"{n}\\', "\u2028") for n in range(size)] for size in sizes]
    whole = [[name, pairs] for name, pairs in zip(SPLITS, splits, strict=True)]
    assert corpus_of(*splits, printable=True).digest == digest(whole)


def test_the_digest_is_that_of_sentences_labels_and_names():
    rows = [("up", "good"), ("down", "bad")]
    one = labelled_of(rows, ("bad", "good"), printable=True)
    assert (one.sentences, one.labels) == (["up", "down"], [1, 0])
    assert one.digest == digest([["bad", "good"], [["up", "good"], ["down", "bad"]]])
    others = [(rows[:1], ("bad", "good")), ([("up", "bad"), rows[1]], ("bad", "good")), (rows, ("good", "bad"))]
    assert one.digest not in {labelled_of(*other, printable=True).digest for other in others}
