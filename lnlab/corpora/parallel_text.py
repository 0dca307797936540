"""Any two text files, one sentence per line, as a corpus."""

from typing import Annotated

from pydantic import Field

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.files.fetch import named_file
from lnlab.corpora.files.parallel import NamedFiles, Sides, parallel_corpus
from lnlab.registry import Roots

_Name = Annotated[str, Field(min_length=1, max_length=1024)]
_FILES = NamedFiles(("train", "validation", "test"))
Two = Annotated[list[_Name], Field(min_length=2, max_length=2)]


def _sides(roots: Roots, names: list[str]) -> Sides:
    """Both files.

    Raises:
        CorpusError: one is absent, or its path leads outside every root.
    """
    source, target = (named_file(roots, name) for name in names)
    return source, target


@corpora.register("parallel_text", fingerprint=_FILES.fingerprint, inputs=_FILES.inputs, local=True)
def parallel_text(
    roots: Roots,
    *,
    train: Two,
    validation: Two | None = None,
    test: Two | None = None,
    held_out: Annotated[float, Field(ge=0, le=0.4)] = 0.05,
) -> Corpus:
    """``line n of one file = line n of the other``: any two text files (UTF-8; gzip by the extension ``.gz``).

    Each of ``train``, ``validation`` and ``test`` is a list of two paths, source and target. Where the files of a
    split are not given, the share ``held_out`` of the training pairs is taken for it.

    Raises:
        CorpusError: a file is absent or damaged, leads out of the data folders, or the numbers of lines differ.
    """
    sides = [_sides(roots, names) if names else None for names in (validation, test)]
    return parallel_corpus(_sides(roots, train), *sides, held_out=held_out)
