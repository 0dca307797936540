"""A corpus of labelled sentences in three parts: every sentence once, every label in each part by its share.

Of a label with n sentences the part between the cumulative shares a and b gets ``round(b n) - round(a n)``, so that it
has its share of the label to within one sentence for any seed. The sentences are drawn for each seed and label.
Sentences that differ only in case or white space count as one. A sentence with two labels is left out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from lnlab.corpora.corpus import SPLITS
from lnlab.corpora.labelled import Labelled
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.randomness import Draw

Shares = Sequence[float]
"""The shares of training, validation and test. Their sum is 1."""


def refuse_incomplete_shares(shares: Shares) -> None:
    """Refuse shares that do not add up to 1.

    Raises:
        LabError: they do not add up to 1.
    """
    if not math.isclose(sum(shares), 1):
        what = f"the shares {', '.join(f'{share:g}' for share in shares)} add up to {sum(shares):g}"
        raise LabError(Issue("conflict", "task.split", what, "training, validation and test add up to 1"))


@dataclass(frozen=True)
class UsedSentences:
    """The sentences of a corpus that are used, and those that are not.

    Attributes:
        positions: positions of the used sentences in the corpus, in order, each the first occurrence of its sentence.
        repeats: the positions of sentences that repeat a used one.
        contradicted: the positions of those that occur with several labels.
    """

    positions: list[int]
    repeats: list[int]
    contradicted: list[int]

    @property
    def left_out(self) -> str:
        """How many sentences are left out, why, and where the first of them is. The text is empty where none is."""
        reasons = [
            f"{len(places):,} {words} (the first: row {places[0] + 1:,})"
            for places, words in (
                (self.repeats, "repeat an earlier one"),
                (self.contradicted, "stand there with several labels"),
            )
            if places
        ]
        return ", ".join(reasons)


def selected(corpus: Labelled) -> UsedSentences:
    """Which sentences of a corpus are used."""
    same = [" ".join(sentence.casefold().split()) for sentence in corpus.sentences]
    labels: dict[str, set[int]] = {}
    first: dict[str, int] = {}
    for place, (sentence, label) in enumerate(zip(same, corpus.labels, strict=True)):
        labels.setdefault(sentence, set()).add(label)
        first.setdefault(sentence, place)
    contradicted = [place for place, sentence in enumerate(same) if len(labels[sentence]) > 1]
    single = [place for place, sentence in enumerate(same) if len(labels[sentence]) == 1]
    return UsedSentences(
        positions=[place for place in single if first[same[place]] == place],
        repeats=[place for place in single if first[same[place]] != place],
        contradicted=contradicted,
    )


def stratified(labels: Tensor, names: Sequence[str], shares: Shares, draw: Draw) -> Mapping[str, Tensor]:
    """The rows of each part in increasing order. Every row is in exactly one part.

    Args:
        labels: (sentences,), the index in ``names`` of each sentence's label.
        names: names of the labels, which address their draws.
        shares: shares of the parts ``SPLITS``.
        draw: the randomness of the replicate.
    """
    parts: dict[str, list[Tensor]] = {split: [] for split in SPLITS}
    for label, name in enumerate(names):
        rows = torch.nonzero(labels == label)[:, 0]
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(draw("split", name)))
        for split, chosen in zip(SPLITS, torch.split(rows[order], split_sizes(len(rows), shares)), strict=True):
            parts[split].append(chosen)
    return {split: torch.cat(chosen).sort().values for split, chosen in parts.items()}


def split_sizes(number: int, shares: Shares) -> list[int]:
    """Number of sentences of each part, which add up to ``number``."""
    # The last bound is the number itself, whatever rounding makes of the sum of the shares.
    bounds = [round(number * share) for share in accumulate(shares)][:-1]
    return [end - start for start, end in zip([0, *bounds], [*bounds, number], strict=True)]
