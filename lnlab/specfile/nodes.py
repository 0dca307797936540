"""YAML text -> nodes with marks, counted while they are read, so that no bomb is ever built.

Nodes are built from the parser's events, one at a time: reading stops at the first limit that is exceeded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

MOST_NODES, MOST_ALIASES, DEEPEST = 20_000, 100, 32
_TOO_DEEP = re.compile(rf"(?:[\[{{][ \n]*){{{DEEPEST + 1}}}")  # the scanner is slow inside them, before any event


@dataclass(frozen=True, order=True, slots=True)
class Mark:
    """A place in a text; lines and columns from 1."""

    line: int
    column: int


@dataclass(frozen=True, order=True, slots=True)
class YamlFault:
    """A mistake at a mark, before anybody knows the file's name."""

    mark: Mark
    what: str
    remedy: str = ""


class UnreadableYaml(Exception):
    """The text cannot be read on."""

    def __init__(self, *faults: YamlFault) -> None:
        super().__init__(*(fault.what for fault in faults))
        self.faults = faults


@dataclass(slots=True)
class Scalar:
    """A scalar as written: ``plain`` is false inside quotes and in blocks."""

    mark: Mark
    text: str
    plain: bool


@dataclass(slots=True)
class Sequence:
    """A list of nodes."""

    mark: Mark
    items: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    """Pairs of nodes, duplicates and all."""

    mark: Mark
    pairs: list[tuple["Node", "Node"]] = field(default_factory=list)


Node = Scalar | Sequence | Mapping


def read_nodes(text: str) -> tuple[Node | None, list[YamlFault]]:
    """The one document in ``text`` (None: it holds none), and the tags it should not have.

    Raises:
        Faulty: a syntax error, a directive, a second document, an unknown alias, or a limit is passed.
    """
    if match := _TOO_DEEP.search(text):
        raise UnreadableYaml(_too_deep(mark_at(text, match.start())))
    builder = _NodeBuilder(text)
    try:
        root = builder.read()
    except MarkedYAMLError as error:
        raise UnreadableYaml(_syntax(error)) from error
    except (YAMLError, ValueError, OverflowError, IndexError) as error:
        raise UnreadableYaml(
            YamlFault(builder.last, f"cannot be read as YAML: {str(error).splitlines()[0]}")
        ) from error
    return root, builder.tags


def mark_at(text: str, index: int) -> Mark:
    """The place of ``text[index]``."""
    return Mark(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


def _too_deep(mark: Mark) -> YamlFault:
    return YamlFault(mark, f"nested deeper than {DEEPEST} levels", "a spec is flatter than that")


def _mark(position: Any) -> Mark:
    return Mark(position.line + 1, position.column + 1)


def _syntax(error: MarkedYAMLError) -> YamlFault:
    """A syntax error in one line; a tab has its own remedy."""
    mark = error.problem_mark or error.context_mark
    what = ", ".join(part for part in (error.context, error.problem) if part)
    has_tab = "'\\t'" in what
    remedy = "indent with spaces; YAML allows no tabs there" if has_tab else "mend the YAML; nothing after it was read"
    return YamlFault(_mark(mark) if mark else Mark(1, 1), f"not YAML: {what}", remedy)


class _NodeBuilder:
    """Builds nodes from events. The counts are of what is written; an alias is one node here."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)
        self.anchors: dict[str, Node | None] = {}
        self.tags: list[YamlFault] = []
        self.last = Mark(1, 1)
        self.nodes = self.aliases = 0

    def read(self) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                self.check_document(event, documents)
            elif isinstance(event, NodeEvent):
                root = self.node(event, 1)
        return root

    def check_document(self, event: DocumentStartEvent, documents: int) -> None:
        if event.version or event.tags:
            raise UnreadableYaml(
                YamlFault(Mark(1, 1), "YAML directives are not read", "remove the lines that begin with %")
            )
        if documents > 1:
            raise UnreadableYaml(
                YamlFault(_mark(event.start_mark), "a second document begins here", "one file asks one question")
            )

    def node(self, event: Any, depth: int) -> Node:
        self.last = mark = _mark(event.start_mark)
        self.count(event, depth)
        if isinstance(event, AliasEvent):
            return self.alias(event)
        if event.tag is not None:
            self.tags.append(YamlFault(mark, f"the tag {event.tag} is not read", "remove it; a spec holds plain data"))
        node: Node
        if isinstance(event, ScalarEvent):
            node = Scalar(mark, event.value, event.style is None)
            self.anchor(event, node)
            return node
        self.anchor(event, None)
        node = self.sequence(mark, depth) if isinstance(event, SequenceStartEvent) else self.mapping(mark, depth)
        self.anchor(event, node)
        return node

    def count(self, event: NodeEvent, depth: int) -> None:
        self.nodes += 1
        self.aliases += isinstance(event, AliasEvent)
        if depth > DEEPEST:
            raise UnreadableYaml(_too_deep(self.last))
        if self.nodes > MOST_NODES:
            raise UnreadableYaml(YamlFault(self.last, f"more than {MOST_NODES:,} nodes", "one file asks one question"))
        if self.aliases > MOST_ALIASES:
            raise UnreadableYaml(YamlFault(self.last, f"more than {MOST_ALIASES} aliases", "write some of them out"))

    def anchor(self, event: Any, node: Node | None) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node

    def alias(self, event: AliasEvent) -> Node:
        if (target := self.anchors.get(event.anchor)) is None:
            what = f"no anchor &{event.anchor}"
            if event.anchor in self.anchors:  # its node is not complete yet
                what = f"the alias *{event.anchor} stands inside what it names"
            raise UnreadableYaml(YamlFault(self.last, what, "an alias repeats something written above it"))
        return target

    def sequence(self, mark: Mark, depth: int) -> Sequence:
        sequence = Sequence(mark)
        while not isinstance(event := next(self.events), SequenceEndEvent):
            sequence.items.append(self.node(event, depth + 1))
        return sequence

    def mapping(self, mark: Mark, depth: int) -> Mapping:
        mapping = Mapping(mark)
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self.node(event, depth + 1)
            mapping.pairs.append((key, self.node(next(self.events), depth + 1)))
        return mapping
