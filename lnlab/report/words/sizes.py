"""The names of the sizes of a model: in a sentence, on an axis, and as a letter in a formula."""

from collections.abc import Mapping
from typing import NamedTuple


class SizeNames(NamedTuple):
    """``the number of layers``, ``number of layers of each stack``, ``L``."""

    phrase: str
    axis: str
    letter: str


_WORDS: Mapping[str, tuple[str, str]] = {
    "layers": ("the number of layers", "L"),
    "sublayers": ("the number of sublayers", "N"),
    "d_model": ("the width", "d"),
    "length": ("the number of tokens", "n"),
}
_OF_CURVES = dict.fromkeys(
    ("psi_variance", "rectified_variance", "rectification"), SizeNames("the training step", "training step t", "t")
)
"""What ``x`` is, of the quantities that a probe measures as a curve."""
_OWNERS = {("layers", "model"): " of each stack", ("sublayers", "model"): " of all stacks"}


def size_names(path: str, quantity: str = "") -> SizeNames:
    """The names of the size at a path of the setting; those of an unknown one are its words.

    Args:
        path: of the setting, or the name of a column.
        quantity: what is drawn against it, which says what the column ``x`` is.
    """
    if path == "x" and quantity in _OF_CURVES:
        return _OF_CURVES[quantity]
    owner, _, word = path.rpartition(".")
    phrase, letter = _WORDS.get(word, (word.replace("_", " "), "x"))
    per_stack = word in ("layers", "sublayers") and owner
    owner_phrase = _OWNERS.get((word, owner), f" of the {owner}") if per_stack else ""
    return SizeNames(phrase, phrase.removeprefix("the ") + owner_phrase, letter)
