"""IWSLT14 as fairseq's script leaves it."""

import pytest

from lnlab.corpora.corpus import corpora
from lnlab.corpora.iwslt14 import FOLDERS, NAMES, iwslt14
from lnlab.errors import CorpusError


def prepared(root, folder=FOLDERS[0], *, leave=()):
    (root / folder).mkdir()
    for name in NAMES:
        if name not in leave:
            (root / folder / name).write_text(f"{name} wor@@ d\n{name} zwei\n")
    return root


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_prepared_layout_is_read_and_pieces_are_joined(root, folder):
    corpus = iwslt14((prepared(root, folder),))
    assert list(corpus.splits["train"]) == [("train.de word", "train.en word"), ("train.de zwei", "train.en zwei")]
    assert corpus.splits["validation"][0] == ("valid.de word", "valid.en word")
    assert corpus.splits["test"][0] == ("test.de word", "test.en word")
    assert not corpus.printable


def test_absent_it_says_how_to_prepare_it_and_where_to_put_it(root):
    with pytest.raises(CorpusError) as caught:
        iwslt14((root,))
    said = str(caught.value)
    assert "prepare-iwslt14.sh" in said
    assert "LNLAB_DATA" in said
    assert str(root) in said
    assert "\n" not in said


def test_a_folder_with_a_file_missing_counts_as_absent(root):
    with pytest.raises(CorpusError, match="no folder 'iwslt14"):
        iwslt14((prepared(root, leave=("valid.en",)),))


def test_the_files_of_two_roots_are_never_mixed(root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    prepared(root, leave=("test.de",))
    prepared(other, leave=("train.de",))
    with pytest.raises(CorpusError, match="no folder"):
        iwslt14((root, other))


def test_a_spec_that_names_it_can_be_checked_while_it_is_absent(root):
    """Its key says so, and becomes another when the files are there, and another when they change."""
    choice = corpora.resolve("iwslt14")
    entry = corpora["iwslt14"]
    absent = corpora.key(choice, (root,))
    assert entry.tags["inputs"]((root,), choice) == []
    prepared(root)
    present = corpora.key(choice, (root,))
    assert len(entry.tags["inputs"]((root,), choice)) == len(NAMES)
    (root / FOLDERS[0] / "train.de").write_text("anders\nganz anders, und länger\n")
    assert len({absent, present, corpora.key(choice, (root,))}) == 3


def test_unequal_lines_are_told(root):
    prepared(root)
    (root / FOLDERS[0] / "valid.de").write_text("eine\n")
    with pytest.raises(CorpusError, match=r"valid\.de: 1 lines, and 2 in .*valid\.en"):
        iwslt14((root,))
