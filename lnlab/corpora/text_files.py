"""Any UTF-8 files as running text."""

from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from lnlab.corpora.files.fetch import named_file
from lnlab.corpora.files.lines import read_lines
from lnlab.corpora.files.parallel import NamedFiles, States, states_of
from lnlab.corpora.text import Text, text_corpora, text_of
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.registry import Roots

_Name = Annotated[str, Field(min_length=1, max_length=1024)]
Names = Annotated[list[_Name], Field(min_length=1, max_length=10_000)]
_FILES = NamedFiles(("files", "validation", "test"))


Shares = Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1, max_length=10_000)]


@text_corpora.register("text", fingerprint=_FILES.fingerprint, inputs=_FILES.inputs, local=True, later=("shares",))
def text(
    roots: Roots,
    *,
    files: Names,
    validation: Names | None = None,
    test: Names | None = None,
    held_out: Annotated[float, Field(ge=0, le=0.4)] = 0.05,
    shares: Shares | None = None,
) -> Text:
    """``passages = lines of files``: any text files (UTF-8; gzip by the extension ``.gz``), read in the order given.

    Empty lines are left out. Where ``validation`` or ``test`` names no files, the share ``held_out`` of the passages is
    taken for it from the end of ``files``, the test set last: passages that follow one another stay together, so that
    no sentence before or after a held-out one is trained on but at two seams. ``shares`` has a number in (0, 1] for
    each of ``files``: so much of its lines is read, from its beginning.

    Raises:
        CorpusError: a file is absent, damaged or not UTF-8, leads out of the data folders, there is no text, or
            ``shares`` has another length than ``files``.
    """
    if shares is not None and len(shares) != len(files):
        what = f"{len(shares)} shares stand beside {len(files)} files"
        raise CorpusError(Issue("conflict", "task.corpus.shares", what, "give one share for each file"))
    states = tuple(
        names and states_of(named_file(roots, name) for name in names) for names in (files, validation, test)
    )
    return _read(states, held_out, tuple(shares or ()))


@lru_cache(maxsize=4)
def _read(states: tuple[States | None, ...], held_out: float, shares: tuple[float, ...]) -> Text:
    # The digests of the files are part of the argument, so that a changed file is read anew.
    texts = [[[line for line in read_lines(path) if line] for path, _ in state] if state else None for state in states]
    if texts[0] and shares:
        texts[0] = [lines[: round(share * len(lines))] for lines, share in zip(texts[0], shares, strict=True)]
    train, validation, test = (None if files is None else list(chain.from_iterable(files)) for files in texts)
    assert train is not None
    if not train:
        first = states[0][0][0] if states[0] else Path()
        raise CorpusError(Issue("damaged", str(first), "has no text", "name a file with at least one line"))
    share = round(held_out * len(train))
    if test is None:
        train, test = train[: len(train) - share], train[len(train) - share :]
    if validation is None:
        train, validation = train[: len(train) - share], train[len(train) - share :]
    return text_of(train, validation, test, printable=False)
