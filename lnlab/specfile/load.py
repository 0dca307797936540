"""Text -> spec: a bounded file becomes plain data that knows the line and column of everything in it."""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lnlab.errors import LabError, SpecError
from lnlab.issues import Issue, Mark, Where
from lnlab.keys import Json
from lnlab.portable_names import why_unportable
from lnlab.specfile.document import Marks, read_data
from lnlab.userfiles import LARGEST_SPEC, read_user_file


@dataclass(frozen=True)
class SpecDocument:
    """A spec file as plain data with positions.

    Attributes:
        path: the file, as the user named it.
        text: its content.
        data: the mapping it holds.
        marks: path -> marks of its key and of its value.
        in_memory: whether it was written in Python, so that no line and column of ``text`` mean anything to its author.
    """

    path: Path
    text: str
    data: dict[str, Json]
    marks: Marks
    in_memory: bool = False

    def where(self, path: Where, *, key: bool = False) -> str:
        """``file:line:col`` of the value at ``path`` (or of its key), or of the nearest thing above it."""
        if self.in_memory:
            return "spec"
        mark = self.mark(path, key=key)
        return f"{self.path}:{mark.line}:{mark.column}"

    def mark(self, path: Where, *, key: bool = False) -> Mark:
        """The mark behind ``where``: that of ``path``, or of the nearest path above it that has one.

        Of an expression, the path ends in a character of its text, counted from 0, or in a word of it.
        """
        # The empty path always has a mark, that of the whole document.
        ancestor = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in self.marks)
        mark = self.marks[ancestor][not key]
        return self._mark_within(mark, path[-1]) if "expr" in path[-2:-1] else mark

    def as_read(self, issues: Iterable[Issue]) -> list[Issue]:
        """Issues with places in this document as the user reads them, at ``file:line:col``, in the order of the file.

        Those of arguments come last. Issues that aliases repeat are one issue in one place of the file.
        """
        distinct: dict[tuple[str, str, str], tuple[tuple[bool, Mark], Issue]] = {}
        for issue in issues:
            place, path = issue.place, issue.path if issue.named is None else issue.named
            where = self.where(place, key=issue.about_key) if isinstance(place, tuple) else str(place)
            path = path if len(path) < 2 or path[-2] != "expr" else path[:-1]  # below a text stands where in it
            if path[-1:] == ("kind",) and isinstance(place, tuple) and place not in self.marks:
                path = path[:-1]  # a bare word was written
            dotted = ".".join(map(str, path))
            what = f"{dotted}: {issue.what}" if dotted else issue.what
            rank = not isinstance(place, tuple), self.mark(issue.path)
            distinct.setdefault((where, issue.what, issue.remedy), (rank, replace(issue, place=where, what=what)))
        return [issue for _, issue in sorted(distinct.values(), key=lambda ranked: ranked[0])]

    def _mark_within(self, mark: Mark, within: str | int) -> Mark:
        """The mark of a character or word of a text on the rest of one line, else that of the text."""
        lines = self.text.split("\n")
        source = lines[mark.line - 1][mark.column - 1 :] if mark.line <= len(lines) else ""
        if isinstance(within, int):
            quoted = source[:1] in ("'", '"')
            return mark if source[:1] in "|>" else replace(mark, column=mark.column + within + quoted)
        word = re.search(rf"\b{re.escape(within)}\b", source)
        return replace(mark, column=mark.column + word.start()) if word else mark


def load_spec(path: Path) -> SpecDocument:
    """The document in ``path``.

    Raises:
        SpecError: no such file, not a regular file, too large, not UTF-8, a syntax error (alone), or everything else
            that a spec may not hold (all at once).
    """
    return parse_spec(read_spec_text(path), path)


def parse_spec(text: str, path: Path) -> SpecDocument:
    """The document in ``text``, the content of ``path``.

    Raises:
        SpecError: as ``load_spec``.
    """
    document, issues = parse_leniently(text, path)
    if issues:
        raise SpecError(*issues)
    return document


def parse_leniently(text: str, path: Path) -> tuple[SpecDocument, list[Issue]]:
    """What can be read of ``text``, and its issues: a faulty value is null, of equal keys the first stays.

    So the rest can be checked too, and every issue is reported at once.

    Raises:
        SpecError: it cannot be read at all: a syntax error, or no mapping.
    """
    data, marks, issues = read_data(text)
    if not issues and not isinstance(data, dict):
        what = "the file is empty" if data is None else "a spec is a mapping of keys to values"
        issues = [Issue("wrong-type", Mark(1, 1), what, "begin with 'lnlab: 2' and 'title: ...'")]
    issues = [replace(issue, place=f"{path}:{issue.place}") for issue in issues]
    if not isinstance(data, dict):
        raise SpecError(*issues)
    return SpecDocument(path, text, data, marks), issues


def read_spec_text(path: Path) -> str:
    """The text of a regular file that is not too large.

    Raises:
        SpecError: no such file, not a regular file, too large, not UTF-8, or of a name that its report could not have.
    """
    try:
        text = _text(path, read_user_file(path, "YAML file", LARGEST_SPEC))
    except LabError as error:
        raise SpecError(*error.issues) from error
    if why := why_unportable(path.stem):
        what = f"gives its report a name that {why}"
        raise SpecError(Issue("wrong-value", str(path), what, "rename the file"))
    return text


def read_piped_text(name: Path) -> str:
    """The text of a spec on standard input, which messages call by this name.

    Raises:
        SpecError: too large, or not UTF-8.
    """
    content = sys.stdin.buffer.read(LARGEST_SPEC + 1)
    if len(content) > LARGEST_SPEC:
        what = f"has more than {LARGEST_SPEC:,} bytes"
        raise SpecError(Issue("too-large", str(name), what, "make it smaller, or name a file"))
    return _text(name, content)


def _text(path: Path, content: bytes) -> str:
    """The bytes as UTF-8, without byte order mark and carriage returns."""
    if b"\0" in content:
        raise SpecError(Issue("not-text", str(path), "is not text", "a spec is YAML in UTF-8"))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        preceding = content[: error.start]
        line, column = preceding.count(b"\n") + 1, error.start - (preceding.rfind(b"\n") + 1) + 1
        raise SpecError(Issue("not-text", f"{path}:{line}:{column}", "is not UTF-8", "save it as UTF-8")) from error


def text_states_results(text: str) -> bool:
    """Whether the text of a spec has the key ``results``. Of a block it is seen without reading the rest."""
    if re.match(r"(?:\s|#.*\n|---)*\{", text):
        return "results" in parse_leniently(text, Path())[0].data
    return re.search(r"(?m)^([\"']?)results\1\s*:", text) is not None
