"""What readers call the paths that vary, and whether a sentence says at which value of one it holds."""

import re
from collections.abc import Mapping

from lnlab.specfile.columns import TIMES

AXIS_NAMES: Mapping[str, str] = {
    "lr": "learning rate",
    "step": "training step",
    "d_model": "width",
    "d_ff": "feed-forward width",
}
"""The last word of a path -> what readers call it. Others are called by their own words."""
_WORDS: Mapping[str, str] = {
    "lr": r"rates?",
    "times": r"rates?",
    "layers": r"layers?|deep|depths?|shallow",
    "steps": r"steps?|updates?|runs?|epochs?",
    "d_model": r"widths?|wide|narrow|coordinates",
    "batch_sentences": r"batch(?:es)?|sentences",
    "batch_tokens": r"batch(?:es)?|tokens",
}
"""The last word of a path -> by which words a sentence may speak of it."""
_QUALIFIERS = (
    r"\d[\d.,]*|\d?\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|eighteen|sixty)\b"
    r"|\b(?:twice|thrice|half|quarter|tenth|sixteenth|double|best|own|tuned|chosen|fails|failing|largest|smallest|large"
    r"|small|high|low|long|short)\b"
)
_NEAR = 25
"""Letters that may stand between the word for an axis and the number or adjective that says which value is meant."""


def axis_name(path: str) -> str:
    """``learning rate`` for ``optimizer.lr``."""
    word = path.rpartition(".")[2]
    return AXIS_NAMES.get(word, word.replace("_", " "))


def setting_name(path: str) -> str:
    """``axis_name``, and what is multiplied in place of the word for its multiples: ``learning rate`` for ``times``."""
    return axis_name("lr" if path == TIMES else path)


def names_value(sentence: str, path: str) -> bool:
    """Whether a sentence says at which value of a path it holds: a word for the path beside a number or adjective."""
    word = path.rpartition(".")[2]
    axis = rf"\b(?:{_WORDS.get(word, re.escape(axis_name(path)))})\b"
    gap = rf"[^.,;]{{0,{_NEAR}}}?"
    beside = rf"(?:{_QUALIFIERS}){gap}{axis}|{axis}{gap}(?:{_QUALIFIERS})"
    return re.search(beside, sentence, re.IGNORECASE) is not None
