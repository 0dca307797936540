"""Text files with one sentence per line, read strictly and one line at a time, and pairs of them."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from itertools import zip_longest
from pathlib import Path

from lnlab.corpora.corpus import Pair
from lnlab.errors import CorpusError
from lnlab.issues import Issue

_LARGEST = 1 << 31
"""Bytes of text that are read at most, so that a small compressed file cannot fill the memory."""
LARGEST_HELD = 1 << 28
"""Bytes of text of a corpus that is held in memory as a whole. A worker needs five times as many to encode it."""
_SHORTER = "name a part of it, such as its first lines"
_LONGEST = 1 << 20
"""Bytes of one line: more is no sentence."""
BOM = b"\xef\xbb\xbf"
NEWLINE = b"\n"


def read_lines(path: Path) -> list[str]:
    r"""The lines of a UTF-8 file, decompressed if its name ends in ``.gz``, without white space at their ends.

    Only ``\n`` ends a line. Other separators of Unicode are part of sentences.

    Raises:
        CorpusError: the file cannot be read, is damaged, is too large, or is not UTF-8.
    """
    return list(lines_of(path, LARGEST_HELD))


def refuse_large(paths: Sequence[Path]) -> None:
    """Refuse files that are together larger than a corpus in memory.

    Raises:
        CorpusError: they are.
    """
    sizes = {path: path.stat().st_size for path in paths if path.is_file()}
    if (size := sum(sizes.values())) > LARGEST_HELD:
        what = f"with it a corpus has {size:,} bytes of text, and at most {LARGEST_HELD:,} are held in memory"
        raise CorpusError(Issue("too-large", str(max(sizes, key=sizes.__getitem__)), what, _SHORTER))


def lines_of(path: Path, largest: int = _LARGEST) -> Iterator[str]:
    """Yield the lines of ``read_lines`` one at a time, so that the file is never in memory as a whole.

    A file with more than ``largest`` bytes of text is refused.

    Raises:
        CorpusError: the file cannot be read, is damaged, is too large, or is not UTF-8.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from lines_in(file, str(path), largest)
    except (EOFError, zlib.error, OSError) as error:
        damaged = isinstance(error, EOFError | zlib.error | gzip.BadGzipFile)
        what = "is not a whole gzip file" if damaged else "cannot be read"
        raise CorpusError(Issue("unreadable", str(path), what, str(error))) from error


def lines_in(file: BufferedIOBase, where: str, largest: int = _LARGEST) -> Iterator[str]:
    """The lines of an open file, which messages call ``where``.

    Raises:
        CorpusError: the file is too large, or is not UTF-8.
    """
    number = total = 0
    # One byte beyond a limit shows that there is more.
    while raw := file.readline(min(_LONGEST, largest - total) + 1):
        number, total = number + 1, total + len(raw)
        if number == 1 and not raw.endswith(NEWLINE) and raw.rstrip(b"\r").count(b"\r") > 1:
            what = "its line ends are CR alone, as on old Macs, so that it is a single line"
            raise CorpusError(Issue("damaged", where, what, "convert its line ends to LF"))
        if total > largest:
            raise CorpusError(Issue("too-large", where, f"holds more than {largest:,} bytes of text", _SHORTER))
        if len(raw) > _LONGEST:
            what = f"line {number} has more than {_LONGEST} bytes"
            raise CorpusError(Issue("damaged", where, what, "a line is one sentence"))
        yield decoded(raw.removeprefix(BOM) if number == 1 else raw, where, number).strip()


def decoded(raw: bytes, where: str, line: int = 1) -> str:
    """Decode UTF-8. ``line`` is the number of its first line, for messages.

    Raises:
        CorpusError: it is not UTF-8, or holds a NUL, as UTF-16 read as UTF-8 does.
    """
    try:
        text = raw.decode()
        if "\0" not in text:
            return text
        bad, reason = raw.index(b"\0"), "it holds a NUL, as UTF-16 does"
    except UnicodeDecodeError as error:
        bad, reason = error.start, error.reason
    what = f"line {line + raw.count(NEWLINE, 0, bad)} is not UTF-8 ({reason})"
    raise CorpusError(Issue("not-text", where, what, "convert the file to UTF-8"))


def read_pairs(source: Path, target: Path) -> list[Pair]:
    """Pair line n of one file with line n of the other.

    Raises:
        CorpusError: a file cannot be read, there are no lines, or their numbers of lines differ.
    """
    return list(line_pairs(source, target, LARGEST_HELD))


def line_pairs(source: Path, target: Path, largest: int = _LARGEST) -> Iterator[Pair]:
    """Yield the pairs of ``read_pairs`` one at a time. Different numbers of lines raise an error only at the end.

    Raises:
        CorpusError: a file cannot be read, there are no lines, or their numbers of lines differ.
    """
    sources = targets = 0
    for one, other in zip_longest(lines_of(source, largest), lines_of(target, largest)):
        sources, targets = sources + (one is not None), targets + (other is not None)
        if one is not None and other is not None:
            yield one, other
    if sources != targets:
        what = f"{sources} lines, and {targets} in {target}"
        raise CorpusError(Issue("differs", str(source), what, "both files need the same number of lines"))
    if not sources:
        raise CorpusError(Issue("damaged", str(source), f"is empty, and so is {target}", "get both files again"))
