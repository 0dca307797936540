"""IWSLT14 German to English: about 160,000 / 7,000 / 7,000 pairs of TED talks, prepared by fairseq's script.

``prepare-iwslt14.sh`` fetches the archive, tokenizes, cleans, lower-cases, splits and cuts words into pieces (``@@``).
The pieces are joined again here, as the tokenizer of a task learns its own. lnlab does not do the script's work, and
what it writes depends on the versions of the tools it fetches, so no checksum is pinned: the key holds the content.
"""

from pathlib import Path

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.fetch import inside, listed
from lnlab.corpora.parallel import content_of, parallel_corpus
from lnlab.errors import CorpusError, Problem
from lnlab.registry import Choice, Roots

FOLDERS = ("iwslt14.tokenized.de-en", "iwslt14")
NAMES = tuple(f"{part}.{language}" for part in ("train", "valid", "test") for language in ("de", "en"))
PIECE = "@@ "


def _locate(roots: Roots) -> list[Path] | None:
    """All six files of the first folder that has them."""
    for root in roots:
        for folder in FOLDERS:
            found = [path for name in NAMES if (path := inside((root,), f"{folder}/{name}"))]
            if len(found) == len(NAMES):
                return found
    return None


def _fingerprint(roots: Roots, _choice: Choice) -> str:
    return content_of(_locate(roots))


def _inputs(roots: Roots, _choice: Choice) -> list[Path]:
    return _locate(roots) or []


@corpora.register(
    "iwslt14",
    licence="CC BY-NC-ND (TED talks)",
    citation="Cettolo et al. 2014, Report on the 11th IWSLT evaluation campaign",
    files={},
    locate=_locate,
    fingerprint=_fingerprint,
    inputs=_inputs,
)
def iwslt14(roots: Roots) -> Corpus:
    """``prepare-iwslt14.sh``: TED talks, German to English, about 160,000 training pairs (Cettolo et al., 2014).

    Raises:
        CorpusError: there is no folder with all six files, or one of them is damaged.
    """
    paths = _locate(roots)
    if paths is None:
        what = f"no folder '{FOLDERS[0]}' or '{FOLDERS[1]}' with {', '.join(NAMES)} in any of {listed(roots)}"
        remedy = (
            "lnlab cannot fetch it: prepare it with fairseq's examples/translation/prepare-iwslt14.sh, "
            "and name the folder that holds the result in LNLAB_DATA"
        )
        raise CorpusError(Problem("iwslt14", what, remedy))
    train, validation, test = zip(paths[::2], paths[1::2], strict=True)
    return parallel_corpus(train, validation, test, joined=PIECE)
