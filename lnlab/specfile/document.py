"""YAML text -> plain data, the marks of every key and value, and everything that a spec may not hold.

ruamel.yaml composes the nodes. They are counted meanwhile, so that no YAML bomb is ever built, neither by nesting nor
by repetition when aliases are unfolded into data.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, DocumentStartEvent, StreamEndEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from lnlab.issues import Code, Issue, Mark, Where
from lnlab.keys import Json
from lnlab.printable import obeyed_character
from lnlab.specfile.scalars import NotPlainData, resolve_plain

MOST_NODES, MOST_ALIASES, DEEPEST = 10_000, 100, 32
_TOO_DEEP = re.compile(rf"(?:[\[{{][ \n]*){{{DEEPEST + 1}}}")  # the scanner is slow inside them, before any event
_CONFLICT_MARKER = re.compile(r"^(<{7}|>{7}|\|{7})( |$)", re.MULTILINE)


Marks = dict[Where, tuple[Mark, Mark]]
"""Path -> the marks of its key and of its value (for an item of a list both are the value's)."""


class UnreadableYaml(Exception):
    """The rest of the text cannot be read."""

    def __init__(self, mark: Mark, what: str, remedy: str = "", code: Code = "syntax") -> None:
        super().__init__(what)
        self.issue = Issue(code, mark, what, remedy)


def read_data(text: str) -> tuple[Json, Marks, list[Issue]]:
    """The data in ``text``, the marks of everything in it, and all that is wrong with it.

    The data are None where the text holds no document or cannot be read. Unreadable text has one issue.
    """
    unfolded = _Unfolded()
    try:
        root, tags = compose(text)
        data = unfolded.data(root) if root is not None else None
    except UnreadableYaml as error:
        return None, unfolded.marks, [error.issue]
    return data, unfolded.marks, sorted([*tags, *unfolded.issues], key=lambda issue: (issue.place, issue.what))


@lru_cache(maxsize=4)  # of one spec a command may read the file, and the text in its report
def compose(text: str) -> tuple[Node | None, list[Issue]]:
    """The one document in ``text``, or None if it holds none, and the tags that it should not have.

    Raises:
        UnreadableYaml: a merge conflict, a syntax error, a directive, a second document, an unknown alias, or a limit
            is passed.
    """
    if match := _CONFLICT_MARKER.search(text):
        raise UnreadableYaml(mark_at(text, match.start()), "a merge conflict marker", "resolve the conflict first")
    if match := _TOO_DEEP.search(text):
        raise _too_deep(mark_at(text, match.start()))
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _CountingComposer
    composer = yaml.composer
    try:
        root = yaml.compose(text)
    except MarkedYAMLError as error:
        position = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        remedy = "fix the YAML; nothing after it was read"
        if "'\\t'" in what:
            remedy = "indent with spaces; YAML allows no tabs there"
        if "mapping values are not allowed" in what:
            remedy = "put quotes around a text that contains ': '; nothing after it was read"
        raise UnreadableYaml(_mark(position) if position else Mark(1, 1), f"not YAML: {what}", remedy) from error
    except (YAMLError, ValueError, OverflowError, IndexError) as error:
        # the scanner's own errors for escapes and control characters, which name no place
        raise UnreadableYaml(composer.last, f"cannot be read as YAML: {str(error).splitlines()[0]}") from error
    return root, composer.tags


def mark_at(text: str, index: int) -> Mark:
    """The place of ``text[index]``."""
    return Mark(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


def _mark(position: Any) -> Mark:
    return Mark(position.line + 1, position.column + 1)


def _too_deep(mark: Mark) -> UnreadableYaml:
    return UnreadableYaml(mark, f"nested deeper than {DEEPEST} levels", "a spec is flatter than that", "too-large")


class _CountingComposer(Composer):
    """ruamel's composer, which stops at the first limit that is passed. An alias counts as one node here."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        # YAML allows it, and a warning would reach the terminal beside the issues.
        self.warn_double_anchors = False
        self.tags: list[Issue] = []
        self.last = Mark(1, 1)
        self.nodes = self.aliases = 0
        self.unfinished: list[Node | None] = []

    def get_single_node(self) -> Node | None:
        """The root of the only document."""
        self.parser.get_event()  # the start of the stream
        root = None if self.parser.check_event(StreamEndEvent) else self.compose_document()
        if not self.parser.check_event(StreamEndEvent):
            second = _mark(self.parser.peek_event().start_mark)
            raise UnreadableYaml(second, "a second document begins here", "one file asks one question")
        return root

    def compose_document(self) -> Node | None:
        """The root of a document that has no directives."""
        start: DocumentStartEvent = self.parser.peek_event()
        if start.version or start.tags:
            raise UnreadableYaml(Mark(1, 1), "YAML directives are not read", "remove the lines that begin with %")
        root: Node | None = super().compose_document()
        return root

    def compose_node(self, parent: Node | None, index: Any) -> Node:
        """Count the next node and compose it. A tag is not read, but reported in ``tags``."""
        event = self.parser.peek_event()
        self.last = _mark(event.start_mark)
        self.nodes += 1
        if len(self.unfinished) >= DEEPEST:
            raise _too_deep(self.last)
        if self.nodes > MOST_NODES:
            raise UnreadableYaml(
                self.last, f"more than {MOST_NODES:,} nodes", "one file asks one question", "too-large"
            )
        if isinstance(event, AliasEvent):
            self.aliases += 1
            if self.aliases > MOST_ALIASES:
                what = f"more than {MOST_ALIASES} aliases"
                raise UnreadableYaml(self.last, what, "write some of them out", "too-large")
            what = ""
            if (target := self.anchors.get(event.anchor)) is None:
                what = f"no anchor &{event.anchor}"
            elif any(node is target for node in (*self.unfinished, parent)):
                what = f"the alias *{event.anchor} stands inside what it names"
            if what:
                raise UnreadableYaml(self.last, what, "an alias repeats something written above it")
        elif event.tag is not None:
            self.tags.append(
                Issue("syntax", self.last, f"the tag {event.tag} is not read", "remove it; a spec holds plain data")
            )
        self.unfinished.append(parent)
        node: Node = super().compose_node(parent, index)
        self.unfinished.pop()
        return node


class _Unfolded:
    """One walk over nodes. What aliases repeat is counted again."""

    def __init__(self) -> None:
        self.marks: Marks = {}
        self.issues: list[Issue] = []
        self.nodes = 0

    def data(self, node: Node, path: Where = (), key: Mark | None = None) -> Json:
        """The value of ``node``. Adds its place to ``marks``, and what is wrong with it to ``issues``.

        Raises:
            UnreadableYaml: aliases unfold to too many nodes.
        """
        mark = _mark(node.start_mark)
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise UnreadableYaml(
                mark, f"aliases unfold to more than {MOST_NODES:,} nodes", "write less of it", "too-large"
            )
        self.marks[path] = (key or mark, mark)
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        return [self.data(item, (*path, i)) for i, item in enumerate(node.value)]

    def _scalar(self, node: ScalarNode) -> Json:
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            self._refuse(node, "half a character (a lone surrogate)", "write the character itself")
            return ""
        if character := obeyed_character(node.value):
            what = (
                f"the character U+{ord(character):04X}, which shows as none, or moves or reverses what stands around it"
            )
            self._refuse(node, what, "remove it")
            return ""
        if node.style is not None:  # quotes and blocks make anything text
            return node.value
        try:
            return resolve_plain(node.value)
        except NotPlainData as error:
            self.issues.append(replace(error.issue, place=_mark(node.start_mark)))
            return None

    def _mapping(self, node: MappingNode, path: Where) -> Json:
        values: dict[str, Json] = {}
        first_lines: dict[str, int] = {}
        for key, value in node.value:
            word = self._word(key)
            if word is None:
                continue
            mark = _mark(key.start_mark)
            if word in values:
                self._refuse(
                    key, f"'{word}' is given twice; first in line {first_lines[word]}", "keep one of them", "duplicate"
                )
                continue
            first_lines[word] = mark.line
            values[word] = self.data(value, (*path, word), mark)
        return values

    def _word(self, key: Node) -> str | None:
        """The key as a word. If it is none, return None and add the reason to ``issues``."""
        issue_count = len(self.issues)
        written = ""
        if isinstance(key, ScalarNode):
            written = key.value
            if written == "<<" and key.style is None:
                self._refuse(key, "merge keys are not read", "write out what was to be merged")
                return None
            word = self._scalar(key)
            if isinstance(word, str) and word:
                return word
        if len(self.issues) == issue_count:
            what = f"the key{f' {written}' if written else ''} is not a word"
            self._refuse(key, what, "write a word, or put quotes around it")
        return None

    def _refuse(self, node: Node, what: str, remedy: str, code: Code = "syntax") -> None:
        self.issues.append(Issue(code, _mark(node.start_mark), what, remedy))
