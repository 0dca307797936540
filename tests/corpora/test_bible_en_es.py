"""The Bible in two languages, on the real files and on damaged ones."""

import gzip

import pytest

from lnlab.corpora.bible_en_es import bible_en_es, bible_text
from lnlab.corpora.corpus import corpora
from lnlab.corpora.listing import corpus_listings
from lnlab.corpora.text import text_corpora
from lnlab.errors import CorpusError


@pytest.mark.data
def test_the_real_files_have_the_numbers_of_verses_that_are_told(bible_root):
    corpus = bible_en_es((bible_root,))
    assert {name: len(pairs) for name, pairs in corpus.splits.items()} == {
        "train": 28_519,
        "validation": 949,
        "test": 1_116,
    }
    assert not corpus.printable
    english, spanish = corpus.splits["train"][0]
    assert english.startswith("In the beginning God created")
    assert spanish.startswith("En el principio crió Dios")


@pytest.mark.data
@pytest.mark.parametrize(("language", "side"), [("en", 0), ("es", 1)])
def test_running_text_is_one_side_of_the_pairs_in_their_order(bible_root, language, side):
    pairs = bible_en_es((bible_root,)).splits
    text = bible_text((bible_root,), language=language).splits
    assert {split: list(text[split]) for split in text} == {
        split: [pair[side] for pair in pairs[split]] for split in pairs
    }


@pytest.mark.data
def test_hardly_a_held_out_verse_is_told_a_second_time_in_training(bible_root):
    """The books quote one another: 9 of 949 and 8 of 1,116 verses."""
    splits = bible_text((bible_root,)).splits
    train = set(splits["train"])
    assert [sum(verse in train for verse in splits[split]) for split in ("validation", "test")] == [9, 8]


@pytest.mark.parametrize("build", [bible_en_es, bible_text])
def test_absent_and_changed_files_are_refused_with_the_place_they_come_from(root, build):
    with pytest.raises(CorpusError) as absent:
        build((root,))
    (root / "bible_kjv_rv1909").mkdir()
    (root / "bible_kjv_rv1909/train.en.gz").write_bytes(gzip.compress(b"In the beginning\n"))
    with pytest.raises(CorpusError) as changed:
        build((root,))
    issues = [error.value.issues[0] for error in (absent, changed)]
    assert [issue.code for issue in issues] == ["not-found", "no-effect"]
    assert all("bible-kjv" in issue.remedy and "fetch" not in issue.remedy for issue in issues)


def test_keys_are_the_same_with_and_without_the_files(root):
    for registry in (corpora, text_corpora):
        entry = registry["bible_en_es"]
        assert entry.facts.content((), {}) == entry.facts.content((root,), {})
    languages = [text_corpora.key(text_corpora.resolve({"kind": "bible_en_es", "language": x})) for x in ("en", "es")]
    assert len(set(languages)) == 2
    listed = [each for each in corpus_listings((root,)) if each.name == "bible_en_es"]
    assert {(each.state, each.fetchable) for each in listed} == {("absent", False)}
