"""Curves that are no power laws: their local exponents against scipy's, one by one."""

import numpy as np
import pytest
from scipy import stats

from lnlab.claims.intersection_union import Member, intersection_union, region_p_value
from lnlab.claims.kinds.power_law import log_log_slopes
from lnlab.claims.local_exponents import local_exponent_member, local_exponents
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample

SIZES = {"kind": "power_law", "over": "model.layers", "sizes": True}
X = np.array([6.0, 8, 10, 12, 14])
CURVED = np.array([0.4, 1.0, 2.0, 3.0])


def curved(noise=0.01, n=5, exponents=CURVED):
    """Seeds whose local exponents are these, up to noise."""
    steps = exponents + noise * np.random.default_rng(n).normal(size=(n, len(exponents)))
    return np.exp(np.cumsum(np.pad(steps * np.diff(np.log(X)), ((0, 0), (1, 0))), axis=1))


def by_hand(y, pair):
    """Student's interval of the slope between two neighbouring levels, by scipy."""
    s = [stats.linregress(np.log(X[pair : pair + 2]), np.log(row[pair : pair + 2])).slope for row in y]
    return (np.mean(s), *stats.t.interval(0.95, len(s) - 1, loc=np.mean(s), scale=stats.sem(s)))


@pytest.mark.parametrize(
    ("region", "word", "statistic", "pair"),
    [
        ({"at_least": 0.3}, "supported", "smallest local exponent", 0),
        ({"at_least": 0.399}, "undecided", "smallest local exponent", 0),
        ({"at_most": 3.2}, "supported", "largest local exponent", 3),
        ({"between": [0.3, 5]}, "supported", "smallest local exponent", 0),
        ({"between": [-2, 3.1]}, "supported", "largest local exponent", 3),
        ({"at_least": 3.5}, "contradicted", "largest local exponent", 3),
        ({"at_most": 0.2}, "contradicted", "smallest local exponent", 0),
        ({"exponent": 0}, "contradicted", "smallest local exponent", 0),
        ({"big_o": 3.1}, "supported", "largest local exponent", 3),
    ],
)
def test_the_local_exponent_nearest_to_the_edge_is_printed_with_its_interval(
    verdict, region, word, statistic, pair, golden
):
    y = curved()
    found = verdict(y, **SIZES, **region)
    assert (found.verdict, found.statistic, found.measure) == (word, statistic, "exponent"), found.reason
    assert (found.estimate, found.low, found.high) == pytest.approx(by_hand(y, pair))
    assert found.seeds == pytest.approx(dict(enumerate(local_exponents(X, y)[:, pair], 1)))
    smallest, largest = ("{:.3g} ({:.3g} to {:.3g})".format(*by_hand(y, pair)) for pair in (0, 3))
    golden(found.reason)
    assert f"{smallest} to {largest}" in found.reason
    assert ("would decide" in found.reason or "on the edge" in found.reason) == (word == "undecided")


def test_one_local_exponent_across_the_edge_keeps_a_bent_curve_from_support(verdict):
    """Nearest to the edge is what is least sure, in standard errors, and not what is smallest."""
    y = curved()
    y[:, 3:] *= np.exp(np.array([-0.7, 0.7, -0.35, 0.35, 0]))[:, None]
    found = verdict(y, **SIZES, at_least=0.3)
    assert (found.verdict, found.statistic, found.inside) == ("undecided", "deciding local exponent", 3)
    assert (found.estimate, found.low, found.high) == pytest.approx(by_hand(y, 2))
    assert found.low < 0.3 < by_hand(y, 0)[1]
    assert "seeds would decide" in found.reason


@pytest.mark.parametrize("region", [{"at_least": 0.5}, {"at_most": 0.5}, {"between": [1.2, 1.8]}])
def test_local_exponents_on_both_sides_of_an_edge_leave_the_fitted_exponent_undecided(verdict, region, golden):
    """Though each is certain: the sentence is true of one part of the curve and false of another."""
    y = curved()
    found = verdict(y, **SIZES, **region)
    assert (found.verdict, found.statistic) == ("undecided", "exponent")
    assert found.estimate == pytest.approx(log_log_slopes(X, y).mean())
    golden(found.reason)


def a_place(y, region, name, bend=""):
    """The statement about the fitted exponent at one place."""
    numbers = dict(enumerate(log_log_slopes(X, y).tolist(), 1))
    return Member(f"exponent at {name}", Sample(numbers, log=False, trained=False), region, bend)


@pytest.mark.parametrize(
    ("region", "word", "statistic"),
    [
        (Region(low=0.3), "supported", "smallest local exponent at a"),
        (Region(low=3.5), "contradicted", "largest local exponent at a"),
        (Region(low=0.399), "undecided", "smallest local exponent at a"),
        (Region(high=4.5), "contradicted", "exponent at b"),
    ],
)
def test_a_bent_curve_is_one_statement_of_several(region, word, statistic):
    """At a it is bent, at b it is a line of exponent 5; both must hold, and Holm is over places, not over levels."""
    line = np.exp(np.outer(np.linspace(4.99, 5.01, 5), np.log(X)))
    bent = local_exponent_member(a_place(curved(), region, "a", "bent"), local_exponents(X, curved()))
    found = intersection_union([bent, a_place(line, region, "b")], 3)
    assert (found.verdict, found.statistic) == (word, statistic), found.reason


def test_a_bent_curve_contradicts_by_its_least_certain_local_exponent_of_seeds_that_agree_too(verdict):
    """So that its p in Holm's test is the largest."""
    exponents, region = local_exponents(X, curved(noise=0.1)), Region(low=3.5)
    p = [stats.ttest_1samp(column, 3.5, alternative="less").pvalue for column in exponents.T]
    member = local_exponent_member(a_place(curved(noise=0.1), region, "a", "bent"), exponents)
    assert region_p_value(member.sample, member.allowed) == pytest.approx(max(p))
    y = curved(noise=0)
    assert verdict(y, **SIZES, at_least=0.3).verdict == "supported"
    assert verdict(y, **SIZES, at_least=3.5).verdict == "contradicted"


def test_a_power_law_is_judged_by_its_slope_whatever_its_local_exponents(verdict):
    y = curved(exponents=np.full(4, 0.5)) * np.exp(0.04 * np.array([1, -1, 1, -1, 1]))
    assert local_exponents(X, y).mean(0).min() < 0.4 < 0.6 < local_exponents(X, y).mean(0).max()
    found = verdict(y, **SIZES, between=[0.4, 0.6])
    assert (found.verdict, found.statistic) == ("supported", "exponent")
    assert "local" not in found.reason
