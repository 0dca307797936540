"""TED's dev and test sets as a small corpus, on the real files and on made-up ones."""

import shutil

import pytest

from lnlab.corpora.corpus import corpora
from lnlab.corpora.files.archive import read_content
from lnlab.corpora.files.segments import documents
from lnlab.corpora.ted_dev import TED_DEV_FILES, ted_dev
from lnlab.errors import CorpusError


@pytest.fixture
def copied(ted_root, root):
    """The real files in a root of the test's own, where they may be damaged."""
    (root / "iwslt_ted").mkdir()
    for name in TED_DEV_FILES:
        shutil.copyfile(ted_root / "iwslt_ted" / name, root / "iwslt_ted" / name)
    return root


@pytest.mark.data
def test_the_real_files_give_their_published_numbers(ted_root):
    """887 and 1,700 segments (Cettolo et al.); 2,934 of the 2,998 training pairs are fit."""
    corpus = ted_dev((ted_root,))
    assert {name: len(pairs) for name, pairs in corpus.splits.items()} == {
        "train": 2_934,
        "validation": 887,
        "test": 1_700,
    }
    assert not corpus.printable
    german, english = corpus.splits["train"][0]
    assert german.startswith("als steve lopez, kolumnist der los angeles times,")
    assert english.startswith("one day, los angeles times columnist steve lopez")


@pytest.mark.data
def test_no_talk_is_in_two_splits(ted_root):
    names = [f"TED.{each}.de-en.en.xml" for each in ("tst2010", "tst2011", "dev2010", "tst2012")]
    talks = [document.name for name in names for document in documents(read_content(ted_root / "iwslt_ted" / name))]
    assert len(set(talks)) == len(talks) == 50


@pytest.mark.data
def test_an_archive_with_prefixes_gives_the_same_text_as_a_folder(ted_root, root, archive):
    files = {f"de-en/IWSLT14.{name}": (ted_root / "iwslt_ted" / name).read_bytes() for name in TED_DEV_FILES}
    (root / "de-en.tgz").write_bytes(archive(files))
    assert ted_dev((root,)).digest == ted_dev((ted_root,)).digest


@pytest.mark.data
@pytest.mark.parametrize("folder", ["iwslt14", "iwslt14/de-en", "de-en"])
def test_the_files_may_lie_where_the_archive_leaves_them(copied, ted_root, folder):
    (copied / folder).parent.mkdir(exist_ok=True)
    (copied / "iwslt_ted").rename(copied / folder)
    for path in list((copied / folder).iterdir()):
        path.rename(path.with_name(f"IWSLT14.{path.name}"))
    assert ted_dev((copied,)).digest == ted_dev((ted_root,)).digest


@pytest.mark.data
def test_a_real_file_that_is_damaged_is_named_by_line_or_talk_and_moves_the_key(copied):
    choice = corpora.resolve("ted_dev")
    before = corpora.key(choice, (copied,))
    assert len(corpora["ted_dev"].facts.inputs((copied,), choice)) == len(TED_DEV_FILES) == 8
    path = copied / "iwslt_ted" / "TED.dev2010.de-en.de.xml"
    lines = path.read_text().split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith('<seg id="12">'))
    path.write_text("\n".join(lines[:at] + lines[at + 1 :]))
    assert corpora.key(choice, (copied,)) != before
    with pytest.raises(CorpusError, match=r"886 segments, and 887 in .*en\.xml: document '69' has .*'13' and '12'"):
        ted_dev((copied,))
    path = copied / "iwslt_ted" / "TED.tst2011.de-en.en.xml"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"tst2011\.de-en\.en\.xml: line \d+, character \d+: .* cut off"):
        ted_dev((copied,))


def test_a_folder_that_lacks_one_file_counts_as_absent_and_it_says_where_it_is_to_be_had(root, mteval):
    (root / "iwslt_ted").mkdir()
    for name in TED_DEV_FILES[1:]:
        (root / "iwslt_ted" / name).write_text(mteval({"1": ["a"]}))
    with pytest.raises(CorpusError, match=r"no folder 'iwslt_ted'.*https://wit3\.fbk\.eu.*LNLAB_DATA"):
        ted_dev((root,))
    assert corpora["ted_dev"].facts.inputs((root,), {}) == []
