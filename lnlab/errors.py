"""Exceptions that carry what the user can put right, and the words for it."""

import json
import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches

from lnlab.issues import Issue

MOST_LISTED = 8
"""Known words that a message lists."""
_LONGEST_VALUE = 80
_NORM_ENDING = re.compile(r"(layer)?(norm|normalization|normalisation)$|(?<=..)ln$")
_SHORT_FOR = {
    "ln": "layer",
    "bn": "batch",
    "nonorm": "none",
    "layernorm": "layer",
    "layernormalization": "layer",
}
OTHER_WORDS = {
    "csv": ("labelled_table",),
    "tsv": ("labelled_table",),
    "table": ("labelled_table",),
    "parquet": ("labelled_table",),
    "dataframe": ("labelled_table",),
    "delimiter": ("separator",),
    "delim": ("separator",),
    "sep": ("separator",),
    "txt": ("text",),
    "text_file": ("text",),
    "text_files": ("text",),
    "file": ("files",),
    "path": ("file", "files"),
    "decoder": ("language_model",),
    "gpt": ("language_model",),
    "transformer": ("encoder_decoder",),
    "encoder_classifier": ("classifier",),
    "bert": ("classifier",),
    "learning_rate": ("lr",),
    "learningrate": ("lr",),
    "epsilon": ("eps",),
}
"""What other tools call a thing of lnlab's, which no spelling is near."""


def shown(value: object) -> str:
    """A value as a message shows it: as JSON, at most 80 characters, what cannot be printed as escapes."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} ..."


class LabError(Exception):
    """What the user can put right. The command line prints it. Any other exception is a bug with a traceback.

    Attributes:
        issues: all of it, each with ``code``, ``place``, ``what`` and ``remedy``.
    """

    def __init__(self, *issues: Issue) -> None:
        super().__init__("\n".join(map(str, issues)))
        self.issues = issues

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the mistakes, and not where lnlab noticed them."""
        return [f"{type(self).__name__}: {self.issues[0] if self.issues else ''}", *map(str, self.issues[1:])]

    def __reduce__(self) -> tuple[type["LabError"], tuple[Issue, ...]]:
        """Pickled as its issues, so that it survives the way between processes."""
        return type(self), self.issues


class SpecError(LabError):
    """The spec, or an override given with it, is wrong."""


class CorpusError(LabError):
    """A corpus is absent, damaged or malformed."""


class StoreError(LabError):
    """The store cannot be read or written."""


class ReportError(LabError):
    """A report cannot be made from what is stored."""


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'? (known: ...)``: the remedy for a word that is not one of ``known``."""
    words = sorted(set(known))
    if not words:
        return "none is known yet"
    close = closest(word, words)
    listing = f"known: {listed(words, word, first=close)}"
    return f"did you mean '{close}'? ({listing})" if close else listing


def sites_left_out(known: Collection[object]) -> str:
    """Where all sites of a model are printed, as the end of a list that leaves some of these out, or ""."""
    return "; lnlab list site SPEC has all of this model" if len(known) > MOST_LISTED else ""


def listed(
    words: Iterable[str], word: str = "", *, first: str | None = None, last: str = "", quoted: bool = False
) -> str:
    """``a, b, c``: words for a message. Of more than eight, the nearest to ``word`` and the number of the others.

    Args:
        words: in the order in which they are listed where there are no more than eight.
        word: what they are to be near to. Empty means that the first eight are taken.
        first: that which is most likely meant, before all others where some are left out.
        last: what stands before the last of them: ``or``.
        quoted: whether each stands in quotes. One that is empty or holds a comma or semicolon always does.
    """
    distinct = list(dict.fromkeys(words))
    shown = distinct
    if len(distinct) > MOST_LISTED:
        by_nearness = sorted(distinct, key=lambda w: (w != first, -_likeness(word, w))) if word else distinct
        shown = by_nearness[:MOST_LISTED]
    texts = [f"'{text}'" if quoted or not text or "," in text or ";" in text else text for text in shown]
    if len(distinct) > len(shown):
        return f"{', '.join(texts)} and {len(distinct) - len(shown):,} more"
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if last and len(texts) > 1 else ", ".join(texts)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant, or None where none is near.

    Two neighbouring letters exchanged are one edit, and the likeliest: ``rl`` for ``lr``, which share one letter in
    order only. Where no word is near, one that differs in capitals alone is. ``Pre-LN``, ``LayerNorm`` and the like,
    the words of papers and pages, and those of other tools, ``csv`` or ``delimiter``, come before all that is near.
    """
    words = sorted(set(known))
    # A word of signs alone has no stem, and is not like every other one of signs.
    stem = _stem(word) if word not in words else ""
    if stem and (published := [candidate for candidate in words if _stem(candidate) == stem]):
        return published[0]
    if word not in words and (meant := [name for name in OTHER_WORDS.get(word.casefold(), ()) if name in words]):
        return meant[0]
    transposed = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)} - {word}
    candidates = [candidate for candidate in words if candidate in transposed]
    if not candidates and (near := get_close_matches(word, words, n=len(words) or 1)):
        # Of words that are equally near the one that begins alike is meant: ``of`` by ``o``, and not ``to``.
        equal = [other for other in near if _ratio(other, word) == _ratio(near[0], word)]
        candidates = sorted(equal, key=lambda other: other[:1] != word[:1])
    candidates = candidates or [candidate for candidate in words if candidate.casefold() == word.casefold()]
    return candidates[0] if candidates else None


def _stem(word: str) -> str:
    """A name without capitals, separators and the ending ``norm`` or ``LN``: ``Pre-LN`` is ``pre``."""
    letters = "".join(letter for letter in word.casefold() if letter.isalnum())
    letters = _SHORT_FOR.get(letters, letters)
    stem = _NORM_ENDING.sub("", letters)
    return stem or letters


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


def _likeness(word: str, other: str) -> float:
    """Rank words that begin alike, or of which one holds the other, first."""
    return (
        _ratio(word.casefold(), other.casefold())
        + (word.casefold() in other.casefold() or other.casefold() in word.casefold()) / 2
    )
