"""What is taken over replicates and what shows its spread: one wording for captions, alternative texts and tables."""

from dataclasses import dataclass

import polars as pl

from lnlab.seed_words import seed_word

_ABSENT = {"in brackets": "interval"}
"""What a table lacks where nothing stands in brackets."""


@dataclass(frozen=True)
class Statistic:
    """A number over replicates with its spread.

    Attributes:
        centre: the number.
        spread: what a band, a bar or a bracket beside it spans.
    """

    centre: str
    spread: str

    def sentence(self, points: pl.DataFrame, marks: str, shown: str = "", *, of: str = "seed") -> str:
        """The sentence of a caption: ``Lines: geometric mean over 10 seeds; band: 95 % Student interval``.

        Args:
            points: with columns ``low`` and ``n``. Without any ``low`` the sentence says that there is no spread.
            marks: what shows the number. Empty in a table.
            shown: what shows the spread, in the singular. Empty if nothing does.
            of: a replicate, in the singular.
        """
        counted = f"{self.centre} over {replicates(points, of)}"
        if points["n"].max() == 1:  # the mean of one number is that number
            counted = f"one {seed_word() if of == 'seed' else of}"
        if shown:
            absent = f", no {_ABSENT.get(shown, shown)}"
            counted += f"; {shown}: {self.spread}" if points["low"].count() else absent
        return f"{marks}: {counted}." if marks else f"{counted[:1].upper()}{counted[1:]}."


MEAN = Statistic("mean", "95 % Student interval")
GEOMETRIC_MEAN = Statistic("geometric mean", "95 % Student interval on the logarithmic scale")
MEDIAN = Statistic("median", "95 % interval between two order statistics")
MEAN_AND_RANGE = Statistic("mean", "lowest to highest")
MEAN_AND_BOUNDS = Statistic("mean", "bounds from the cumulative density, averaged likewise")
MEDIAN_AND_RANGE = Statistic("median", "lowest to highest")


def mean_statistic(*, log: bool) -> Statistic:
    """The mean over seeds on a linear or on a logarithmic scale."""
    return GEOMETRIC_MEAN if log else MEAN


def replicates(points: pl.DataFrame, of: str = "seed") -> str:
    """``10 seeds``, ``3 to 10 seeds`` where places differ, ``1 seed``."""
    numbers = sorted(n for n in points["n"].unique() if n) or [0]
    count = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    number = 1 if count == "1" else 2
    return f"{count} {seed_word(number) if of == 'seed' else f'{of}s' if number > 1 else of}"
