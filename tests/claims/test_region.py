"""Regions, the verdict of an interval, and the distance to an edge."""

import math

import pytest

from lnlab.claims.criterion import interval_word
from lnlab.claims.region import Region, edge_distance


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.1, 1.9, "supported"), (1.0, 2.0, "supported"), (0.9, 1.5, "undecided"), (0.5, 3.0, "undecided"),
        (2.0, 2.5, "undecided"), (2.1, 2.5, "contradicted"), (0.1, 0.9, "contradicted"),
    ],
)  # fmt: skip
def test_inside_disjoint_or_neither(low, high, word):
    assert interval_word(low, high, Region(1.0, 2.0)) == (word, None)


def test_regions_and_distances_to_their_nearest_edge_also_in_words():
    assert all(edge in Region(1.0, 2.0) for edge in (1.0, 2.0)), "both edges belong to it"
    assert interval_word(-math.inf, math.inf, Region(low=0.0)) == ("undecided", None)
    assert edge_distance(1.2, Region(1.0, 2.0), log=False) == pytest.approx(0.2)
    assert edge_distance(4.0, Region(1.0, 2.0), log=True) == pytest.approx(math.log(2))
    assert edge_distance(3.0, Region(low=1.0), log=False) == 2.0
    assert str(Region(1.0, 2.5)) == "between 1 and 2.5"
    assert (str(Region(low=1.0)), str(Region(high=2.0))) == ("at least 1", "at most 2")
    below = Region(high=math.nextafter(0, -1))
    assert (str(below), below.edges) == ("at most 0", (None, 0.0))
    assert 0.0 not in below
    assert Region(-1e-300, 2.0).edges == (-1e-300, 2.0)
