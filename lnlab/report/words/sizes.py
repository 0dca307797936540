"""What the sizes of a model are called: in a sentence, on an axis, and by a letter in a law."""

from collections.abc import Mapping
from typing import NamedTuple


class Size(NamedTuple):
    """``the number of layers``, ``number of layers of each stack``, ``L``."""

    said: str
    axis: str
    letter: str


_WORDS: Mapping[str, tuple[str, str]] = {
    "layers": ("the number of layers", "L"),
    "sublayers": ("the number of sublayers", "N"),
    "d_model": ("the width", "d"),
    "length": ("the number of tokens", "n"),
}
_OWNERS = {("layers", "model"): " of each stack", ("sublayers", "model"): " of all stacks"}


def size(path: str) -> Size:
    """The size at a path of the setting; an unknown one is called by its words."""
    owner, _, word = path.rpartition(".")
    said, letter = _WORDS.get(word, (word.replace("_", " "), "x"))
    counted = word in ("layers", "sublayers") and owner
    return Size(
        said, said.removeprefix("the ") + (_OWNERS.get((word, owner), f" of the {owner}") if counted else ""), letter
    )
