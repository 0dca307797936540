"""WMT14 English to German: about 4.5 million pairs of Europarl v7, Common Crawl and News Commentary v9.

Validation is newstest2013 and the test set newstest2014, as in Vaswani et al. (2017). The published archives are
unpacked by hand (``tar xzf``). Their plain files are read one line at a time. Only the selected pairs, a proportion
``share``, are in memory, at about half a kilobyte per pair.

Pairs of 1 to 250 tokens are selected whose lengths differ by no more than a factor of 1.5, as in fairseq's
``prepare-wmt14en2de.sh``. There are two differences from it. Lengths are counted in words (see ``clean``) and not in
pieces of words, and no text is tokenized, nor its punctuation normalized. Checksums of the unpacked files have not been
published. None is pinned, and the key contains the content.
"""

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.files.archive import read_content
from lnlab.corpora.files.clean import fit_for_training
from lnlab.corpora.files.fetch import file_below, format_roots
from lnlab.corpora.files.lines import line_pairs, read_pairs
from lnlab.corpora.files.parallel import LocatedFiles, Sides, States, real_corpus, states_of, unit_hash
from lnlab.corpora.files.segments import segment_pairs
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.registry import Roots

_ORIGIN = (
    "https://statmt.org/wmt13/training-parallel-europarl-v7.tgz, .../wmt13/training-parallel-commoncrawl.tgz, "
    ".../wmt14/training-parallel-nc-v9.tgz, .../wmt14/dev.tgz and .../wmt14/test-full.tgz"
)
_FOLDERS = ("wmt14", "wmt14/training", "wmt14/dev", "wmt14/test-full", "wmt14/test")
TRAIN_PARTS = ("europarl-v7.de-en", "commoncrawl.de-en", "news-commentary-v9.de-en")
WMT14_PARTS = (
    *(((f"{name}.en", f"{name}.de"), (f"{name}.en.gz", f"{name}.de.gz")) for name in TRAIN_PARTS),
    (("newstest2013.en", "newstest2013.de"), ("newstest2013-src.en.sgm", "newstest2013-ref.de.sgm")),
    (("newstest2014-deen-src.en.sgm", "newstest2014-deen-ref.de.sgm"), ("newstest2014.en", "newstest2014.de")),
)
"""Each part of the corpus in all its forms, English first. The first form that exists is read."""
_LONGEST = 250


def _part(root: Path, forms: tuple[tuple[str, str], ...]) -> Sides | None:
    """Return both files of a part, in the first form that has both."""
    for names in forms:
        places = ([file_below((root,), f"{folder}/{name}") for folder in _FOLDERS] for name in names)
        source, target = (next(filter(None, paths), None) for paths in places)
        if source and target:
            return source, target
    return None


def _locate(roots: Roots) -> list[Path] | None:
    """The files of the first root that has all parts, English and German alternating."""
    for root in roots:
        parts = [part for forms in WMT14_PARTS if (part := _part(root, forms))]
        if len(parts) == len(WMT14_PARTS):
            return [path for part in parts for path in part]
    return None


_FILES = LocatedFiles(_locate)


@corpora.register(
    "wmt14",
    licence="research use (the parts of WMT14, each under its own terms)",
    citation="Bojar et al. 2014, Findings of the 2014 Workshop on Statistical Machine Translation",
    source=_ORIGIN,
    files={},
    locate=_locate,
    fingerprint=_FILES.fingerprint,
    inputs=_FILES.inputs,
)
def wmt14(roots: Roots, *, share: Annotated[float, Field(gt=0, le=1)] = 1.0) -> Corpus:
    """``europarl + commoncrawl + news | newstest2013 | newstest2014``: English to German (Bojar et al., 2014).

    The plain files (``europarl-v7.de-en.en`` ...; gzip by the extension ``.gz``) and ``newstest2014-deen-src.en.sgm``
    with its reference lie in a folder ``wmt14``, or below it as the archives unpack (``training``, ``dev``,
    ``test-full``). ``share`` is the part of the training pairs that is read: the SHA-256 of the English sentence
    decides, so that a smaller share is part of a larger one.

    Raises:
        CorpusError: a file is absent or damaged, or two files differ in their lines or segments.
    """
    paths = _locate(roots)
    if paths is None:
        # Of several roots the most complete is meant: what it still lacks is the shortest list to fetch.
        lacks = [[forms[0] for forms in WMT14_PARTS if _part(root, forms) is None] for root in roots]
        missing = min(lacks, key=len, default=[forms[0] for forms in WMT14_PARTS])
        names = ", ".join(name for pair in missing for name in pair)
        what = f"no folder 'wmt14' with {names} in any of {format_roots(roots)}"
        remedy = f"lnlab cannot fetch it: get {_ORIGIN}, unpack them into a folder wmt14, and name the one above it"
        raise CorpusError(Issue("damaged", "wmt14", what, f"{remedy} in LNLAB_DATA"))
    return _read(states_of(paths), share)


@lru_cache(maxsize=1)
def _read(states: States, share: float) -> Corpus:
    paths = [path for path, _ in states]
    parts = list(zip(paths[::2], paths[1::2], strict=True))
    # A line at a time, as the text of all parts would fill the memory.
    train = [
        (source, target)
        for sides in parts[:-2]
        for source, target in line_pairs(*sides)
        if unit_hash(source) < share and fit_for_training(source, target, longest=_LONGEST)
    ]
    tests = [
        segment_pairs(*map(read_content, sides), sgml=True) if sides[0].suffix == ".sgm" else read_pairs(*sides)
        for sides in parts[-2:]
    ]
    return real_corpus(train, *tests)
