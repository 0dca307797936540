"""``sentence@label``: text files in Latin-1 with a sentence and its label per line, read strictly.

Latin-1 has a character for every byte, so that decoding never fails: UTF-8, UTF-16, and bytes without a printable
character in Latin-1 are detected here.
"""

import re
from collections.abc import Sequence

from lnlab.corpora.files.archive import Content
from lnlab.errors import CorpusError, nearest
from lnlab.issues import Issue

LABEL_MARK = "@"
UNPRINTED = re.compile(r"[\x00\x80-\x9f]")
"""NUL, and the controls above ASCII: no text in Latin-1 has them, and that in UTF-16 or of Windows does."""


def labelled_lines(content: Content, names: Sequence[str]) -> list[tuple[str, str]]:
    r"""The sentences and the names of their labels, split at the last ``@`` of a line. Empty lines are left out.

    Raises:
        CorpusError: it is not Latin-1, a line has no sentence or no label, the label is none of ``names``, or there is
            no sentence at all.
    """
    lines = latin_1(content).split("\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        sentence, mark, label = (part.strip() for part in line.rpartition(LABEL_MARK))
        if not line.strip():
            continue
        if not mark or not label:
            raise CorpusError(
                Issue("missing", content.where, f"line {number} has no label", f"a line is sentence{LABEL_MARK}label")
            )
        if not sentence:
            what = f"line {number} has no sentence"
            raise CorpusError(Issue("missing", content.where, what, f"a line is sentence{LABEL_MARK}label"))
        if label not in names:
            raise CorpusError(
                Issue("unknown-name", content.where, f"line {number} has the label '{label}'", nearest(label, names))
            )
        rows.append((sentence, label))
    if not rows:
        raise CorpusError(Issue("missing", content.where, "has no sentence", "the file is empty: get it again"))
    return rows


def latin_1(content: Content) -> str:
    """The text of a file in Latin-1.

    Raises:
        CorpusError: it is in another encoding.
    """
    text = content.raw.decode("latin-1")
    unprintable = UNPRINTED.search(text)
    if not unprintable and (text.isascii() or not _is_utf_8(content.raw)):
        return text
    reason = "its bytes are no text"
    if _is_utf_8(content.raw) and "\0" not in text:
        reason = "it is UTF-8"
    elif unprintable:
        line = text.count("\n", 0, unprintable.start()) + 1
        reason = f"line {line} holds the byte 0x{ord(unprintable[0]):02x}"
    remedy = "convert the file back to Latin-1 (ISO 8859-1), or get it again"
    raise CorpusError(Issue("not-text", content.where, f"is not Latin-1 ({reason})", remedy))


def _is_utf_8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
