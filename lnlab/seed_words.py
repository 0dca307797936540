"""What sentences call a replicate: a seed, or by the word of the user whose replicates are documents."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

UNIT = "unit"
"""What the setting of a run from elsewhere says of its replicates: what one of them is called."""
_word: ContextVar[str] = ContextVar("seed_word", default="seed")


@contextmanager
def seeds_called(runs: "pl.DataFrame") -> Iterator[None]:
    """Inside, sentences call a replicate as these runs do."""
    told = None if runs.is_empty() else json.loads(runs["setting"][0]).get(UNIT)
    previous = _word.set(told if isinstance(told, str) else "seed")
    try:
        yield
    finally:
        _word.reset(previous)


def seed_word(number: int = 1) -> str:
    """``seed``, or ``seeds`` of another number than 1."""
    word = _word.get()
    if number == 1:
        return word
    return f"{word[:-1]}ies" if word[-1:] == "y" and word[-2:-1] not in "aeiou" else f"{word}s"


def seeds_word() -> str:
    """The word for several replicates."""
    return seed_word(2)


def counted_seeds(number: int) -> str:
    """``1 seed``, ``3,000 documents``."""
    return f"{number:,} {seed_word(number)}"
