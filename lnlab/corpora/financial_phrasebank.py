"""Financial PhraseBank: sentences from financial news, labelled from an investor's point of view.

Four files have the sentences on whose label all of 5 to 8 annotators agreed, or at least 75, 66 or 50 % of them. They
lie in a folder as plain files, or in the published zip. The text is used as published, with spaces between its tokens.
A few sentences occur twice. At an agreement of 50 % two of them have two labels, and tasks leave these out. The
checksums of ``all`` and ``50`` are pinned. Those of ``75`` and ``66`` are not, and the key contains their content.

Source: Malo, Sinha, Korhonen, Wallenius and Takala 2014, Good debt or bad debt.
"""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from lnlab.corpora.files.archive import Content, read_content, read_zip
from lnlab.corpora.files.fetch import file_below, format_roots
from lnlab.corpora.files.labelled_lines import labelled_lines
from lnlab.corpora.files.parallel import ABSENT, States, states_of
from lnlab.corpora.labelled import Labelled, labelled, labelled_of
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.registry import Choice, Roots

_ORIGIN = (
    "https://huggingface.co/datasets/takala/financial_phrasebank (data/FinancialPhraseBank-v1.0.zip; "
    "also https://www.researchgate.net/publication/251231364_FinancialPhraseBank-v10)"
)
LABELS = ("negative", "neutral", "positive")
_FOLDERS = ("financial_phrasebank", "financial_phrasebank/FinancialPhraseBank-v1.0", "FinancialPhraseBank-v1.0")
ARCHIVE = "FinancialPhraseBank-v1.0.zip"
_ARCHIVES = (ARCHIVE, f"financial_phrasebank/{ARCHIVE}", "financial_phrasebank.zip")
Agreement = Literal["all", "75", "66", "50"]
AGREEMENT_FILES = {
    "all": "Sentences_AllAgree.txt",
    "75": "Sentences_75Agree.txt",
    "66": "Sentences_66Agree.txt",
    "50": "Sentences_50Agree.txt",
}
SUMS = {
    "all": "5fb370b3005b9a2759f708849a691ad2e4d2593d4c995c1afde229398a516594",
    "50": "bb1b4df6de05d50b146f87a9d4d024b69f947066445f2384f014c3564c1612c8",
}


def _located(roots: Roots, name: str) -> Path | None:
    """Return the file, or else an archive that should hold it, of the first root that has either."""
    for root in roots:
        for place in (*(f"{folder}/{name}" for folder in _FOLDERS), *_ARCHIVES):
            if path := file_below((root,), place):
                return path
    return None


def _locate(roots: Roots) -> list[Path] | None:
    paths = [path for name in AGREEMENT_FILES.values() if (path := _located(roots, name))]
    return list(dict.fromkeys(paths)) or None  # an archive that holds all of them once


def _content(path: Path, name: str) -> Content:
    """Read the file from a folder or an archive."""
    if path.suffix != ".zip":
        return read_content(path)
    members = read_zip(path, lambda member: name if member == name else None)
    if name not in members:
        raise CorpusError(Issue("damaged", str(path), f"this archive has no {name}", f"get the one of {_ORIGIN}"))
    return members[name]


def _fingerprint(roots: Roots, choice: Choice) -> str:
    """The pinned checksum where there is one, else that of the file."""
    agreement = str(choice["agreement"])
    if agreement in SUMS:
        return SUMS[agreement]
    path = _located(roots, AGREEMENT_FILES[agreement])
    return digest_bytes(_content(path, AGREEMENT_FILES[agreement]).raw) if path else ABSENT


def _inputs(roots: Roots, choice: Choice) -> list[Path]:
    """Return the file whose content is part of the key. A pinned checksum needs none."""
    agreement = str(choice["agreement"])
    path = None if agreement in SUMS else _located(roots, AGREEMENT_FILES[agreement])
    return [path] if path else []


@labelled.register(
    "financial_phrasebank",
    licence="CC BY-NC-SA 3.0 (check before redistributing)",
    citation="Malo et al. 2014, Good debt or bad debt: Detecting semantic orientations in economic texts",
    source=_ORIGIN,
    files={},
    locate=_locate,
    fingerprint=_fingerprint,
    inputs=_inputs,
    declares={"classes": len(LABELS)},
)
def financial_phrasebank(roots: Roots, *, agreement: Agreement = "all") -> Labelled:
    """``sentence@label``: 2,264 sentences of financial news, negative, neutral or positive (Malo et al., 2014).

    ``agreement`` says which annotators must have agreed on a label: ``all``, or 75, 66 or 50 % of them (4,846
    sentences). ``Sentences_AllAgree.txt`` and its sisters lie in a folder ``financial_phrasebank`` or
    ``FinancialPhraseBank-v1.0``, or in ``FinancialPhraseBank-v1.0.zip``.

    Raises:
        CorpusError: the file is absent, damaged, or not the one that was published.
    """
    name = AGREEMENT_FILES[agreement]
    path = _located(roots, name)
    if path is None:
        what = f"no folder '{_FOLDERS[0]}' with {name}, and no {ARCHIVE}, in any of {format_roots(roots)}"
        remedy = f"lnlab cannot fetch it: get it from {_ORIGIN}, and name the folder that holds it in LNLAB_DATA"
        raise CorpusError(Issue("damaged", "financial_phrasebank", what, remedy))
    return _read(states_of([path]), agreement)


@lru_cache(maxsize=4)
def _read(states: States, agreement: str) -> Labelled:
    content = _content(states[0][0], AGREEMENT_FILES[agreement])
    # Errors of lines come before that of the checksum, so that a converted file is recognized as such.
    rows = labelled_lines(content, LABELS)
    expected = SUMS.get(agreement)
    actual = digest_bytes(content.raw)
    if expected not in (None, actual):
        what = f"the SHA-256 of this file should be {expected} and is {actual}"
        raise CorpusError(Issue("damaged", content.where, what, f"get it again from {_ORIGIN}"))
    return labelled_of(rows, LABELS, printable=False)
