"""Corpora from text files: splits, held-out pairs, and reading each file once."""

from collections import Counter

import pytest

from lnlab.corpora.files import parallel
from lnlab.corpora.files.parallel import ABSENT, content_of, parallel_corpus

N = 4000


@pytest.fixture
def files(root):
    """Train, validation and test files; a tenth of the training sentences occur twice."""

    def write(name, pairs):
        sides = root / f"{name}.de", root / f"{name}.en"
        for path, side in zip(sides, zip(*pairs, strict=True), strict=True):
            path.write_text("\n".join(side) + "\n")
        return sides

    pairs = [(f"Satz {i % (N * 9 // 10)}", f"sentence {i}") for i in range(N)]
    return {
        "train": write("train", pairs),
        "validation": write("val", [("a", "b")]),
        "test": write("test", [("c", "d")]),
    }


def test_given_files_are_the_splits(files):
    files["test"][0].write_text("ein Spiel@@ platz am Wald@@ rand\n")
    corpus = parallel_corpus(files["train"], files["validation"], files["test"], held_out=0.3, joined="@@ ")
    assert len(corpus.splits["train"]) == N
    assert list(corpus.splits["validation"]) == [("a", "b")]
    assert list(corpus.splits["test"]) == [("ein Spielplatz am Waldrand", "d")]
    assert not corpus.printable
    splits = parallel_corpus(files["train"], held_out=0.0).splits
    assert {name: len(pairs) for name, pairs in splits.items()} == {"train": N, "validation": 0, "test": 0}


@pytest.mark.parametrize("given", ["validation", "test", None])
def test_what_is_not_given_is_held_out_and_nothing_is_lost(files, given):
    others = {given: files[given]} if given else {}
    corpus = parallel_corpus(files["train"], **others, held_out=0.1)
    made = [name for name in ("validation", "test") if name != given]
    held = [pair for name in made for pair in corpus.splits[name]]
    read = parallel.read_pairs(*files["train"])
    assert Counter(held) + Counter(corpus.splits["train"]) == Counter(read)
    for name in made:
        assert len(corpus.splits[name]) == pytest.approx(0.1 * N, rel=0.2)


def test_equal_sentences_are_never_on_both_sides_and_adding_lines_moves_no_pair(files):
    splits = parallel_corpus(files["train"], held_out=0.2).splits
    sources = [{source for source, _ in splits[name]} for name in ("train", "validation", "test")]
    assert not (sources[0] & sources[1] | sources[0] & sources[2] | sources[1] & sources[2])
    for path in files["train"]:
        path.write_text(path.read_text() + "noch einer\n")
    after = parallel_corpus(files["train"], held_out=0.2).splits
    assert set(splits["validation"]) <= set(after["validation"])
    assert set(splits["test"]) <= set(after["test"])


def test_files_are_read_once_and_again_when_they_change(files, monkeypatch):
    first = parallel_corpus(files["train"])
    monkeypatch.setattr(parallel, "read_pairs", None)
    assert parallel_corpus(files["train"]) is first
    monkeypatch.undo()
    files["train"][0].write_text("\n".join(f"anders {i}" for i in range(N)))
    assert parallel_corpus(files["train"]).digest != first.digest


def test_a_fingerprint_follows_content_and_nothing_else(root):
    one, two = root / "one", root / "two"
    one.write_text("text")
    two.write_text("text")
    assert content_of([one]) == content_of([two])
    two.write_text("other text")
    assert content_of([one]) != content_of([two])
    assert content_of(None) == ABSENT
