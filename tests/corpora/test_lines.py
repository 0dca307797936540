"""Reading text files strictly."""

import gzip

import pytest

from lnlab.corpora.files import lines
from lnlab.corpora.files.lines import read_lines, read_pairs
from lnlab.errors import CorpusError


def write(path, content: bytes):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.de.gz"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"eins\nzwei\n", ["eins", "zwei"]),
        (b"eins\nzwei", ["eins", "zwei"]),
        (b"eins\r\nzwei\r\n", ["eins", "zwei"]),
        (b"\xef\xbb\xbfeins\n", ["eins"]),
        (b"eins\n\nzwei\n\n", ["eins", "", "zwei", ""]),
        (b"", []),
        (b"\n", [""]),
        ("eins\u2028zwei\x85drei\x0bvier\x1cf\u00fcnf\n".encode(), ["eins\u2028zwei\x85drei\x0bvier\x1cf\u00fcnf"]),
    ],
)
def test_only_a_line_feed_ends_a_line(tmp_path, name, content, expected):
    """``str.splitlines`` would also break at seven other characters, and pair the wrong sentences."""
    assert read_lines(write(tmp_path / name, content)) == expected


@pytest.mark.parametrize("name", ["a.txt", "a.gz"])
def test_a_line_that_is_not_utf8_is_named(tmp_path, name):
    path = write(tmp_path / name, b"gut\nauch gut\n" + "schön\n".encode("latin-1"))
    with pytest.raises(CorpusError, match="line 3 is not UTF-8") as caught:
        read_lines(path)
    assert caught.value.issues[0].where == str(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-10],
        lambda whole: whole[:12],
        lambda whole: whole[: len(whole) // 2] + b"\x00\xff" + whole[len(whole) // 2 + 2 :],
        lambda whole: b"plain text\n",
        lambda whole: whole[:-8] + bytes(8),
    ],
    ids=["end lost", "head only", "bytes changed", "no gzip", "checksum wrong"],
)
def test_a_damaged_gzip_file_is_never_half_read(tmp_path, damage):
    whole = gzip.compress("\n".join(f"Satz {i}" for i in range(1000)).encode())
    path = tmp_path / "a.gz"
    path.write_bytes(damage(whole))
    with pytest.raises(CorpusError, match=r"a\.gz: is not a whole"):
        read_lines(path)


def test_a_file_that_is_not_there_or_is_a_folder_cannot_be_read(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CorpusError, match="cannot be read"):
            read_lines(path)


def test_a_small_file_cannot_unfold_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_LARGEST", 10_000)
    path = write(tmp_path / "bomb.gz", bytes(20_000))
    with pytest.raises(CorpusError, match="holds more than 10000 bytes"):
        read_lines(path)


def test_utf16_that_happens_to_be_utf8_is_told(tmp_path, golden):
    path = write(tmp_path / "a.txt", b"gut\n" + "schlecht\n".encode("utf-16-le"))
    with golden.raises(CorpusError):
        read_lines(path)


def test_a_line_that_is_no_sentence_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_LONGEST", 100)
    path = write(tmp_path / "a.txt", b"x" * 99 + b"\n" + b"x" * 101)
    with pytest.raises(CorpusError, match="line 2 has more than 100 bytes"):
        read_lines(path)


def test_lines_come_one_at_a_time_before_the_file_has_been_read(tmp_path):
    path = write(tmp_path / "a.gz", b"eins\n" * 100_000)
    path.write_bytes(path.read_bytes()[:-8])
    assert next(lines.lines_of(path)) == "eins"


def test_two_empty_files_are_told(tmp_path, golden):
    source, target = write(tmp_path / "a.de", b""), write(tmp_path / "a.en", b"")
    with golden.raises(CorpusError):
        read_pairs(source, target)


def test_unequal_numbers_of_lines_are_told_with_both_counts(tmp_path):
    source, target = write(tmp_path / "a.de", b"eins\nzwei\n"), write(tmp_path / "a.en", b"one\n")
    with pytest.raises(CorpusError, match=r"a\.de: 2 lines, and 1 in .*a\.en"):
        read_pairs(source, target)


def test_lines_are_paired_by_their_number(tmp_path):
    source, target = write(tmp_path / "a.de", b"eins\nzwei\n"), write(tmp_path / "a.en", b"one\n two \n")
    assert read_pairs(source, target) == [("eins", "one"), ("zwei", "two")]
