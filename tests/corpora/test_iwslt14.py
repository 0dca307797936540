"""IWSLT14 as fairseq's script leaves it, and as WIT3 gives it out."""

import shutil
import subprocess

import pytest

from lnlab.corpora.corpus import corpora
from lnlab.corpora.files.wit3 import set_names
from lnlab.corpora.iwslt14 import FOLDERS, PREPARED_FILES, RELEASE_FILES, SETS, iwslt14
from lnlab.errors import CorpusError


def prepared(root, folder=FOLDERS[0], *, leave=()):
    (root / folder).mkdir()
    for name in PREPARED_FILES:
        if name not in leave:
            (root / folder / name).write_text(f"{name} wor@@ d\n{name} zwei\n")
    return root


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_prepared_layout_is_read_and_pieces_are_joined(root, folder):
    corpus = iwslt14((prepared(root, folder),))
    for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        pairs = [tuple(f"{name}.{language} {word}" for language in ("de", "en")) for word in ("word", "zwei")]
        assert list(corpus.splits[split]) == pairs
    assert not corpus.printable


def test_absent_it_says_how_to_prepare_it_and_where_to_put_it(root, golden):
    with golden.raises(CorpusError) as caught:
        iwslt14((root,))
    assert all(name in str(caught.value) for name in RELEASE_FILES)


def test_a_folder_with_a_file_missing_counts_as_absent_and_those_of_two_roots_are_never_mixed(root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    roots = prepared(root, leave=("test.de",)), prepared(other, leave=("train.de",))
    for given in (roots[:1], roots):
        with pytest.raises(CorpusError, match="no folder 'iwslt14'"):
            iwslt14(given)


# --- the release


def talk(number, lines):
    """A talk as the tagged training files have it."""
    return (
        f"<url>http://www.ted.com/talks/{number}.html</url>\n<keywords>a,b</keywords>\n<talkid>{number}</talkid>\n"
        f"<title>Title {number}</title>\n<description>What {number} is about</description>\n" + "".join(lines)
    )


def tagged(language):
    """Five talks of twenty lines: some too long, some too unequal, some empty, with white space of all kinds."""
    long = "odd " * (21 if language == "de" else 1)
    lines = [f" {language} Line {n}, it is   {long * (n % 7 == 3)}here. \n" for n in range(100)]
    lines[10] = "\n"
    lines[11] = f"{language} {'word ' * 176}\n"
    lines[12] = "ganz\u2028allein in einem Satz & mehr\n"
    return "".join(talk(number, lines[20 * number : 20 * number + 20]) for number in range(5))


@pytest.fixture
def released(root, mteval):
    """The release in a folder: its training files and five test sets."""
    folder = root / "iwslt14/de-en"
    folder.mkdir(parents=True)
    for language in ("de", "en"):
        (folder / f"train.tags.de-en.{language}").write_text(tagged(language))
        for name in SETS:
            texts = {"1": [f"{name} {language} It’s &amp; One", ""], "2": ["Two"]}
            (folder / f"IWSLT14.{name}.de-en.{language}.xml").write_text(mteval(texts))
    return root


# The commands of prepare-iwslt14.sh that need no other program.
SCRIPT = r"""
export LC_ALL=C.UTF-8
grep -v '<url>' "$1" | grep -v '<talkid>' | grep -v '<keywords>' \
  | sed -e 's/<title>//g' -e 's/<\/title>//g' -e 's/<description>//g' -e 's/<\/description>//g'
"""


def test_training_lines_are_those_that_the_script_leaves_and_every_23rd_is_held_out(released):
    """What is clean is decided here by hand: not line 10, 11, nor the fourth of every seven, whose German is long."""
    sides = []
    for language in ("de", "en"):
        path = released / f"iwslt14/de-en/train.tags.de-en.{language}"
        run = subprocess.run(["sh", "-c", SCRIPT, "-", path], capture_output=True, text=True, check=True)
        sides.append([" ".join(line.split()).lower() for line in run.stdout.split("\n")[:-1]])
    pairs = list(zip(*sides, strict=True))
    assert len(pairs) == 110
    spoken = {2 * (n // 20 + 1) + n: n for n in range(100)}
    unfit = {at for at, n in spoken.items() if n in (10, 11) or n % 7 == 3}
    kept = [pair for at, pair in enumerate(pairs) if at not in unfit]
    splits = iwslt14((released,)).splits
    assert list(splits["validation"]) == kept[22::23]
    assert list(splits["train"]) == [pair for n, pair in enumerate(kept, start=1) if n % 23]
    assert ("ganz allein in einem satz & mehr",) * 2 in splits["train"]
    assert splits["train"][0] == ("title 0", "title 0")


def test_the_test_set_is_that_of_the_script_in_its_order(released):
    test = list(iwslt14((released,)).splits["test"])
    assert test[::3] == [(f"{name} de it's & one".lower(), f"{name} en it's & one".lower()) for name in SETS]
    assert test[1:3] == [("", ""), ("two", "two")]
    assert len(test) == 15


def archived(released, archive, **given):
    """The same release as its archive, alone in its root."""
    folder = released / "iwslt14/de-en"
    files = {f"de-en/{path.name}": path.read_bytes() for path in folder.iterdir()} | {"de-en/README": b"read"} | given
    shutil.rmtree(released / "iwslt14")
    (released / "de-en.tgz").write_bytes(archive(files))
    return released


def test_the_archive_gives_the_text_of_its_folder(released, archive):
    expected = iwslt14((released,)).digest
    root = archived(released, archive)
    assert iwslt14((root,)).digest == expected
    assert sorted(path.name for path in root.iterdir()) == ["de-en.tgz"]


def test_an_archive_of_something_else_says_what_it_lacks(root, archive, golden):
    (root / "de-en.tgz").write_bytes(archive({"europarl-v7.de-en.de": "x"}))
    with golden.raises(CorpusError):
        iwslt14((root,))


def write_sides(released, **contents):
    for language, content in contents.items():
        (released / f"iwslt14/de-en/train.tags.de-en.{language}").write_bytes(content)


LOST = tagged("en").replace(" en Line 47, it is   here. \n", "").encode()


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"en": LOST}, r"110 lines of text, and 109 in .*tags\.de-en\.en: document '2' has 22 and 21 segments"),
        ({"de": "Schön\n".encode("latin-1")}, r"train\.tags\.de-en\.de: line 1 is not UTF-8"),
        ({"de": b""}, r"0 lines of text, and 110"),
        ({"de": b"<url>x</url>\n", "en": b"<url>x</url>\n"}, "tags.de-en.de: "),
    ],
)
def test_training_files_that_are_damaged_are_named_by_file_and_talk(released, contents, said):
    write_sides(released, **contents)
    with pytest.raises(CorpusError, match=said):
        iwslt14((released,))


def test_its_key_follows_the_content_of_the_release_and_prepared_text_comes_before_it(released):
    choice = corpora.resolve("iwslt14")
    before = corpora.key(choice, (released,))
    assert len(corpora["iwslt14"].facts.inputs((released,), choice)) == len(RELEASE_FILES) == 12
    write_sides(released, en=tagged("en").replace("Line 3,", "Row 3,").encode())
    assert corpora.key(choice, (released,)) != before
    prepared(released)
    assert iwslt14((released,)).splits["train"][0] == ("train.de word", "train.en word")


@pytest.mark.data
def test_the_real_test_sets_are_read_as_part_of_the_release(ted_root, released):
    """887 + 1,565 + 1,433 + 1,700 segments, which with the 1,165 of TEDX.dev2012 are the 6,750 of the literature."""
    for name in set_names("TED.dev2010", "TED.tst2010", "TED.tst2011", "TED.tst2012"):
        shutil.copyfile(ted_root / "iwslt_ted" / name, released / "iwslt14/de-en" / f"IWSLT14.{name}")
    assert len(iwslt14((released,)).splits["test"]) == 887 + 3 + 1_565 + 1_433 + 1_700
