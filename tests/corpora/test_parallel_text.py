"""Any two text files, named by a spec."""

import gzip

import pytest

from lnlab.corpora.corpus import corpora
from lnlab.corpora.parallel_text import parallel_text
from lnlab.errors import CorpusError


@pytest.fixture
def files(root):
    (root / "a.de").write_text("\n".join(f"Satz {i}" for i in range(200)))
    (root / "a.en.gz").write_bytes(gzip.compress("\n".join(f"sentence {i}" for i in range(200)).encode()))
    return root


def built(root, **given):
    return corpora.builder(corpora.resolve({"kind": "parallel_text"} | given))((root,))


def test_two_files_become_a_corpus_and_each_split_may_have_files_of_its_own(files):
    corpus = built(files, train=["a.de", "a.en.gz"], held_out=0.2)
    assert sum(map(len, corpus.splits.values())) == 200
    assert all(corpus.splits.values())
    assert ("Satz 7", "sentence 7") in {pair for pairs in corpus.splits.values() for pair in pairs}
    assert not corpus.printable
    assert len(parallel_text((files,), train=["a.de", "a.en.gz"], held_out=0.0).splits["train"]) == 200
    (files / "v.de").write_text("eins\n")
    (files / "v.en").write_text("one\n")
    corpus = built(files, train=["a.de", "a.en.gz"], validation=["v.de", "v.en"], test=["v.de", "v.en"])
    assert [len(corpus.splits[name]) for name in ("train", "validation", "test")] == [200, 1, 1]


def test_an_absent_file_is_named_with_the_folders_that_were_searched(files):
    with pytest.raises(CorpusError, match=f"'none.en'.*{files}"):
        built(files, train=["a.de", "none.en"])


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a\x00b"])
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_no_file_of_any_split_lies_outside(files, path, split):
    """Said when the spec is checked, by the key, and again when it runs."""
    (files.parent / "secret").write_text("secret")
    given = {"kind": "parallel_text", "train": ["a.de", "a.en.gz"], split: ["a.de", path]}
    choice = corpora.resolve(given)
    with pytest.raises(CorpusError, match=r"leads out|not a path"):
        corpora.key(choice, (files,))
    with pytest.raises(CorpusError, match=r"leads out|not a path"):
        corpora.builder(choice)((files,))


def test_the_key_follows_the_content_of_the_files_that_are_there(files):
    choice = corpora.resolve({"kind": "parallel_text", "train": ["a.de", "a.en.gz"], "test": ["a.de", "none"]})
    found = corpora["parallel_text"].facts.inputs((files,), choice)
    assert [path.name for path in found] == ["a.de", "a.en.gz", "a.de"]
    choice = corpora.resolve({"kind": "parallel_text", "train": ["a.de", "a.en.gz"]})
    first = corpora.key(choice, (files,))
    assert corpora.key(choice, (files,)) == first
    (files / "a.de").write_text("\n".join(f"Zeile {i}" for i in range(200)))
    changed = corpora.key(choice, (files,))
    (files / "a.de").unlink()
    assert len({first, changed, corpora.key(choice, (files,))}) == 3
