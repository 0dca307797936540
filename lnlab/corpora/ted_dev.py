"""The dev and test sets of TED talks alone, a small real corpus for use without IWSLT14's training set.

Training pairs are those of tst2010 and tst2011, prepared as IWSLT14's. No talk is in two splits. Papers test on these
sets, so that results of training on them have no counterpart there.
"""

from functools import lru_cache
from pathlib import Path

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.files.clean import fit_for_training, lowercased
from lnlab.corpora.files.fetch import format_roots
from lnlab.corpora.files.parallel import LocatedFiles, States, real_corpus, states_of
from lnlab.corpora.files.wit3 import LICENCE, ORIGIN, contents, locate_release, set_names, set_pairs
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.registry import Roots

TRAIN, VALIDATION, TEST = ("TED.tst2010", "TED.tst2011"), ("TED.dev2010",), ("TED.tst2012",)
TED_DEV_FILES = set_names(*TRAIN, *VALIDATION, *TEST)


def _locate(roots: Roots) -> list[Path] | None:
    return locate_release(roots, TED_DEV_FILES)


_FILES = LocatedFiles(_locate)


@corpora.register(
    "ted_dev",
    licence=LICENCE,
    citation="Cettolo et al. 2012, WIT3: Web Inventory of Transcribed and Translated Talks",
    source=ORIGIN,
    files={},
    locate=_locate,
    fingerprint=_FILES.fingerprint,
    inputs=_FILES.inputs,
)
def ted_dev(roots: Roots) -> Corpus:
    """``tst2010 + tst2011 | dev2010 | tst2012``: TED test sets as a small corpus, German to English (Cettolo, 2012).

    2,934 / 887 / 1,700 pairs in lower case; the training pairs are cleaned as those of ``iwslt14`` are, and no text is
    tokenized. The files (``TED.tst2010.de-en.de.xml`` ...) lie in a folder ``iwslt_ted``, ``iwslt14`` or ``de-en``,
    with ``IWSLT14.`` before their names or without, or in ``de-en.tgz``.

    Raises:
        CorpusError: a file is absent or damaged, or both sides of a set differ in their segments.
    """
    paths = _locate(roots)
    if paths is None:
        names = ", ".join(TED_DEV_FILES)
        what = f"no folder 'iwslt_ted', 'iwslt14' or 'de-en' with {names} in any of {format_roots(roots)}"
        raise CorpusError(
            Issue("damaged", "ted_dev", what, f"get them from {ORIGIN}, and name their folder in LNLAB_DATA")
        )
    return _read(states_of(paths))


@lru_cache(maxsize=2)
def _read(states: States) -> Corpus:
    members = contents([path for path, _ in states], TED_DEV_FILES)
    train, validation, test = (lowercased(set_pairs(members, *sets)) for sets in (TRAIN, VALIDATION, TEST))
    return real_corpus([pair for pair in train if fit_for_training(*pair)], validation, test)
