"""Counts of primary claims and what is left of them after Holm."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lnlab.claims.claim import judge_claim
from lnlab.claims.headline import headline_counts, p_value

Q = {"quantity": "q", "placement": "a"}


@pytest.fixture(scope="module")
def judged(experiment):
    def one(numbers, **claim):
        return judge_claim({"id": "x", "primary": True, "kind": "bound", "of": Q, **claim}, experiment({"a": numbers}))

    return one


def test_p_is_twice_the_t_test_s(judged, exactly):
    x = exactly(1.0, 0.1, 8)
    found = judged(x, at_most=1.2)
    assert p_value(found) == pytest.approx(2 * stats.ttest_1samp(np.log(x), math.log(1.2), alternative="less").pvalue)
    wrong = judged(x, at_most=0.8)
    assert p_value(wrong) == pytest.approx(
        2 * stats.ttest_1samp(np.log(x), math.log(0.8), alternative="greater").pvalue
    )
    linear = judged(x - 5, at_most=0, scale="linear")
    assert p_value(linear) == pytest.approx(2 * stats.ttest_1samp(x - 5, 0, alternative="less").pvalue)


def test_two_sided_regions_have_the_p_of_the_nearer_edge(judged, exactly):
    x = exactly(1.0, 0.1, 8)
    assert p_value(judged(x, between=[0.5, 1.2])) == pytest.approx(p_value(judged(x, at_most=1.2)))


def test_p_is_five_percent_where_the_interval_touches_the_edge(judged, exactly):
    x = exactly(1.0, 0.1, 8)
    edge = math.exp(stats.t.ppf(0.975, 7) * 0.1 / math.sqrt(8))
    assert p_value(judged(x, at_most=edge * (1 + 1e-9))) == pytest.approx(0.05, abs=1e-6)


def test_counts_have_binomial_p_values_and_exact_bounds_none(judged):
    counted = judged([1.0] * 38 + [3.0] * 2, at_most=2, probability=0.8)
    assert p_value(counted) == pytest.approx(2 * stats.binomtest(38, 40, 0.8, alternative="greater").pvalue)
    few = judged([1.0] * 2 + [3.0] * 38, at_most=2, probability=0.8)
    assert p_value(few) == pytest.approx(2 * stats.binomtest(2, 40, 0.8, alternative="less").pvalue)
    assert p_value(judged([-1.0] * 10, at_most=2, probability=0.5, scale="linear")) == pytest.approx(2**-9)
    assert p_value(judged([1.0], at_most=2, exact=True)) == 0.0


@pytest.mark.parametrize("kind", ["status", "everywhere"])
def test_shares_of_seeds_have_binomial_p_values_though_all_are_alike(judged, kind):
    """Six of six: as unlikely as six heads in a row, and not a mean without scatter."""
    claim = {"kind": kind, "at_most": 2}
    assert p_value(judged([1.0] * 6, **claim)) == pytest.approx(2 * 0.5**6)
    assert p_value(judged([3.0] * 6, **claim)) == pytest.approx(2 * 0.5**6)


def test_what_is_not_decisive_has_no_p(judged):
    assert p_value(judged([1.0, 1.1, 0.9], at_most=1.0)) == 1.0


def test_counts_and_what_outlasts_holm(judged, exactly):
    """Six claims at p about .02 each: all supported alone, none once all six are counted together."""
    x = exactly(1.0, 0.1, 8)
    border = judged(x, at_most=math.exp(stats.t.ppf(0.99, 7) * 0.1 / math.sqrt(8)))
    assert p_value(border) == pytest.approx(0.02, abs=1e-6)
    clear, open_ = judged(x, at_most=9), judged(x, at_most=1.0)
    alone = headline_counts([border])
    assert (alone.primary, alone.expected_wrong) == (1, 0.05)
    assert alone.counts == alone.after_holm == {"supported": 1}
    six = headline_counts([border] * 6)
    assert (six.expected_wrong, six.counts, six.after_holm) == (pytest.approx(0.3), {"supported": 6}, {"undecided": 6})
    mixed = headline_counts([clear, border, open_, replace(clear, primary=False)])
    assert mixed.counts == {"supported": 2, "undecided": 1}
    assert mixed.after_holm == {"supported": 2, "undecided": 1}
