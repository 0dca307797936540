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


def refused(path, match):
    with pytest.raises(CorpusError, match=match) as caught:
        read_lines(path)
    assert caught.value.issues[0].where == str(path)


@pytest.mark.parametrize("name", ["a.txt", "a.gz"])
def test_a_line_that_is_not_utf8_or_too_long_is_named_and_no_file_unfolds_without_end(tmp_path, name, monkeypatch):
    path = tmp_path / name
    refused(path, "cannot be read")
    refused(tmp_path, "cannot be read")
    refused(write(path, b"gut\nauch gut\n" + "schön\n".encode("latin-1")), "line 3 is not UTF-8")
    refused(write(path, b"gut\n" + "schlecht\n".encode("utf-16-le")), r"line 2 is not UTF-8 \(it holds a NUL")
    monkeypatch.setattr(lines, "_LONGEST", 100)
    refused(write(path, b"x" * 99 + b"\n" + b"x" * 101), "line 2 has more than 100 bytes")
    monkeypatch.setattr(lines, "LARGEST_HELD", 10_000)
    refused(write(path, b"\n" * 20_000), "holds more than 10,000 bytes")


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
    with pytest.raises(CorpusError, match="not a whole"):
        read_lines(path)


def test_lines_come_one_at_a_time_before_the_file_has_been_read(tmp_path):
    path = write(tmp_path / "a.gz", b"eins\n" * 100_000)
    path.write_bytes(path.read_bytes()[:-8])
    assert next(lines.lines_of(path)) == "eins"


def test_lines_are_paired_by_their_number_and_sides_that_differ_or_are_empty_are_refused(tmp_path, golden):
    def pairs(source, target):
        return read_pairs(write(tmp_path / "a.de", source), write(tmp_path / "a.en", target))

    assert pairs(b"eins\nzwei\n", b"one\n two \n") == [("eins", "one"), ("zwei", "two")]
    with golden.raises(CorpusError):
        pairs(b"", b"")
    with pytest.raises(CorpusError, match=r"a\.de: 2 lines.*a\.en"):
        pairs(b"eins\nzwei\n", b"one\n")
