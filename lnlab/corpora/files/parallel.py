"""A corpus from pairs of text files, read once per process as long as the files do not change."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lnlab.corpora.corpus import Corpus, Pair, Pairs, corpus_of
from lnlab.corpora.files.fetch import file_below, file_digest
from lnlab.corpora.files.lines import read_pairs, refuse_large
from lnlab.keys import digest
from lnlab.registry import Choice, Roots

Sides = tuple[Path, Path]
"""The files of the source and of the target language."""

States = tuple[tuple[Path, str], ...]
"""Files with the digests of their content."""

ABSENT = "absent"
"""The fingerprint of absent text: its spec can still be checked."""


def parallel_corpus(
    train: Sides, validation: Sides | None = None, test: Sides | None = None, *, held_out: float = 0.0, joined: str = ""
) -> Corpus:
    """Make a corpus of real text, never printed. A split without files is held out of the training pairs.

    A pair is held out by the SHA-256 of its source sentence, so that equal sentences stay in one split and adding lines
    moves none. ``joined`` marks where a word was split into pieces, which are joined again.

    Raises:
        CorpusError: a file is damaged, is not UTF-8, or two files differ in their numbers of lines.
    """
    files = (train, validation, test)
    states = tuple(sides and states_of(sides) for sides in files)
    return _read(states, held_out, joined)


def real_corpus(train: Pairs, validation: Pairs, test: Pairs) -> Corpus:
    """Make a corpus of published or private text, which is never printed, as its licence may forbid it."""
    return corpus_of(train, validation, test, printable=False)


@lru_cache(maxsize=4)
def _read(states: tuple[States | None, ...], held_out: float, joined: str) -> Corpus:
    # The digests of the files are part of the argument, so that a changed file is read anew.
    splits: list[list[Pair] | None] = []
    for state in states:
        pairs = read_pairs(*(path for path, _ in state)) if state else None
        if pairs and joined:
            pairs = [(source.replace(joined, ""), target.replace(joined, "")) for source, target in pairs]
        splits.append(pairs)
    train, validation, test = splits[0] or [], splits[1], splits[2]
    hashes = [unit_hash(source) for source, _ in train]
    width = held_out * (validation is None)
    if validation is None:
        validation = [pair for pair, h in zip(train, hashes, strict=True) if h < width]
    until = width + held_out * (test is None)
    if test is None:
        test = [pair for pair, h in zip(train, hashes, strict=True) if width <= h < until]
    remaining = [pair for pair, h in zip(train, hashes, strict=True) if h >= until]
    return real_corpus(remaining, validation, test)


def unit_hash(sentence: str) -> float:
    """A number in [0, 1) determined by the sentence alone."""
    return int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:6]) / 2**48  # 48 bits, which a float has exactly


def states_of(paths: Iterable[Path]) -> States:
    """Each path with the present digest of its file, the argument by which a cached reader rereads changed files."""
    return tuple((path, file_digest(path)) for path in paths)


def content_of(paths: list[Path] | None) -> str:
    """A digest of the contents of all files in their order, or ``ABSENT`` where ``paths`` is None."""
    return ABSENT if paths is None else digest([file_digest(path) for path in paths])


@dataclass(frozen=True)
class LocatedFiles:
    """The files of a corpus in the data roots without a pinned checksum. Its key contains their content.

    Attributes:
        locate: ``(roots) -> paths``, or None where the corpus is absent.
    """

    locate: Callable[[Roots], list[Path] | None]

    def inputs(self, roots: Roots, _choice: Choice) -> list[Path]:
        """The files, or none where the corpus is absent."""
        return self.locate(roots) or []

    def fingerprint(self, roots: Roots, _choice: Choice) -> str:
        """The content of the files, or that they are absent."""
        return content_of(self.locate(roots))


@dataclass(frozen=True)
class NamedFiles:
    """The files that a spec names itself, as the values of some parameters of a corpus.

    Attributes:
        parameters: each has a list of paths, or None.
    """

    parameters: tuple[str, ...]

    def inputs(self, roots: Roots, choice: Choice) -> list[Path]:
        """Those of the named files that exist.

        Raises:
            CorpusError: a path leads outside every root, or together the files are too large.
        """
        return [path for path in self._paths(roots, choice) if path]

    def fingerprint(self, roots: Roots, choice: Choice) -> str:
        """The content of the files, or that one of them is absent."""
        paths = self._paths(roots, choice)
        return content_of(None if None in paths else [path for path in paths if path])

    def _paths(self, roots: Roots, choice: Choice) -> list[Path | None]:
        """The path of each file, None where it is absent."""
        paths = [file_below(roots, name) for parameter in self.parameters for name in choice[parameter] or ()]
        refuse_large([path for path in paths if path])
        return paths
