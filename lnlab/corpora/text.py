"""A corpus of running text, and the registry of such corpora.

A builder is ``(roots, *, ...) -> Text``. A passage is a line of the text; passages keep their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lnlab.corpora.corpus import SPLITS, TextFacts
from lnlab.keys import digest
from lnlab.registry import Registry


@dataclass(frozen=True)
class Text:
    """Passages of running text in their order.

    Attributes:
        splits: the passages of ``train``, ``validation`` and ``test``; a split may be empty.
        digest: the SHA-256 of the passages of all splits.
        printable: whether the text may be shown in a report; false for text of others, whose licences differ.
    """

    splits: Mapping[str, Sequence[str]]
    digest: str
    printable: bool


text_corpora: Registry[Callable[..., Text]] = Registry("text_corpus", TextFacts)


def text_of(train: Sequence[str], validation: Sequence[str], test: Sequence[str], *, printable: bool) -> Text:
    """The corpus of these passages, with the digest of its text."""
    splits = dict(zip(SPLITS, (train, validation, test), strict=True))
    return Text(splits, digest([[name, list(passages)] for name, passages in splits.items()]), printable)
