"""How much more one effect is than another: regression with a product term, Fieller's interval, failures, messages."""

import numpy as np
import pytest
from scipy import optimize, stats

from lnlab.claims.claim import claims
from lnlab.claims.claim_scope import selections_of_claim
from lnlab.claims.judging import judge_claim
from lnlab.errors import LabError
from lnlab.registry import Flawed

RNG = np.random.default_rng(3)
ARMS = {name: centre + 0.1 * RNG.normal(size=8) for name, centre in (("a", 2.0), ("b", 1.4), ("c", 1.5), ("d", 1.6))}
SIDES = {"kind": "interaction"} | dict(zip(("to", "less", "less_to"), ({"placement": x} for x in "bcd"), strict=True))
SHARED = {"kind": "interaction", "to": {"placement": "b"}, "less": {}, "less_to": {"placement": "c"}}
"""Both effects begin at the arm a."""


def test_it_is_the_product_term_of_a_regression_within_seeds(verdict):
    """Effects of seeds, of either factor and of their product, by least squares on the 32 numbers."""
    found = verdict(ARMS, **SIDES, at_least=0.1)
    coded = {"a": (1, 1), "b": (0, 1), "c": (1, 0), "d": (0, 0)}  # changed or not, under the first condition or not
    rows = [(seed, *coded[arm], ARMS[arm][seed]) for arm in ARMS for seed in range(8)]
    design = np.array([[*(float(seed == s) for s in range(8)), x, z, x * z] for seed, x, z, _ in rows])
    coefficients, *_ = np.linalg.lstsq(design, np.array([row[-1] for row in rows]), rcond=None)
    assert found.estimate == pytest.approx(coefficients[-1])
    contrasts = ARMS["a"] - ARMS["b"] - ARMS["c"] + ARMS["d"]
    low, high = stats.t.interval(0.95, 7, loc=contrasts.mean(), scale=stats.sem(contrasts))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.statistic, found.measure, found.n) == ("difference of differences", "difference", 8)
    assert found.seeds == pytest.approx(dict(enumerate(contrasts, 1)))


def test_the_parts_at_which_nothing_is_decided_are_fieller_s_interval(verdict):
    """Fieller's interval of the ratio of two means by its quadratic, against the parts at which the word changes."""
    first, second = ARMS["a"] - ARMS["b"], ARMS["a"] - ARMS["c"]
    n, t = 8, stats.t.ppf(0.975, 7)
    v = np.cov(first, second) / n
    quadratic = [
        second.mean() ** 2 - t**2 * v[1, 1],
        -2 * (first.mean() * second.mean() - t**2 * v[0, 1]),
        first.mean() ** 2 - t**2 * v[0, 0],
    ]
    low, high = sorted(np.roots(quadratic))
    assert quadratic[0] > 0, "the second effect is not 0, so that the interval is one"

    def edge(end, part):
        return getattr(verdict(ARMS, **SHARED, part=part, at_least=0), end)

    assert optimize.brentq(lambda part: edge("low", part), 0.1, 10) == pytest.approx(low)
    assert optimize.brentq(lambda part: edge("high", part), 0.1, 10) == pytest.approx(high)
    for part, word in ((0.95 * low, "supported"), (low * 1.05, "undecided"), (1.05 * high, "contradicted")):
        assert verdict(ARMS, **SHARED, part=part, at_least=0).verdict == word, part


def test_a_factor_of_its_own_needs_no_fourth_selection_and_an_arm_on_both_sides_leaves_a_difference(
    experiment, verdict
):
    """With layers as one factor, ``less`` alone says the second condition."""
    numbers = {arm: np.stack([values, 2 * values], axis=1) for arm, values in ARMS.items() if arm in "ab"}
    claim = {"id": "it", "says": "So.", "kind": "interaction", "of": {"quantity": "q", "placement": "a", "layer": 1}}
    found = judge_claim({**claim, "to": {"placement": "b"}, "less": {"layer": 2}, "at_most": 0}, experiment(numbers))
    assert found.seeds == pytest.approx(dict(enumerate(ARMS["b"] - ARMS["a"], 1)))
    sides = [{**claim["of"], "placement": arm, "layer": layer} for layer in (1, 2) for arm in "ab"]
    assert selections_of_claim({**claim, "to": {"placement": "b"}, "less": {"layer": 2}, "less_to": None}) == sides
    both = verdict(ARMS, **SHARED, at_least=0)
    plain = verdict(ARMS, kind="difference", of={"quantity": "q", "placement": "c"}, to={"placement": "b"}, at_least=0)
    assert (both.estimate, both.low, both.high) == pytest.approx((plain.estimate, plain.low, plain.high))


@pytest.mark.parametrize(
    ("failing", "end"), [("a", "above"), ("b", "below"), ("c", "below"), ("d", "above"), ("ad", "above"), ("ab", None)]
)
def test_a_failed_seed_ranks_as_the_largest_number_of_its_side(verdict, failing, end):
    numbers = {arm: [None if arm in failing and i == 0 else float(x) for i, x in enumerate(ARMS[arm])] for arm in ARMS}
    ended = lambda arm, seed: "diverged" if arm in failing and seed == 1 else "finished"  # noqa: E731
    found = verdict(numbers, step=3, status=ended, **SIDES, at_least=-9.0, about="share")
    assert (found.n, found.inside) == ((7, 7) if end is None else (8, 8 if end == "above" else 7)), found.reason


@pytest.mark.parametrize("arm", ["a", "b"])
@pytest.mark.parametrize("layer", [1, 2])
def test_of_two_factors_the_side_that_diverges_is_named_by_both(experiment, arm, layer):
    numbers = {word: [[float(x), 2.0 * x] for x in ARMS[word]] for word in "ab"}
    for seed in range(3):
        numbers[arm][seed][layer - 1] = None
    ended = experiment(numbers, step=3, status=lambda of, seed: "diverged" if of == arm and seed < 4 else "finished")
    claim = {"id": "it", "says": "So.", "kind": "interaction", "of": {"quantity": "q", "placement": "a", "layer": 1}}
    found = judge_claim({**claim, "to": {"placement": "b"}, "less": {"layer": 2}, "at_most": 0}, ended)
    assert found.reason.startswith(f"placement {arm}, layer {layer} diverged on 3 of 8 seeds")


@pytest.mark.parametrize(("shift", "word"), [(1.0, "supported"), (-0.4, "smaller"), (-1.0, "contradicted")])
def test_a_margin_of_ours_is_measured_from_no_interaction(verdict, shift, word):
    arms = {**ARMS, "a": ARMS["a"] + shift}
    assert verdict(arms, **SIDES, at_least=0.8, margin="ours", zone=0.05).verdict == word


@pytest.mark.parametrize(
    "wrong",
    [
        *({"less": {}}, {"less": {}, "part": 0.5}, {"less": {"placement": "c"}}, {"less": {"placement": "b"}}),
        {"less": {}, "less_to": {"placement": "a"}, "part": 0.5},
    ],
)
def test_an_effect_less_itself_or_none_or_a_part_of_nothing_is_refused(verdict, wrong, golden):
    with golden.raises(LabError):
        verdict(ARMS, kind="interaction", to={"placement": "b"}, **wrong, at_least=0)
    sides = {"of": {"quantity": "q"}, "to": {"placement": "b"}, "less": {"layer": 2}}
    assert claims.resolve({"kind": "interaction", **sides, "part": 0.5})["part"] == 0.5
    for part in (0, -0.5):
        with pytest.raises(Flawed, match="part"):
            claims.resolve({"kind": "interaction", **sides, "part": part})
