"""The one sentence of a statistic: what is taken over how many replicates, and what shows its spread."""

import polars as pl
import pytest

from lnlab.report.words.statistic import GEOMETRIC_MEAN, MEAN, MEAN_AND_RANGE, MEDIAN_AND_RANGE


def points(*counts, low=1.0):
    return pl.DataFrame({"n": counts, "low": [low] * len(counts)}, schema={"n": pl.Int64, "low": pl.Float64})


@pytest.mark.parametrize(
    "said",
    [
        MEAN.sentence(points(10, 10), "Lines", "band"),
        GEOMETRIC_MEAN.sentence(points(3, 0, 10), "Marks", "bars"),
        MEAN.sentence(points(3, low=None), "Lines", "band"),
        MEAN.sentence(points(1, low=None), "Lines", "band"),
        MEAN.sentence(points(5), "Cells"),
        MEAN.sentence(points(1, low=None), "", "in brackets"),
        MEDIAN_AND_RANGE.sentence(points(4), "", "in brackets", of="run"),
        MEAN_AND_RANGE.sentence(points(3), "Lines", "band"),
    ],
)
def test_it_says_what_is_taken_over_how_many_and_what_shows_its_spread(said, golden):
    golden(said)
