"""Levels of looks and words of verdicts, against the rule written down apart from lnlab."""

import math

import pytest
from scipy import stats

from lnlab.analyse.statistics.intervals import Interval
from lnlab.claims.criterion import Null, interval_word, law_word
from lnlab.claims.judging import judge_claim
from lnlab.claims.looks import level, spent
from lnlab.claims.our_margin import side_of_range
from lnlab.claims.region import Region
from lnlab.claims.significance import ALPHA
from lnlab.claims.student import fewest_alike
from lnlab.errors import LabError

TO = {"kind": "ratio", "to": {"placement": "b"}}


def test_levels_halve_and_what_a_closed_claim_spends():
    assert [level(k) for k in (1, 2, 3)] == [0.05, 0.0125, 0.00625]
    assert [level(k, "open") for k in (1, 2, 3)] == [0.025, 0.0125, 0.00625]
    assert [level(k, [5, 10, 20]) for k in (1, 2, 3)] == [0.025, 0.0125, 0.0125]
    assert [level(k, [5, 10]) for k in (1, 2)] == [0.025, 0.025]
    assert [spent(k) for k in (1, 2, 3)] == pytest.approx([0.05, 0.0625, 0.06875])
    assert spent(40) == pytest.approx(0.075)
    assert spent(40, "open") == ALPHA


@pytest.mark.parametrize("sizes", [[5, 10], [5, 10, 20], [3, 6, 12, 24], list(range(2, 12))])
def test_declared_looks_spend_the_whole_level_and_no_more(sizes):
    assert math.fsum(level(k, sizes) for k in range(1, len(sizes) + 1)) == pytest.approx(ALPHA)
    assert spent(len(sizes), sizes) == ALPHA
    with pytest.raises(ValueError, match="that were declared"):
        level(len(sizes) + 1, sizes)


@pytest.mark.parametrize(("alpha", "fewest"), [(0.05, 6), (0.025, 7), (0.0125, 8), (0.00625, 9)])
def test_the_fewest_seeds_that_decide_if_all_are_alike(alpha, fewest):
    assert fewest_alike(alpha) == fewest == math.ceil(math.log(alpha / 2) / math.log(0.5))


REFERENCE = [
    ((0.3, 0.6), "supported", None), ((0.2, 0.6), "supported", None), ((-0.3, -0.1), "contradicted", "the other way"),
    ((-0.09, 0.05), "contradicted", "no effect that matters"),
    ((0.02, 0.05), "contradicted", "no effect that matters"), ((0.02, 0.15), "smaller", "in its direction"),
    ((-0.5, 0.15), "smaller", "direction open"), ((-0.1, 0.5), "undecided", None), ((0.05, 0.5), "undecided", None),
]  # fmt: skip


@pytest.mark.parametrize(("ends", "word", "detail"), REFERENCE)
def test_the_words_of_a_margin_of_ours(ends, word, detail):
    null = Null(0.0, -0.1, 0.1)
    assert interval_word(*ends, Region(low=0.2), null) == (word, detail)
    low, high = ends
    assert interval_word(-high, -low, Region(high=-0.2), null) == (word, detail)  # the mirror image


def test_without_a_zone_nothing_is_too_small_and_the_source_s_own_margin_has_three_words():
    assert interval_word(-0.05, 0.05, Region(low=0.2), Null(0.0)) == ("smaller", "direction open")
    assert interval_word(-0.42, -0.40, Region(-0.7, -0.3)) == ("supported", None)
    assert interval_word(-0.05, 0.15, Region(low=0.2)) == ("contradicted", None)
    assert interval_word(0.1, 0.3, Region(low=0.2)) == ("undecided", None)


@pytest.mark.parametrize("about", ["mean", "median", "share"])
@pytest.mark.parametrize(
    ("mean", "word", "detail"),
    [
        (2.0, "supported", None),
        (0.8, "contradicted", "the other way"),
        (1.02, "contradicted", "no effect that matters"),
        (1.3, "smaller", "in its direction"),
    ],
)
def test_a_ratio_with_a_margin_of_ours(verdict, exactly, mean, word, detail, about):
    arms = {"a": exactly(mean, 0.01, 10), "b": [1.0] * 10}
    found = verdict(arms, **TO, at_least=1.5, margin="ours", zone=1.1, about=about)
    assert (found.verdict, found.detail, found.margin, found.about) == (word, detail, "ours", about)
    mirrored = verdict({"a": [1.0] * 10, "b": arms["a"]}, **TO, at_most=1 / 1.5, margin="ours", zone=1.1, about=about)
    assert (mirrored.verdict, mirrored.detail) == (word, detail)
    own = verdict(arms, **TO, at_least=1.5, about=about)
    assert (own.verdict, own.detail) == ("supported" if mean > 1.5 else "contradicted", None)


@pytest.mark.parametrize(
    ("kind", "arms", "word"),
    [
        ({"kind": "trend", "over": "layer", "direction": "up", "at_least": 2}, [[1, 1.1, 1.2, 1.3]], "smaller"),
        ({"kind": "trend", "over": "layer", "direction": "up", "at_least": 2}, [[1.3, 1.2, 1.1, 1]], "contradicted"),
        ({"kind": "trend", "over": "layer", "direction": "down", "at_least": 2}, [[1.3, 1.2, 1.1, 1]], "smaller"),
        ({"kind": "power_law", "over": "layer", "at_least": 1}, [[1, 2**0.5, 3**0.5, 2]], "smaller"),
        ({"kind": "power_law", "over": "layer", "at_least": 1}, [[1, 2**-0.5, 3**-0.5, 0.5]], "contradicted"),
        ({"kind": "power_law", "over": "layer", "at_most": -1}, [[1, 2**-0.5, 3**-0.5, 0.5]], "smaller"),
        ({"kind": "bound", "at_least": 3, "no_effect": 1}, [[2.0]], "smaller"),
        ({"kind": "bound", "at_least": 3, "no_effect": 2.5}, [[2.0]], "contradicted"),
        ({"kind": "bound", "over": "layer", "reduce": "last/first", "at_least": 3}, [[1, 2, 2, 2]], "smaller"),
        ({"kind": "bound", "over": "layer", "at_least": 3, "no_effect": 1}, [[2, 4, 4, 4]], "smaller"),
    ],
)
def test_the_words_of_a_margin_of_ours_in_each_kind(verdict, kind, arms, word):
    scatter = [[x * (1 + 0.001 * seed * (-1) ** n) for n, x in enumerate(arms[0])] for seed in range(10)]
    found = verdict(scatter, margin="ours", **kind)
    assert found.verdict == word, found.reason
    assert verdict(scatter, **{k: v for k, v in kind.items() if k != "no_effect"}).verdict == "contradicted"


@pytest.mark.parametrize(
    ("arms", "claim", "word", "detail"),
    [
        ((1.3, 1.0), {"at_most": 0.1}, "beyond", "above the range"),
        ((1.05, 1.0), {"at_most": 0.1}, "supported", None),
        ((1.3, 1.0), {"between": [-0.1, 0.1]}, "beyond", "above the range"),
        ((0.7, 1.0), {"between": [-0.1, 0.1]}, "beyond", "below the range"),
        ((0.7, 1.0), {"between": [-0.1, 0.1], "larger_is": "worse"}, "beyond", "better than the range"),
        ((0.7, 1.0), {"between": [-0.1, 0.1], "larger_is": "better"}, "beyond", "worse than the range"),
        ((1.3, 1.0), {"between": [-0.1, 0.1], "larger_is": "worse"}, "beyond", "worse than the range"),
        ((1.2, 1.0), {"between": [0.1, 0.15], "no_effect": None}, "beyond", "above the range"),
        ((1.3, 1.0), {"at_least": 0.4}, "smaller", "in its direction"),
        ((0.7, 1.0), {"at_least": 0.4}, "contradicted", "the other way"),
        ((0.7, 1.0), {"at_least": -0.1, "about": "share", "larger_is": "better"}, "beyond", "worse than the range"),
        ((1.3, 1.0), {"at_most": 0.1, "about": "share", "larger_is": "better"}, "beyond", "better than the range"),
    ],
)
def test_outside_of_a_range_of_ours_that_asks_for_no_effect_nothing_is_contradicted(
    verdict, exactly, arms, claim, word, detail
):
    numbers = {"a": exactly(arms[0], 0.01, 10), "b": exactly(arms[1], 0.0, 10)}
    to = {"kind": "difference", "to": {"placement": "b"}}
    found = verdict(numbers, **to, margin="ours", **claim)
    assert (found.verdict, found.detail) == (word, detail), found.reason
    of_source = verdict(numbers, **to, **{k: v for k, v in claim.items() if k not in ("no_effect", "larger_is")})
    assert (of_source.verdict == "contradicted") == (word != "supported"), (
        "the same numbers, by the sentence's own range"
    )


@pytest.mark.parametrize(("quantity", "side"), [("nll", "better"), ("accuracy", "worse"), ("gradient_norm", "below")])
def test_the_words_of_a_quantity_say_which_side_is_better(quantity, side):
    claim = {"kind": "difference", "of": {"quantity": quantity}, "between": [-0.1, 0.1]}
    assert (
        side_of_range(claim, (-0.3, -0.2), Region(-0.1, 0.1), "difference")
        == f"{side} {'the range' if side == 'below' else 'than the range'}"
    )


def test_of_two_that_are_alike_neither_is_better_and_one_place_that_goes_the_other_way_contradicts(golden, verdict):
    interval, alike = (-0.3, -0.2), Region(-0.05, 0.05)
    claim = {"kind": "order", "of": {"quantity": "final_nll"}, "order": "A ~ B"}
    assert side_of_range(claim, interval, alike, "difference") == "below the range"
    golden(side_of_range({**claim, "larger_is": "worse"}, interval, alike, "difference"))
    costs = {**claim, "order": "A <= B"}
    golden(side_of_range(costs, (0.2, 0.3), Region(high=0.05), "difference"))
    down = [[2 + 0.001 * s, 0.5 - 0.001 * s, 2, 2] for s in range(10)]
    claim = {"kind": "bound", "each": ["layer"], "at_least": 1.5, "margin": "ours", "no_effect": 1}
    found = verdict(down, **claim)
    assert (found.verdict, found.detail) == ("contradicted", "the other way")
    small = [[2 + 0.001 * s, 1.2 - 0.001 * s, 2, 2] for s in range(10)]
    found = verdict(small, **claim)
    assert (found.verdict, found.detail) == ("smaller", "in its direction")
    assert verdict(small, **{**claim, "margin": "source", "no_effect": None}).verdict == "contradicted"


@pytest.mark.parametrize(
    ("offset", "word"), [(0.0, "compatible"), (5e-8, "compatible"), (5e-6, "compatible"), (5e-5, "rejected")]
)
@pytest.mark.parametrize("law", [-0.25, 1.0, 66.3])
def test_rounding_rejects_no_value(law, offset, word):
    """What float32 leaves of an exact exponent, with next to no spread over seeds: −0.2499999946 ± 6e-11."""
    estimate = law * (1 + offset)
    interval = Interval(estimate, estimate - 1e-12, estimate + 1e-12, sd=1e-12, n=10)
    assert law_word(interval, law) == word


def test_one_seed_or_no_interval_holds_and_rejects_no_value():
    assert law_word(Interval(1.0, 0.5, 2.0, sd=0.0, n=1), 1.5) is None
    assert law_word(Interval(1.0, math.nan, math.nan, sd=0.0, n=10), 1.5) is None


def test_a_named_value_is_compatible_or_rejected_beside_the_word(verdict, exactly):
    arms = {"a": exactly(1.1, 0.02, 10), "b": [1.0] * 10}
    found = verdict(arms, **TO, equals=1)
    assert (found.verdict, found.law, found.law_word) == ("supported", 1.0, "rejected")
    found = verdict(arms, **TO, at_least=1, law=1.1)
    assert (found.verdict, found.law, found.law_word) == ("supported", 1.1, "compatible")
    assert verdict(arms, **TO, at_least=1).law_word is None
    few = verdict({"a": [1.1, 1.2], "b": [1.0] * 2}, **TO, equals=1)
    assert (few.verdict, few.law, few.law_word) == ("undecided", 1.0, None)


@pytest.mark.parametrize("about", ["mean", "median", "share"])
def test_the_law_is_judged_by_what_the_claim_is_about(verdict, exactly, about):
    arms = {"a": exactly(1.1, 0.02, 10), "b": [1.0] * 10}
    assert verdict(arms, **TO, equals=1, about=about).law_word == "rejected"
    assert verdict(arms, **TO, at_least=1, law=1.1, about=about).law_word == "compatible"


def test_the_level_of_the_look_is_that_of_the_interval(experiment, exactly):
    results = experiment({"a": exactly(2, 0.2, 8), "b": [1.0] * 8})
    claim = {"id": "it", **TO, "of": {"quantity": "q", "placement": "a"}, "at_least": 1.5, "looks": "open"}
    for look in (1, 2, 3):
        found = judge_claim(claim, results, look=look)
        half = stats.t.ppf(1 - 0.05 / 2**look / 2, 7) * 0.2 / math.sqrt(8)
        assert (found.low, found.high) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)))
        assert (found.look, found.level, found.bound) == (look, 0.05 / 2**look, 0.05)
    assert "the 99.375 % interval" in found.reason
    past = judge_claim({**claim, "looks": 1}, results, look=2)
    assert (past.level, past.bound) == (0.0125, pytest.approx(0.0625))


def test_a_look_beyond_the_declared_ones_is_refused_with_a_remedy(experiment, golden):
    results = experiment({"a": [2.0] * 8, "b": [1.0] * 8})
    claim = {"id": "it", **TO, "of": {"quantity": "q", "placement": "a"}, "at_least": 1.5, "looks": [4, 8]}
    assert judge_claim(claim, results, look=2).level == 0.025
    with golden.raises(LabError):
        judge_claim(claim, results, look=3)


def test_every_kind_has_its_own_level_and_an_order_its_laws(verdict):
    """Of status and everywhere, too: a share that decides at 5 % is open at 1.25 %."""
    tens = [1.0] * 6
    for kind in ({"kind": "status", "at_least": 0.5}, {"kind": "everywhere", "at_least": 0.5}):
        assert verdict(tens, **kind).verdict == "supported"
        assert verdict(tens, **kind, looks="open").reason.count("needs 7, by rule")
    arms = {"a": [1.0 + 0.001 * s for s in range(6)], "b": [1.005] * 6}
    found = verdict(arms, kind="order", over="placement", order="a ~ b", of={"quantity": "q"})
    assert (found.law, found.law_word) == (1.0, "rejected")
    assert verdict(arms, kind="order", over="placement", order="a < b", of={"quantity": "q"}).law is None
