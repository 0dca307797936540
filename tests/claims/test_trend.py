"""Trends: Page, Kendall and the ratio of the ends, each of which can withhold support."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

from lnlab.analyse.statistics.page_trend import page_test
from lnlab.claims.criterion import ONE_LOOK
from lnlab.claims.kinds.trend import MIN_TAU, trend_verdict
from lnlab.claims.levels import unfit_reason
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample
from lnlab.report.words.verdict_words import criterion_text, statistic_text

UP = {"kind": "trend", "over": "layer", "direction": "up"}
RNG = np.random.default_rng(4)


def rising(n=10, k=6, factor=1.4, noise=0.05):
    return np.exp(np.log(factor) * np.arange(k) + noise * RNG.normal(size=(n, k)))


def test_a_clear_rise_is_supported_a_fall_taken_as_first_over_last_and_the_opposite_contradicts(verdict):
    found = verdict(rising(), **UP, at_least=2.5)
    assert (found.verdict, found.statistic) == ("supported", "last/first over layer"), found.reason
    assert found.estimate == pytest.approx(1.4**5, rel=0.1)
    assert "median tau 1.00" in found.reason
    found = verdict(1 / rising(), **UP | {"direction": "down"}, at_least=2.5)
    assert (found.verdict, found.statistic) == ("supported", "first/last over layer")
    assert found.estimate == pytest.approx(1.4**5, rel=0.1)
    found = verdict(1 / rising(), **UP)
    assert (found.verdict, "the opposite" in found.reason) == ("contradicted", True)


def test_a_rise_short_of_the_minimum_contradicts_and_one_around_it_is_undecided(verdict, golden):
    found = verdict(rising(factor=1.1, noise=0.005), **UP, at_least=2.5)
    assert found.verdict == "contradicted"
    golden(found.reason)
    found = verdict(rising(noise=0.2), **UP, at_least=1.4**5)
    assert (found.verdict, "would" in found.reason) == ("undecided", True)


@pytest.mark.parametrize("falling", [[[4, 3, 2, 1]] * 2, [[3, 4, 1, 2]] * 2, [[4, 3, 1, 2]] * 3], ids=str)
def test_of_an_order_that_is_not_clear_it_says_how_many_seeds_alike_would_make_it_so(falling, golden):
    matrix = np.array([[1.0, 2, 3, 4]] * (len(falling) + 1) + falling)
    verdict, _, reason = trend_verdict(sample_of(len(matrix), 2), matrix, Region(low=1.5))
    assert verdict == "undecided"
    golden(reason)
    stated = int(re.search(r"about (\d+) seeds would decide", reason)[1])
    repeated = (np.tile(matrix, (times, 1)) for times in range(1, 30))
    enough = next(len(seeds) for seeds in repeated if page_test(seeds)[0] <= ONE_LOOK.next_level / 2)
    assert 0.9 < stated / enough < 1.3


def test_a_median_tau_of_exactly_the_least_is_enough():
    """Of ten pairs of levels one is the wrong way round in every seed: 9/10 - 1/10."""
    matrix = np.array([[1.0, 2, 3, 5, 4]] * 8)
    assert scipy.stats.kendalltau(range(5), matrix[0]).statistic == pytest.approx(MIN_TAU, rel=1e-15)
    assert trend_verdict(sample_of(8, 4), matrix, Region(low=1.5))[0] == "supported"


def test_a_trend_needs_four_levels_and_order_between_its_ends(verdict, golden):
    jumps = np.tile([1.0, 4.0, 3.0, 2.0, 1.5, 9.0], (10, 1)) * np.exp(0.01 * RNG.normal(size=(10, 1)))
    found = verdict(jumps, **UP, at_least=2)
    assert found.verdict == "undecided"
    golden(found.reason)
    found = verdict(rising(k=3), **UP)
    assert found.verdict == "undecided"
    golden(found.reason)
    assert "within" not in criterion_text(found)
    assert "within" not in statistic_text(found)
    assert found.n == 10
    single = SimpleNamespace(pending=0, total=10, seeds=(1,))
    golden(unfit_reason(single, np.ones(1), "layer", "a trend"))


def test_two_seeds_and_failed_ones(verdict, golden):
    golden(verdict(rising(n=2), **UP).reason)
    some = rising(n=10)
    some[:3, 2] = np.nan
    found = verdict(some, **UP)
    assert (found.verdict, found.n) == ("undecided", 7)
    assert found.reason.startswith("some seeds fail, 30% of them")
    for wrong in (np.inf, 0):
        some = rising(n=10)
        some[0, 2] = wrong
        found = verdict(some, **UP)
        assert (found.verdict, found.n) == ("supported", 9)
        assert "1 of 10 seeds" in found.reason


def test_nothing_run_yet_and_every_seed_failed(verdict, golden):
    waiting = verdict(np.full((3, 5), None), **UP, status=lambda arm, seed: None)
    golden(waiting.reason)
    assert (waiting.estimate, waiting.low, waiting.seeds) == (None, None, {})
    failed = verdict(np.full((3, 5), np.nan), **UP)
    golden(failed.reason)


def sample_of(seeds, start):
    return Sample({seed: start + 0.01 * seed for seed in range(seeds)}, log=True, trained=False)


def test_the_order_must_be_significant_even_where_the_ends_are():
    flat = np.array([[1.0, 9.0, 8.0, 2.0], [1.0, 8.0, 9.0, 2.1], [1.0, 9.0, 7.0, 2.05]])
    assert trend_verdict(sample_of(3, 2), flat, Region(low=1.5))[0] == "undecided"


RISING = [1.0, 2, 3, 4]
ONE_SIDED = [[4.0, 3, 2, 1], [3.0, 4, 1, 2], [2.0, 1, 4, 3]]
"""Beside four seeds that rise, these leave Page's test at p = 0.028: between half the level and all of it."""


@pytest.mark.parametrize("way", ["along", "against"])
def test_either_side_of_pages_test_has_half_of_the_level(way):
    """Both words together are wrong in 5 % at most: scipy's p is above 2.5 %, so that the order decides nothing."""
    blocks = np.array([RISING] * 4 + ONE_SIDED)
    p = scipy.stats.page_trend_test(blocks, method="exact").pvalue
    assert ONE_LOOK.tail == 0.025 < p < 0.05
    ordered = blocks if way == "along" else blocks[:, ::-1]
    verdict, detail, reason = trend_verdict(sample_of(len(blocks), 2), ordered, Region(low=1.5))
    assert (verdict, detail) == ("undecided", None), reason
