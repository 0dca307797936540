"""``w_i i.i.d. p(w)``: text without order or topic, with the word frequencies of a corpus.

This is Shannon's first-order word approximation: every word of every sentence is drawn from the word frequencies of a
corpus. Sentences keep their number of words and their labels, so that batch sizes and the distribution of lengths do
not change. The two corpora differ in how words depend on each other within a sentence, and on its label.

Source: Shannon 1948, A Mathematical Theory of Communication, Section 3.
"""

from collections.abc import Callable
from itertools import chain
from typing import Annotated

import torch
from torch import Generator

from lnlab.corpora.labelled import Labelled, labelled, labelled_of
from lnlab.randomness import Draw
from lnlab.registry import Roots


@labelled.register("independent_words")
def independent_words(roots: Roots, *, of: Annotated[Callable[..., Labelled], labelled]) -> Labelled:
    """``w_i i.i.d. p(w)``: a corpus whose words are drawn from another's word frequencies (Shannon, 1948).

    Drawn once, with replacement: all seeds read the same sentences. Their words are what stands between spaces.

    Raises:
        CorpusError: the other corpus is absent or damaged.
    """
    corpus = of(roots)
    sentences = [sentence.split() for sentence in corpus.sentences]
    words = list(chain.from_iterable(sentences))
    generator = Generator().manual_seed(Draw(0)("corpus", "independent words"))
    drawn = iter(torch.randint(len(words), (len(words),), generator=generator).tolist())
    texts = [" ".join(words[next(drawn)] for _ in sentence) for sentence in sentences]
    names = [corpus.names[label] for label in corpus.labels]
    return labelled_of(list(zip(texts, names, strict=True)), corpus.names, printable=corpus.printable)
