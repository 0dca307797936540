"""A corpus of labelled sentences, and the registry of such corpora.

A builder is ``(roots, *, ...) -> Labelled``, with the facts of any other corpus. The corpus is not split, as a task
draws another split for every seed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lnlab.corpora.corpus import TextFacts
from lnlab.keys import digest
from lnlab.registry import Registry


@dataclass(frozen=True)
class Labelled:
    """Sentences, each with one label.

    Attributes:
        sentences: the text, as it is published. A sentence may occur more than once.
        labels: the index in ``names`` of each sentence's label.
        names: names of the labels.
        digest: the SHA-256 of sentences, labels and names.
        printable: whether its text may be shown in a report. False for real corpora, whose licences differ.
    """

    sentences: Sequence[str]
    labels: Sequence[int]
    names: tuple[str, ...]
    digest: str
    printable: bool


labelled: Registry[Callable[..., Labelled]] = Registry("labelled_corpus", TextFacts)


def labelled_of(rows: Sequence[tuple[str, str]], names: tuple[str, ...], *, printable: bool) -> Labelled:
    """The corpus of these sentences and the names of their labels, with the digest of both."""
    places = {name: place for place, name in enumerate(names)}
    labels = [places[name] for _, name in rows]
    return Labelled(
        sentences=[text for text, _ in rows],
        labels=labels,
        names=names,
        digest=digest([list(names), rows]),
        printable=printable,
    )
