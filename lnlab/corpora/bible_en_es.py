"""The Bible in English (King James Version) and Spanish (Reina-Valera 1909), aligned by verse.

Both translations are in the public domain; in the United Kingdom the English one is under letters patent. Chapters, not
verses, are held out, and twenty chapters are left out in which the two count their verses differently.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.files.fetch import file_below, verified_file
from lnlab.corpora.files.lines import read_lines
from lnlab.corpora.files.parallel import parallel_corpus
from lnlab.corpora.text import Text, text_corpora, text_of
from lnlab.keys import digest
from lnlab.registry import Roots

_FOLDER = "bible_kjv_rv1909/"
_SUMS = {
    "train.en.gz": "c2196dd648eb56ea2810f7fa1cb9d6d0e178e32e49f90a340f95c230eb89c93f",
    "train.es.gz": "a7d56f7d4b47a40e521f8a3409b2ef1c0e8e7928e38a30583f7443ee25a9e668",
    "val.en.gz": "b5dd37733e623372aeec672db4bed2df51c1bc276d9c5efce2496bf004812f03",
    "val.es.gz": "6ef246b001182bb1036da3bafebb0ac013d31c82abb2bac883d92e67739ecfaf",
    "test.en.gz": "6b1206ad8eed33a21809175b3f40997a83173764147b201605cba5c2c8e1fa8d",
    "test.es.gz": "90c3a65e4063ee4c907f6d0eedae33aa0628e9a49ed261733d6fbd6883c3a6e8",
}
_ORIGIN = "the packages bible-kjv and sword-text-sparv of Debian (texts of eBible.org)"


def _locate(roots: Roots) -> list[Path] | None:
    """The files, if all exist."""
    paths = [path for name in _SUMS if (path := file_below(roots, _FOLDER + name))]
    return paths if len(paths) == len(_SUMS) else None


_FACTS: Mapping[str, Any] = {
    "licence": "public domain (letters patent in the United Kingdom)",
    "citation": "King James Version; Reina-Valera 1909",
    "source": _ORIGIN,
    "files": {},
    "locate": _locate,
    # The pinned checksums: nothing else is ever read, so that the key is the same where the files are absent.
    "fingerprint": lambda _roots, _choice: digest(_SUMS),
}


def _file(roots: Roots, name: str) -> Path:
    """A verified file.

    Raises:
        CorpusError: it is absent or damaged.
    """
    return verified_file(roots, "bible_en_es", _FOLDER + name, _SUMS[name], _ORIGIN)


@corpora.register("bible_en_es", **_FACTS)
def bible_en_es(roots: Roots) -> Corpus:
    """``verse n of one = verse n of the other``: the Bible, English to Spanish (King James, 1611; Reina-Valera, 1909).

    28,519 / 949 / 1,116 verses of whole chapters.

    Raises:
        CorpusError: a file is absent or damaged.
    """
    train, validation, test = (
        (_file(roots, f"{part}.en.gz"), _file(roots, f"{part}.es.gz")) for part in ("train", "val", "test")
    )
    return parallel_corpus(train, validation, test)


@text_corpora.register("bible_en_es", **_FACTS)
def bible_text(roots: Roots, *, language: Literal["en", "es"] = "en") -> Text:
    """``verses in their order``: the Bible in one language (King James, 1611; Reina-Valera, 1909).

    28,519 / 949 / 1,116 verses of whole chapters.

    Raises:
        CorpusError: a file is absent or damaged.
    """
    train, validation, test = (
        [verse for verse in read_lines(_file(roots, f"{part}.{language}.gz")) if verse]
        for part in ("train", "val", "test")
    )
    return text_of(train, validation, test, printable=False)
