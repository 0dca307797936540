"""Each reduction on numbers small enough to do by hand."""

import math

import pytest

from lnlab.select.reductions import REDUCTIONS


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("first", 2), ("last", 9), ("max", 9), ("min", 1), ("mean", 4.5), ("median", 4), ("spread", 9),
        ("last/first", 4.5), ("variation", math.sqrt(10.25) / 4.5), ("growth", 1.5),
    ],
)  # fmt: skip
def test_by_hand(word, number):
    assert REDUCTIONS[word]([2.0, 1.0, 6.0, 9.0]) == pytest.approx(number)


def test_growth_is_the_median_ratio_of_neighbours_and_variation_needs_a_mean():
    assert REDUCTIONS["growth"]([1.0, 2.0, 6.0, 600.0]) == 3
    assert REDUCTIONS["variation"]([2e-9, 1e-9, 6e-9, 9e-9]) == pytest.approx(REDUCTIONS["variation"]([2, 1, 6, 9]))
    assert REDUCTIONS["variation"]([3.0, 3.0]) == 0
    assert REDUCTIONS["variation"]([0.0, 0.0]) is None
    assert REDUCTIONS["growth"]([1.0]) is None


@pytest.mark.parametrize("word", ["spread", "last/first", "growth"])
def test_a_ratio_over_zero_has_no_value(word):
    assert REDUCTIONS[word]([0.0, 1.0, 2.0]) is None
