"""Text files with one sentence a line, read strictly, and pairs of them, line by line."""

import gzip
import zlib
from pathlib import Path

from lnlab.corpora.corpus import Pair
from lnlab.errors import CorpusError, Problem

LARGEST = 1 << 31
"""Bytes of text that are read at most, so that a small compressed file cannot fill the memory."""


def read_lines(path: Path) -> list[str]:
    r"""The lines of a UTF-8 file, decompressed if its name ends in ``.gz``, without white space at their ends.

    Only ``\n`` ends a line: other separators of Unicode stand inside sentences.

    Raises:
        CorpusError: the file cannot be read, is damaged, is too large, or is not UTF-8.
    """
    raw = _read(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"line {line} is not UTF-8 ({error.reason})"
        raise CorpusError(Problem(str(path), what, "convert the file to UTF-8")) from error
    lines = text.split("\n")
    return [line.strip() for line in (lines if lines[-1] else lines[:-1])]


def _read(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (EOFError, zlib.error, OSError) as error:
        damaged = isinstance(error, EOFError | zlib.error | gzip.BadGzipFile)
        what = "is not a whole gzip file" if damaged else "cannot be read"
        raise CorpusError(Problem(str(path), what, str(error))) from error
    if len(raw) > LARGEST:
        raise CorpusError(Problem(str(path), f"holds more than {LARGEST} bytes of text", "split it"))
    return raw


def read_pairs(source: Path, target: Path) -> list[Pair]:
    """Line n of one file with line n of the other.

    Raises:
        CorpusError: a file cannot be read, or their numbers of lines differ.
    """
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        what = f"{len(sources)} lines, and {len(targets)} in {target}"
        raise CorpusError(Problem(str(source), what, "both files need the same number of lines"))
    return list(zip(sources, targets, strict=True))
