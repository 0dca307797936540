"""The one sentence of a statistic: what is taken over how many replicates, and what shows its spread."""

import polars as pl
import pytest

from lnlab.report.words.statistic import GEOMETRIC_MEAN, MEAN, MEAN_AND_RANGE, MEDIAN_AND_RANGE


def points(*counts, low=1.0):
    return pl.DataFrame({"n": counts, "low": [low] * len(counts)}, schema={"n": pl.Int64, "low": pl.Float64})


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (MEAN.sentence(points(10, 10), "Lines", "band"), "Lines: mean over 10 seeds; band: 95 % Student interval."),
        (
            GEOMETRIC_MEAN.sentence(points(3, 0, 10), "Marks", "bars"),
            "Marks: geometric mean over 3 to 10 seeds; bars: 95 % Student interval on the logarithmic scale.",
        ),
        (MEAN.sentence(points(3, low=None), "Lines", "band"), "Lines: mean over 3 seeds, no band."),
        (MEAN.sentence(points(1, low=None), "Lines", "band"), "Lines: one seed, no band."),
        (MEAN.sentence(points(5), "Cells"), "Cells: mean over 5 seeds."),
        (MEAN.sentence(points(1, low=None), "", "in brackets"), "One seed, no interval."),
        (
            MEDIAN_AND_RANGE.sentence(points(4), "", "in brackets", of="run"),
            "Median over 4 runs; in brackets: lowest to highest.",
        ),
        (
            MEAN_AND_RANGE.sentence(points(3), "Lines", "band", of="start vector", among=" of one seed"),
            "Lines: mean over 3 start vectors of one seed; band: lowest to highest.",
        ),
    ],
)
def test_it_says_what_is_taken_over_how_many_and_what_shows_its_spread(said, sentence):
    assert said == sentence
