"""Any two text files, one sentence a line, as a corpus."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from lnlab.corpora.corpus import Corpus, corpora
from lnlab.corpora.files.fetch import file_below, named_file
from lnlab.corpora.files.parallel import Sides, content_of, parallel_corpus
from lnlab.registry import Choice, Roots

_Name = Annotated[str, Field(min_length=1, max_length=1024)]
Two = Annotated[list[_Name], Field(min_length=2, max_length=2)]


def _named(roots: Roots, choice: Choice) -> list[Path | None]:
    """Each file that a resolved choice names, None where it is absent; a path that leads astray is an error."""
    return [file_below(roots, name) for part in ("train", "validation", "test") for name in choice[part] or ()]


def _inputs(roots: Roots, choice: Choice) -> list[Path]:
    return [path for path in _named(roots, choice) if path]


def _fingerprint(roots: Roots, choice: Choice) -> str:
    """The content of the files, or that one of them is absent."""
    paths = _inputs(roots, choice)
    return content_of(paths if len(paths) == len(_named(roots, choice)) else None)


def _sides(roots: Roots, names: list[str]) -> Sides:
    """Both files.

    Raises:
        CorpusError: one is absent, or its path leads astray.
    """
    source, target = (named_file(roots, name) for name in names)
    return source, target


@corpora.register("parallel_text", fingerprint=_fingerprint, inputs=_inputs)
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
