"""Orders of arms: neighbours within the seed, all of which must hold."""

import math

import numpy as np
import pytest

from lnlab.claims.kinds.order import contrast_region
from lnlab.claims.order_chain import parse_order
from lnlab.errors import LabError

ORDER = {"kind": "order", "over": "placement", "of": {"quantity": "q"}}
RNG = np.random.default_rng(7)


def arms(*means, n=6, sd=0.01):
    """Arms a, b, c, ... around their means, paired: most of the noise is the seed's."""
    shared = RNG.normal(size=n)
    return {word: mean * np.exp(shared + sd * RNG.normal(size=n)) for word, mean in zip("abcd", means, strict=False)}


def test_arms_are_read(golden):
    assert parse_order("post < pre <= 12 ~ true") == (["post", "pre", 12, True], ["<", "<=", "~"])
    for wrong in ("post", "post <", "< pre", "a < < b"):
        with golden.raises(LabError):
            parse_order(wrong)


@pytest.mark.parametrize(
    ("written", "means", "word"),
    [
        ("a < b < c", (1, 2, 3), "supported"), ("a < b < c", (1, 3, 2), "contradicted"),
        ("b < a", (1, 2), "contradicted"), ("a <= b", (1, 1), "supported"), ("b <= a", (1, 2), "contradicted"),
        ("a ~ b", (1, 1), "supported"), ("a ~ b", (1, 2), "contradicted"), ("a < b ~ c", (1, 2, 2), "supported"),
    ],
)  # fmt: skip
def test_signs(verdict, written, means, word):
    found = verdict(arms(*means, sd=0.002), **ORDER, order=written)
    assert found.verdict == word, found.reason


@pytest.mark.parametrize(
    ("lead", "zone", "word", "detail"),
    [
        (0.2, None, "supported", None), (0.05, None, "smaller", "in its direction"),
        (0.0, None, "smaller", "direction open"), (0.0, 0.03, "contradicted", "no effect that matters"),
        (-0.05, 0.03, "contradicted", "the other way"), (0.1, None, "undecided", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_lead_that_is_short_of_a_margin_of_ours_is_smaller(verdict, scale, lead, zone, word, detail):
    """``a <= b`` by 0.1 at least, where a lies ``lead`` below b: seeds balanced about it, so that no chance decides."""
    noise = np.tile([-0.004, 0.004], 4)
    a, b = 1 - lead + noise, np.ones(8)
    asked = {"order": "a <= b", "delta": -0.1, "scale": scale, "margin": "ours"}
    factor = {"zone": (1 + zone if scale == "log" else zone)} if zone else {}
    found = verdict({"a": a, "b": b}, **ORDER, **asked, **factor)
    assert (found.verdict, found.detail, found.margin) == (word, detail, "ours"), found.reason
    if lead == 0.05:  # a lead of the source's is contradicted by less of it
        assert verdict({"a": a, "b": b}, **ORDER, **asked | {"margin": "source"}).verdict == "contradicted"


def test_pairing_takes_the_seed_s_noise_out_and_equal_arms_are_not_in_order(verdict):
    found = verdict(arms(1, 1.1), **ORDER, order="a < b")
    assert (found.verdict, found.statistic) == ("supported", "a / b")
    assert found.estimate == pytest.approx(1 / 1.1, rel=0.02)
    same = {"a": [1.0] * 6, "b": [1.0] * 6}
    assert verdict(same, **ORDER, order="a < b").verdict == "contradicted"
    assert verdict(same, **ORDER, order="a ~ b").verdict == "supported"


def test_a_pair_that_is_undecided_or_not_wrong_after_holm_leaves_all_undecided(verdict, exactly, golden):
    found = verdict(arms(1, 2, 2, sd=0.05), **ORDER, order="a < b < c")
    assert (found.verdict, found.statistic) == ("undecided", "b / c")
    assert "1 of 2 statements hold" in found.reason
    n = 6
    base = np.ones(n)
    just = exactly(1.0115, 0.01, n)  # two-sided p about .04: wrong alone, not among three
    four = {"a": base, "b": base * 2, "c": base * 4, "d": base * 4 / just}
    alone = verdict({"a": four["c"], "b": four["d"]}, **ORDER, order="a < b")
    assert alone.verdict == "contradicted"
    among = verdict(four, **ORDER, order="a < b < c < d")
    assert among.verdict == "undecided"
    golden(among.reason)


def test_trained_arms_differ_in_nats_and_four_seeds_are_too_few(verdict, golden):
    shift = {"a": [2.0, 2.1, 2.2, 2.0, 2.1], "b": [2.02, 2.11, 2.23, 2.01, 2.12]}
    found = verdict(shift, **ORDER, order="a ~ b", step=100)
    assert (found.verdict, found.statistic, found.region_high) == ("supported", "a - b", 0.05)
    assert verdict(shift, **ORDER, order="a ~ b", step=100, delta=0.001).verdict == "contradicted"
    assert verdict(shift, **ORDER, order="a ~ b", scale="linear").statistic == "a - b"
    assert verdict(shift, **ORDER, order="a ~ b", scale="log", step=100).region_high == 1.02
    golden(verdict(arms(1, 2, n=4), **ORDER, order="a < b").reason)
    golden(verdict(arms(1, 2, 3, n=4), **ORDER, order="a < b < c").reason)


def test_an_arm_that_failed_is_worst_and_six_of_six_decide(verdict):
    failed = {"a": [1.0] * 6, "b": [math.nan] * 6}
    for about in ("median", "share"):
        assert verdict(failed, **ORDER, order="a < b", about=about).verdict == "supported"
        assert verdict(failed, **ORDER, order="b < a", about=about).verdict == "contradicted"
        five = {"a": [1.0] * 5, "b": [math.nan] * 5}
        assert verdict(five, **ORDER, order="a < b", about=about).verdict == "undecided"
    assert verdict(failed, **ORDER, order="a < b", about="mean").verdict == "undecided"


@pytest.mark.parametrize("about", ["mean", "median", "share"])
def test_trained_sides_are_compared_where_both_finish(verdict, about, golden):
    """Whatever the survivors say, and whatever the claim is about."""
    lost = {"a": [1.0] * 7 + [math.nan] * 3, "b": [2.0] * 10}
    found = verdict(lost, **ORDER, order="a < b", about=about, step=9)
    assert (found.verdict, found.estimate if about == "mean" else None) == ("not testable here", None)
    golden(found.reason)
    assert verdict(lost, **ORDER, order="b < a", about=about, step=9).verdict == "not testable here"
    assert verdict(lost, **ORDER, order="a < b", about=about, step=9, finish=0.7).verdict == "undecided"
    eight = {"a": [1.0] * 8 + [math.nan] * 2, "b": [2.0] * 10}
    assert verdict(eight, **ORDER, order="a < b", about=about, step=9).verdict != "not testable here"


@pytest.mark.parametrize(("n", "word"), [(6, "undecided"), (7, "contradicted")])
def test_failures_in_one_pair_of_two(verdict, n, word):
    """Of two pairs, 6 of 6 on the wrong side (p = 1/64) do not outlast Holm at .0125, 7 of 7 do."""
    claim = {**ORDER, "order": "a < b < c", "about": "share"}
    assert verdict({"a": [1.0] * n, "b": [2.0] * n, "c": [math.nan] * n}, **claim).verdict == "supported"
    found = verdict({"a": [1.0] * n, "b": [math.nan] * n, "c": [2.0] * n}, **claim)
    assert found.verdict == word


def test_regions_on_both_scales():
    assert 1.0 not in contrast_region("<", 0.02, log=True)
    assert 0.0 not in contrast_region("<", 0.02, log=False)
    assert contrast_region("~", 0.02, log=True).low == pytest.approx(1 / 1.02)
    assert contrast_region("<=", 0.02, log=True).high == 1.02
    assert (contrast_region("~", 0.05, log=False).low, contrast_region("~", 0.05, log=False).high) == (-0.05, 0.05)


def test_each_arm_may_be_reduced_first_as_several_numbers_must(verdict, exactly, golden):
    shared = exactly(1, 0.5, 6)
    rows = {"a": np.outer(shared, [1.0, 1, 1]), "b": np.outer(shared, [0.5, 4, 0.5])}
    found = verdict(rows, **ORDER, order="a < b", along="layer", reduce="mean")
    assert (found.verdict, found.statistic) == ("supported", "mean of a / b")
    assert found.estimate == pytest.approx(0.6)
    assert verdict(rows, **ORDER, order="a < b", along="layer", reduce="last").verdict == "contradicted"
    with golden.raises(LabError):
        verdict(rows, **ORDER, order="a < b", along="layer")
    with golden.raises(LabError):
        verdict({"a": [1.0] * 6, "b": [1.0] * 6}, **ORDER, order="a ~ b", delta=-0.1)


def test_no_difference_is_no_order_and_the_reason_says_that_it_is_left_out(verdict, golden):
    alike = {"a": [1.0] * 12, "b": [1.0] * 12}
    found = verdict(alike, **ORDER, order="a < b", scale="linear", about="median")
    assert (found.verdict, found.low, found.high, found.region_high) == ("contradicted", 0, 0, 0)
    golden(found.reason)
    ratio = verdict(alike, **ORDER, order="a < b", scale="log", about="median")
    golden(ratio.reason)
    above = verdict({"a": [2.0] * 12, "b": [1.0] * 12}, **ORDER, order="a < b", scale="linear", about="median")
    golden(above.reason)
