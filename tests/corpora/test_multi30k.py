"""Multi30k: pinned checksums, and the real files where they are at hand."""

import gzip
import shutil

import pytest

from lnlab.corpora.corpus import corpora
from lnlab.corpora.multi30k import FILES, multi30k
from lnlab.errors import CorpusError


@pytest.mark.data
def test_the_real_files_have_their_published_sizes(multi30k_root):
    """29,000 / 1,014 / 1,000 pairs, counted in the published files; 322,383 German and 345,020 English words."""
    corpus = multi30k((multi30k_root,))
    assert {name: len(pairs) for name, pairs in corpus.splits.items()} == {
        "train": 29_000,
        "validation": 1_014,
        "test": 1_000,
    }
    words = [sum(len(pair[side].split()) for pair in corpus.splits["train"]) for side in (0, 1)]
    assert words == [322_383, 345_020]
    assert not corpus.printable


@pytest.mark.data
def test_german_comes_first_and_the_lines_belong_together(multi30k_root):
    german, english = multi30k((multi30k_root,)).splits["train"][0]
    assert "Männer" in german
    assert "males" in english


@pytest.mark.data
def test_one_damaged_real_file_is_refused_by_name(multi30k_root, root):
    (root / "multi30k").mkdir()
    for name in FILES:
        shutil.copy(multi30k_root / name, root / name)
    path = root / "multi30k/val.en.gz"
    path.chmod(0o644)
    path.write_bytes(gzip.compress(b"other\n" * 1014))
    with pytest.raises(CorpusError, match=r"val\.en\.gz: .* 14f7d25d"):
        multi30k((root,))


def test_absent_it_says_both_ways_to_get_it(root, golden):
    with golden.raises(CorpusError):
        multi30k((root,))


def test_its_key_is_the_same_before_and_after_the_download(root, tmp_path):
    """The checksums are pinned, so that nothing but these bytes is ever read."""
    choice = corpora.resolve("multi30k")
    (tmp_path / "multi30k").mkdir()
    (tmp_path / "multi30k/train.de.gz").write_bytes(b"damaged")
    assert corpora.key(choice, (root,)) == corpora.key(choice, (tmp_path,))
