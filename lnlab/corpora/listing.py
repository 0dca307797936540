"""What ``lnlab data`` shows and does: the corpora and vocabularies there are, where they lie, and how they get here."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from lnlab.corpora.corpus import TextFacts, corpora
from lnlab.corpora.files.fetch import Progress, fetch, user_folder
from lnlab.corpora.labelled import labelled
from lnlab.corpora.vocabulary.tokenizers import tokenizers
from lnlab.errors import CorpusError, Problem, nearest
from lnlab.registry import Entry, Roots


@dataclass(frozen=True)
class Listed:
    """One corpus, or the vocabulary of a tokenizer.

    Attributes:
        name: what a spec calls it.
        state: ``generated``, ``present`` or ``absent``.
        folder: where its files lie.
        size: bytes of its files; of the download where they are absent; None where that is not known.
        fetchable: whether ``lnlab data fetch`` can get it.
        licence: of the text.
        citation: who made it.
        source: where it is to be had, if lnlab cannot fetch it; None where it can, and where there is no need.
    """

    name: str
    state: str
    folder: str | None
    size: int | None
    fetchable: bool
    licence: str
    citation: str
    source: str | None


def listing(roots: Roots) -> list[Listed]:
    """Every corpus that has a name of its own, and every vocabulary; files are looked for and not read."""
    return [_listed(entry.name, entry.facts, roots) for entry in _every() if entry.facts.licence]


def _every() -> list[Entry[Any]]:
    """Whatever may have files, by name: corpora of both kinds, and tokenizers."""
    return sorted(chain[Entry[Any]](corpora, labelled, tokenizers), key=lambda entry: entry.name)


def _listed(name: str, facts: TextFacts, roots: Roots) -> Listed:
    paths = facts.locate(roots) if facts.locate else None
    state = "absent" if paths is None else "present" if paths else "generated"
    known = sum(remote.size for remote in facts.files.values()) if facts.files else None
    size = sum(path.stat().st_size for path in paths) if paths else known
    folder = str(paths[0].parent) if paths else None
    licence, citation = facts.licence or "", facts.citation or ""
    return Listed(name, state, folder, size, bool(facts.files), licence, citation, facts.source)


def fetch_corpus(name: str, into: Path | None = None, progress: Progress = lambda *_: None) -> list[Path]:
    """Download a corpus into a data folder, by default the user's own; what is there and verified is left alone.

    Raises:
        CorpusError: no corpus has this name, it cannot be downloaded, or the download fails.
    """
    every = {entry.name: entry for entry in _every()}
    known = {word: entry for word, entry in every.items() if entry.facts.files}
    if name not in known:
        entry = every.get(name)
        what = "cannot be fetched" if entry else "there is no corpus of this name"
        source = entry.facts.source if entry else None
        remedy = f"get it from {source}, and name its folder in LNLAB_DATA" if source else nearest(name, known)
        raise CorpusError(Problem(repr(name), what, remedy))
    return fetch(name, known[name].facts.files, into or user_folder(), progress)
