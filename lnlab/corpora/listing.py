"""The content of ``lnlab data``: all corpora and vocabularies, their files, and their downloads."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from lnlab.corpora.corpus import corpora
from lnlab.corpora.files.fetch import Progress, fetch, user_folder
from lnlab.corpora.labelled import labelled
from lnlab.corpora.text import text_corpora
from lnlab.corpora.vocabulary.tokenizers import tokenizers
from lnlab.errors import CorpusError, nearest
from lnlab.issues import Issue
from lnlab.registry import Entry, Roots


@dataclass(frozen=True)
class CorpusListing:
    """One corpus, or the vocabulary of a tokenizer.

    Attributes:
        name: its name in a spec.
        state: ``generated``, ``present`` or ``absent``.
        folder: folder of its files.
        size: bytes of its files, or of the download where they are absent. None means not known.
        fetchable: whether ``lnlab data fetch`` can get it.
        licence: licence of the text.
        citation: its authors.
        source: where to get it. None where lnlab can fetch it, and where no file is needed.
    """

    name: str
    state: str
    folder: str | None
    size: int | None
    fetchable: bool
    licence: str
    citation: str
    source: str | None


def corpus_listings(roots: Roots) -> list[CorpusListing]:
    """Every corpus with its own name, and every vocabulary. Files are located but not read."""
    listings = []
    for entry in _all_entries():
        facts = entry.facts
        if not facts.licence:
            continue
        paths = facts.locate(roots) if facts.locate else None
        download = sum(remote.size for remote in facts.files.values()) if facts.files else None
        listing = CorpusListing(
            name=entry.name,
            state="absent" if paths is None else "present" if paths else "generated",
            folder=str(paths[0].parent) if paths else None,
            size=sum(path.stat().st_size for path in paths) if paths else download,
            fetchable=bool(facts.files),
            licence=facts.licence,
            citation=facts.citation or "",
            source=facts.source,
        )
        listings.append(listing)
    return listings


def _all_entries() -> list[Entry[Any]]:
    # Everything that may have files: corpora of each kind, and tokenizers.
    return sorted(chain[Entry[Any]](corpora, labelled, text_corpora, tokenizers), key=lambda entry: entry.name)


def fetch_corpus(name: str, into: Path | None = None, progress: Progress = lambda *_: None) -> list[Path]:
    """Download a corpus into a data folder, by default the user's own. Verified files that are present stay.

    Raises:
        CorpusError: no corpus has this name, it cannot be downloaded, or the download fails.
    """
    entries = {entry.name: entry for entry in _all_entries()}
    fetchable = {word: entry for word, entry in entries.items() if entry.facts.files}
    if name not in fetchable:
        entry = entries.get(name)
        what = "cannot be fetched" if entry else "there is no corpus of this name"
        source = entry.facts.source if entry else None
        remedy = f"get it from {source}, and name its folder in LNLAB_DATA" if source else nearest(name, fetchable)
        raise CorpusError(Issue("unknown-name", repr(name), what, remedy))
    return fetch(name, fetchable[name].facts.files, into or user_folder(), progress)
