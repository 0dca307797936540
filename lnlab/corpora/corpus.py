"""A corpus of sentence pairs, and the registry of corpora.

A corpus builder is ``(roots, *, ...) -> Corpus``.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from lnlab.facts import DataFacts
from lnlab.keys import canonical
from lnlab.registry import Registry, Roots

Pair = tuple[str, str]
Pairs = Sequence[Pair]
_Item = TypeVar("_Item")

SPLITS = ("train", "validation", "test")
_BLOCK = 1 << 14


@dataclass(frozen=True)
class SplitText(Generic[_Item]):
    """Text in three splits.

    Attributes:
        splits: the items of ``train``, ``validation`` and ``test``. A split may be empty.
        digest: the SHA-256 of the items of all splits.
        printable: whether its text may be shown in a report. False for real corpora, whose licences differ.
    """

    splits: Mapping[str, Sequence[_Item]]
    digest: str
    printable: bool


class Corpus(SplitText[Pair]):
    """Sentence pairs, source first."""


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded: its address, its SHA-256, and its size in bytes."""

    url: str
    sha256: str
    size: int


@dataclass(frozen=True)
class TextFacts(DataFacts):
    """The facts of a corpus, or of a tokenizer that reads a file.

    Attributes:
        licence: licence of the text. A corpus with a licence has its own name and is listed by ``lnlab data``.
        citation: its authors.
        source: place to get it if lnlab cannot download it.
        files: the files that can be downloaded, by path below a data root.
        locate: ``(roots) -> paths`` of its files. The list is empty where the text is generated, and None means absent.
    """

    licence: str | None = None
    citation: str | None = None
    source: str | None = None
    files: Mapping[str, RemoteFile] = field(default_factory=dict)
    locate: Callable[[Roots], list[Path] | None] | None = None


corpora: Registry[Callable[..., Corpus]] = Registry("corpus", TextFacts)


def in_package(_roots: Roots) -> list[Path]:
    """The fact ``locate`` of generated text, which is part of the package and in no data root."""
    return []


def corpus_of(train: Pairs, validation: Pairs, test: Pairs, *, printable: bool) -> Corpus:
    """Make a corpus of these pairs, with the digest of its text."""
    splits = dict(zip(SPLITS, (train, validation, test), strict=True))
    return Corpus(splits, digest_of_splits(splits), printable)


def digest_of_splits(splits: Mapping[str, Sequence[_Item]]) -> str:
    """Return ``lnlab.keys.digest`` of the list of names and items."""
    # Some items at a time, so that the JSON of millions is never in memory.
    state = hashlib.sha256(b"[")
    for place, (name, items) in enumerate(splits.items()):
        state.update(f"{',' if place else ''}[{canonical(name)},[".encode())
        for start in range(0, len(items), _BLOCK):
            block = canonical(list(items[start : start + _BLOCK]))[1:-1]
            state.update(f"{',' if start else ''}{block}".encode())
        state.update(b"]]")
    state.update(b"]")
    return state.hexdigest()
