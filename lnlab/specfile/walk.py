"""Nodes -> plain data and the marks of every key and value; everything a spec may not hold is collected."""

from lnlab.keys import Json
from lnlab.registry import Where
from lnlab.specfile.nodes import MOST_NODES, Mapping, Mark, Node, Scalar, Sequence, UnreadableYaml, YamlFault
from lnlab.specfile.scalars import NotPlainData, resolve_plain

Marks = dict[Where, tuple[Mark, Mark]]
"""Path -> the marks of its key and of its value (for an item of a list both are the value's)."""


class NodeConverter:
    """One walk over nodes. What aliases repeat is counted again, so that no bomb is unfolded."""

    def __init__(self) -> None:
        self.marks: Marks = {}
        self.faults: list[YamlFault] = []
        self.nodes = 0

    def data(self, node: Node, path: Where = (), key: Mark | None = None) -> Json:
        """The value of ``node``.

        Raises:
            Faulty: aliases unfold to too many nodes.
        """
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise UnreadableYaml(
                YamlFault(node.mark, f"aliases unfold to more than {MOST_NODES:,} nodes", "write less of it")
            )
        self.marks[path] = (key or node.mark, node.mark)
        if isinstance(node, Scalar):
            return self._scalar(node)
        if isinstance(node, Sequence):
            return [self.data(item, (*path, i)) for i, item in enumerate(node.items)]
        return self._mapping(node, path)

    def _scalar(self, node: Scalar) -> Json:
        if any("\ud800" <= character <= "\udfff" for character in node.text):
            self.faults.append(
                YamlFault(node.mark, "half a character (a lone surrogate)", "write the character itself")
            )
            return ""
        if not node.plain:
            return node.text
        try:
            return resolve_plain(node.text)
        except NotPlainData as error:
            self.faults.append(YamlFault(node.mark, *error.args))
            return None

    def _mapping(self, node: Mapping, path: Where) -> Json:
        values: dict[str, Json] = {}
        first_marks: dict[str, Mark] = {}
        for key, value in node.pairs:
            word = self._word(key)
            if word is None:
                continue
            if word in values:
                line = first_marks[word].line
                what = f"'{word}' is given twice; first in line {line}"
                self.faults.append(YamlFault(key.mark, what, "keep one of them"))
                continue
            first_marks[word] = key.mark
            values[word] = self.data(value, (*path, word), key.mark)
        return values

    def _word(self, key: Node) -> str | None:
        """The key as a word, or None with a fault."""
        if isinstance(key, Scalar) and key.plain and key.text == "<<":
            self.faults.append(YamlFault(key.mark, "merge keys are not read", "write out what was to be merged"))
            return None
        fault_count = len(self.faults)
        word = self._scalar(key) if isinstance(key, Scalar) else None
        if isinstance(word, str) and word:
            return word
        if len(self.faults) == fault_count:
            written = f" {key.text}" if isinstance(key, Scalar) and key.text else ""
            self.faults.append(
                YamlFault(key.mark, f"the key{written} is not a word", "write a word, or put quotes around it")
            )
        return None
