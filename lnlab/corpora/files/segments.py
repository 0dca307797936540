"""Test sets of translation: documents of numbered segments, in the XML and the SGML of ``mteval``.

``<srcset>`` or ``<refset>`` contains ``<doc docid="...">``, each of which contains ``<seg id="...">text</seg>``. Other
elements of a document (url, title, keywords) are no text. XML must be well-formed. In SGML, the format of WMT's test
sets, an ampersand that begins no entity of XML stands for itself. Entities that a file declares itself are refused, so
that none can expand.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from xml.parsers import expat

from lnlab.corpora.corpus import Pair
from lnlab.corpora.files.archive import Content
from lnlab.corpora.files.lines import BOM, decoded
from lnlab.errors import CorpusError
from lnlab.issues import Issue

_LARGEST = 1 << 26
"""Bytes of such a file. The largest known have half a million."""
DEEPEST = 32
BARE = re.compile("&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)")
CUT_OFF = [expat.errors.codes[text] for text in ("no element found", "unclosed token")]


@dataclass(frozen=True)
class SegmentedDocument:
    """A document's name, and its segments: the number of each, as written, and its text."""

    name: str
    segments: list[Pair] = field(default_factory=list)


class _Reader:
    """The documents of a file as read so far. expat calls the methods."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.documents = list[SegmentedDocument]()
        self.depth = 0
        self.number: str | None = None
        self.text: list[str] = []
        self.parser = parser = expat.ParserCreate()
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.XmlDeclHandler = self.declaration
        parser.EntityDeclHandler = self.entity
        parser.SkippedEntityHandler = self.unknown
        parser.buffer_text = True

    def error_at_line(self, what: str, remedy: str) -> CorpusError:
        return CorpusError(Issue("damaged", self.where, f"line {self.parser.CurrentLineNumber}: {what}", remedy))

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            raise self.error_at_line(f"says that it is {encoding!r}", "convert the file to UTF-8")

    def entity(self, name: str, *_: object) -> None:
        raise self.error_at_line(f"declares the entity '{name}'", "test sets declare none: get the file again")

    def unknown(self, name: str, _parameter: bool) -> None:
        raise self.error_at_line(f"nobody has declared the entity '&{name};'", "write the character itself")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error_at_line(f"more than {DEEPEST} elements inside each other", "this is no test set")
        if self.number is not None and tag.lower() in ("doc", "seg"):
            raise self.error_at_line(f"<{tag}> inside a segment", "close the segment with </seg>")
        by_name = {name.lower(): value for name, value in attributes.items()}
        if tag.lower() == "doc":
            self.documents.append(SegmentedDocument(by_name.get("docid", "")))
        elif tag.lower() == "seg":
            if not self.documents:
                raise self.error_at_line("a segment outside any document", "put it between <doc docid=...> and </doc>")
            self.number = by_name.get("id", "")
            self.text = []

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag.lower() == "seg" and self.number is not None:
            self.documents[-1].segments.append((self.number, " ".join("".join(self.text).split())))
            self.number = None

    def characters(self, text: str) -> None:
        if self.number is not None:
            self.text.append(text)


def documents(content: Content, *, sgml: bool = False) -> list[SegmentedDocument]:
    """The documents of a file, in their order.

    Raises:
        CorpusError: it is empty, too large, not UTF-8, not well-formed, or holds no segments.
    """
    where = content.where
    raw = content.raw.removeprefix(BOM)
    if len(raw) > _LARGEST:
        raise CorpusError(
            Issue("too-large", where, f"holds more than {_LARGEST} bytes", "this is no test set: get the file again")
        )
    text = decoded(raw, where)
    if not text.strip():
        raise CorpusError(Issue("damaged", where, "is empty", "get the file again"))
    reader = _Reader(where)
    try:
        reader.parser.Parse(BARE.sub("&amp;", text) if sgml else text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        what = f"line {error.lineno}, character {error.offset + 1}: not well-formed XML ({reason})"
        remedy = "close every element, and write a bare & as &amp; and a bare < as &lt;"
        if error.code in CUT_OFF:
            remedy = "the file is cut off: get it again"
        raise CorpusError(Issue("damaged", where, what, remedy)) from error
    if not any(document.segments for document in reader.documents):
        raise CorpusError(Issue("damaged", where, "holds no segments (<seg id=...>)", "this is no test set"))
    return reader.documents


def segment_pairs(source: Content, target: Content, *, sgml: bool = False) -> list[Pair]:
    """Each segment with the one of the same document and number, in their order.

    Raises:
        CorpusError: a file cannot be read, or their documents or segments differ.
    """
    sources, targets = documents(source, sgml=sgml), documents(target, sgml=sgml)
    if difference := divergence(sources, targets):
        counts = [sum(len(document.segments) for document in side) for side in (sources, targets)]
        what = f"{counts[0]} segments, and {counts[1]} in {target.where}: {difference}"
        raise CorpusError(Issue("differs", source.where, what, "both files need the same segments: get them again"))
    return texts(sources, targets)


def texts(sources: Sequence[SegmentedDocument], targets: Sequence[SegmentedDocument]) -> list[Pair]:
    """The texts of both sides, one segment after another.

    Raises:
        ValueError: their numbers of segments differ.
    """
    sides = [[text for document in side for _, text in document.segments] for side in (sources, targets)]
    return list(zip(*sides, strict=True))


def divergence(sources: Sequence[SegmentedDocument], targets: Sequence[SegmentedDocument]) -> str | None:
    """The first place where the documents of two files, or the numbers of their segments, differ."""
    for place, (one, other) in enumerate(zip_longest(sources, targets), start=1):
        if one is None or other is None:
            return f"document {(one or other).name!r} is in one of them only"
        if one.name != other.name:
            return f"document {place} is {one.name!r} here and {other.name!r} there"
        numbers = zip_longest(*([number for number, _ in side.segments] for side in (one, other)))
        if unlike := next((pair for pair in numbers if pair[0] != pair[1]), None):
            first = " and ".join("none" if number is None else repr(number) for number in unlike)
            both = f"{len(one.segments)} and {len(other.segments)} segments"
            return f"document {one.name!r} has {both}, and the first that differ are {first}"
    return None
