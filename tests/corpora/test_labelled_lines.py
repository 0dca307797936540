"""``sentence@label`` in Latin-1: what is read, and what every kind of damage is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.corpora.files.archive import Content
from lnlab.corpora.files.labelled_lines import labelled_lines, latin_1
from lnlab.errors import CorpusError

NAMES = ("negative", "neutral", "positive")
TEXT = "Übernahme @ home rose .@positive\r\n\r\nNothing happened .@neutral\r\n"


def read(raw: bytes):
    return labelled_lines(Content("news.txt", raw), NAMES)


def test_a_line_is_parted_at_its_last_mark_and_only_a_line_feed_ends_it():
    assert read(TEXT.encode("latin-1")) == [("Übernahme @ home rose .", "positive"), ("Nothing happened .", "neutral")]
    assert read("a\x0bb\x1cc\xadd@neutral".encode("latin-1")) == [("a\x0bb\x1cc\xadd", "neutral")]
    with pytest.raises(CorpusError, match="the byte 0x92"):
        read(b"fine@neutral\nit\x92s up@positive\n")


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", "is not Latin-1 (it is UTF-8)"),
        ("utf-8-sig", "is not Latin-1 (it is UTF-8)"),
        ("utf-16", "is not Latin-1 (line 1 holds the byte 0x00)"),
        ("utf-16-le", "is not Latin-1 (line 1 holds the byte 0x00)"),
        ("mac-roman", "is not Latin-1 (line 1 holds the byte 0x86)"),
    ],
)
def test_another_encoding_is_told_from_latin_1(encoding, said, golden):
    with pytest.raises(CorpusError) as caught:
        read(TEXT.encode(encoding))
    assert said in str(caught.value)
    golden(str(caught.value))


@given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"])))
def test_what_is_latin_1_is_read_as_it_is_unless_it_could_be_utf_8(text):
    """The one text in doubt is that whose bytes happen to be UTF-8 as well: no published file has it."""
    raw = text.encode("latin-1")
    try:
        doubtful = not text.isascii() and bool(raw.decode("utf-8"))
    except UnicodeDecodeError:
        doubtful = False
    if doubtful:
        with pytest.raises(CorpusError, match="UTF-8"):
            latin_1(Content("x", raw))
    else:
        assert latin_1(Content("x", raw)) == text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "news.txt: has no sentence; the file is empty"),
        (b"\r\n \n", "has no sentence; the file is empty"),
        (b"up@positive\nno label here\n", "line 2 has no label; a line is sentence@label"),
        (b"up@positive\nnone@ \n", "line 2 has no label"),
        (b"@positive\n", "line 1 has no sentence"),
        (b"up@positive\n\nup@postive\n", "line 3 has the label 'postive'; did you mean 'positive'?"),
        (b"up@Positive\n", "line 1 has the label 'Positive'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(raw, said):
    with pytest.raises(CorpusError) as caught:
        read(raw)
    assert said in str(caught.value)
