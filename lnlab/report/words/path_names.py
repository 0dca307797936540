"""Names for readers: of table columns, paths of a setting, sizes, places in a model, norms and variants."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lnlab.keys import Json
from lnlab.select.axis_words import axis_name
from lnlab.setting import STACKS


class SizeNames(NamedTuple):
    """``the number of layers``, ``number of layers of each stack``, ``L``."""

    phrase: str
    axis: str
    letter: str


_SITES = {
    "feed_forward": "feed-forward network",
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
}
_NORM_PARAMETERS = {"naive true": "padding counted", "naive false": ""}
_SIZES: Mapping[str, tuple[str, str]] = {
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


def path_name(path: str) -> str:
    """``learning rate`` for ``optimizer.lr``. A path of one stack names it: ``decoder layers``."""
    owner = path.rpartition(".")[0]
    name = axis_name(path)
    return f"{owner} {name}" if owner in STACKS else name


def place_name(x: str, where: Mapping[str, Json] | None) -> str:
    """What ``x`` counts: ``decoder layer`` where one stack is selected."""
    stack = (where or {}).get("stack")
    return f"{stack} {x}" if isinstance(stack, str) and x == "layer" else path_name(x)


def norm_with_parameters(known: str, parameters: str) -> str:
    """``BatchNorm (momentum 0.1, padding counted)``."""
    words = [_NORM_PARAMETERS.get(word, word) for word in parameters.removesuffix(")").split(", ")]
    shown = ", ".join(filter(None, words))
    return f"{known} ({shown})" if shown else known


def site_name(word: str) -> str:
    """A sublayer, stack or tensor as a reader says it: ``feed-forward network``."""
    return _SITES.get(word, word)


def join_value_names(words: Iterable[str]) -> str:
    """The values of several axes as one name: ``Post-LN without cross-attention``, ``Post-LN, untied``."""
    name = ""
    for word in words:
        name += word if not name else f" {word}" if word.startswith(("with ", "without ")) else f", {word}"
    return name


def size_names(path: str, quantity: str = "") -> SizeNames:
    """The names of the size at a path of the setting. An unknown size is called by the words of its path.

    Args:
        path: of the setting, or the name of a column.
        quantity: what is drawn against it, which says what the column ``x`` is.
    """
    if path == "x" and quantity in _OF_CURVES:
        return _OF_CURVES[quantity]
    owner, _, word = path.rpartition(".")
    phrase, letter = _SIZES.get(word, (word.replace("_", " "), "x"))
    per_stack = word in ("layers", "sublayers") and owner
    owner_phrase = _OWNERS.get((word, owner), f" of the {owner}") if per_stack else ""
    return SizeNames(phrase, phrase.removeprefix("the ") + owner_phrase, letter)


def number_ranges(numbers: Sequence[int]) -> str:
    """``1–10, 12``: runs of consecutive numbers shortened."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)
