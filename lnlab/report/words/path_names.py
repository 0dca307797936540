"""What readers call a column of the tables, a path of a setting, a place in a model, a norm and a variant."""

from collections.abc import Iterable, Mapping

from lnlab.keys import Json
from lnlab.setting import STACKS

_NAMES = {"lr": "learning rate", "step": "training step", "d_model": "width", "d_ff": "feed-forward width"}

_SITES = {
    "feed_forward": "feed-forward network",
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
}
_NORM_PARAMETERS = {"naive true": "padding counted", "naive false": ""}


def path_name(path: str) -> str:
    """``learning rate`` for ``optimizer.lr``; what is of one stack says of which: ``decoder layers``."""
    owner, _, word = path.rpartition(".")
    name = _NAMES.get(word, word.replace("_", " "))
    return f"{owner} {name}" if owner in STACKS else name


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


def evaluation_words(value: Json, label: str) -> str:
    """When the validation loss is measured: ``evaluated every 57 steps``, ``evaluated at the end``."""
    for key, unit in (("every", "step"), ("epochs", "epoch")):
        if isinstance(value, Mapping) and set(value) == {key}:
            return f"evaluated every {value[key]} {unit}{'' if value[key] == 1 else 's'}"
    return "evaluated at the end" if value == "end" else f"evaluated at {label}"
