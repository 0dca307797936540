"""A corpus of running text, and the registry of such corpora.

A builder is ``(roots, *, ...) -> Text``. A passage is a line of the text. Passages keep their order.
"""

from collections.abc import Callable, Sequence

from lnlab.corpora.corpus import SPLITS, SplitText, TextFacts, digest_of_splits
from lnlab.registry import Registry


class Text(SplitText[str]):
    """Passages of running text in their order."""


text_corpora: Registry[Callable[..., Text]] = Registry("text_corpus", TextFacts)


def text_of(train: Sequence[str], validation: Sequence[str], test: Sequence[str], *, printable: bool) -> Text:
    """The corpus of these passages, with the digest of its text."""
    splits = dict(zip(SPLITS, (train, validation, test), strict=True))
    return Text(splits, digest_of_splits(splits), printable)
