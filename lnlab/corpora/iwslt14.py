"""IWSLT14 German to English: about 160,000 / 7,000 / 6,750 pairs of TED talks.

Of two kinds of files, the first that exists is read. The output of fairseq's ``prepare-iwslt14.sh`` is used as it is,
and pieces of words (``@@``) are joined again, as the tokenizer of a task learns its own. The archive of WIT3, or its
folder, is prepared in memory as by that script. Lines with url, talkid and keywords are dropped, and the tags of titles
and descriptions are stripped. Only pairs of 1 to 175 tokens whose lengths differ by no more than a factor of 1.5 are
kept, in lower case. Every 23rd of these is for validation, and the test set is dev2010, TEDX.dev2012, tst2010, tst2011
and tst2012.

There are two differences from the script. No text is tokenized, as the tokenizer of a task splits off punctuation
itself. Tokens are counted only for the cleaning (see ``clean``), so that a few training pairs differ from the script's.
Entities of XML (``&amp;``) become their characters. No checksum of the archive has been published, so that the key
contains the content.
"""

from functools import lru_cache
from pathlib import Path

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.files.clean import fit_for_training, lowercased
from lnlab.corpora.files.fetch import file_below, format_roots
from lnlab.corpora.files.parallel import LocatedFiles, States, parallel_corpus, real_corpus, states_of
from lnlab.corpora.files.wit3 import (
    LICENCE,
    ORIGIN,
    TRAIN_FILES,
    contents,
    locate_release,
    set_names,
    set_pairs,
    tagged_pairs,
)
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.registry import Roots

FOLDERS = ("iwslt14.tokenized.de-en", "iwslt14")
PREPARED_FILES = tuple(f"{part}.{language}" for part in ("train", "valid", "test") for language in ("de", "en"))
PIECE = "@@ "

SETS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
RELEASE_FILES = (*TRAIN_FILES, *set_names(*SETS))
HELD_OUT = 23


def _prepared(roots: Roots) -> list[Path] | None:
    """All six files of the first folder that has them."""
    for root in roots:
        for folder in FOLDERS:
            paths = [path for name in PREPARED_FILES if (path := file_below((root,), f"{folder}/{name}"))]
            if len(paths) == len(PREPARED_FILES):
                return paths
    return None


def _locate(roots: Roots) -> list[Path] | None:
    return _prepared(roots) or locate_release(roots, RELEASE_FILES)


_FILES = LocatedFiles(_locate)


@corpora.register(
    "iwslt14",
    licence=LICENCE,
    citation="Cettolo et al. 2014, Report on the 11th IWSLT evaluation campaign",
    source=ORIGIN,
    files={},
    locate=_locate,
    fingerprint=_FILES.fingerprint,
    inputs=_FILES.inputs,
)
def iwslt14(roots: Roots) -> Corpus:
    """``prepare-iwslt14.sh``: TED talks, German to English, about 160,000 training pairs (Cettolo et al., 2014).

    Either the folder ``iwslt14.tokenized.de-en`` or ``iwslt14`` with the six files that the script leaves
    (``train.de`` ...), or the release of WIT3, prepared in memory: ``de-en.tgz``, or a folder ``iwslt14`` or ``de-en``
    with ``train.tags.de-en.de`` and ``IWSLT14.TED.dev2010.de-en.de.xml`` and all their sisters.

    Raises:
        CorpusError: a file is absent or damaged, or both sides of one differ in their lines or segments.
    """
    if prepared := _prepared(roots):
        train, validation, test = zip(prepared[::2], prepared[1::2], strict=True)
        return parallel_corpus(train, validation, test, joined=PIECE)
    if release := locate_release(roots, RELEASE_FILES):
        return _read(states_of(release))
    what = (
        f"no 'de-en.tgz', no folder 'iwslt14' or 'de-en' with {', '.join(RELEASE_FILES)}, and no folder '{FOLDERS[0]}' "
        f"or '{FOLDERS[1]}' with {', '.join(PREPARED_FILES)} in any of {format_roots(roots)}"
    )
    remedy = (
        f"lnlab cannot fetch it: get de-en.tgz from {ORIGIN}, or what fairseq's prepare-iwslt14.sh leaves, "
        "and name the folder that holds it in LNLAB_DATA"
    )
    raise CorpusError(Issue("damaged", "iwslt14", what, remedy))


@lru_cache(maxsize=2)
def _read(states: States) -> Corpus:
    """The release, prepared."""
    members = contents([path for path, _ in states], RELEASE_FILES)
    cleaned = lowercased(
        pair for pair in tagged_pairs(*(members[name] for name in TRAIN_FILES)) if fit_for_training(*pair)
    )
    train = [pair for number, pair in enumerate(cleaned, start=1) if number % HELD_OUT]
    return real_corpus(train, cleaned[HELD_OUT - 1 :: HELD_OUT], lowercased(set_pairs(members, *SETS)))
