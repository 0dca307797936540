"""A claim about every place alike: one statement each, all of which must hold."""

import numpy as np
import pytest
from scipy import stats

from lnlab.claims.sites import site_conditions, statistic_at
from lnlab.errors import LabError

FLAT = {"kind": "bound", "each": ["layer"]}


def test_places_are_told_apart_in_order_and_null_comes_last(experiment):
    results = experiment({"a": np.ones((2, 3))})
    assert site_conditions(results, {"quantity": "q"}, ["stack", "layer"]) == [
        {"stack": "decoder", "layer": layer} for layer in (1, 2, 3)
    ]
    assert site_conditions(results, {"quantity": "q", "layer": [2, 3]}, ["layer"]) == [{"layer": 2}, {"layer": 3}]
    assert site_conditions(results, {"quantity": "q"}, ["index"]) == [{"index": None}]
    assert (
        site_conditions(results, {"quantity": "q"}, None)
        == site_conditions(results, {"quantity": "other"}, ["layer"])
        == [{}]
    )


def test_a_bound_at_every_place_is_that_of_each(verdict, exactly):
    """Each layer has its own interval, and not the layers' extremes."""
    numbers = np.outer(exactly(1, 0.02, 6), [1, 1.1, 1.2])
    assert verdict(numbers, **FLAT, between=[0.9, 1.3]).verdict == "supported"
    found = verdict(numbers, **FLAT, at_most=1.15)
    assert (found.verdict, found.statistic) == ("contradicted", "value at layer 3")
    assert found.estimate == pytest.approx(1.2)
    assert "2 of 3 statements hold" in found.reason
    assert verdict(numbers, **FLAT, at_most=1.21).verdict == "undecided"


def test_an_exponent_at_every_place(verdict, golden):
    """Runs of 6, 8, ... layers have one number each, at one place; its name is in the statistic."""
    x = np.array([6.0, 8, 10, 12])
    noisy = np.exp(-0.5 * np.log(x) + 0.01 * np.random.default_rng(1).normal(size=(8, 4)))
    claim = {"kind": "power_law", "over": "model.layers", "sizes": True, "between": [-0.7, -0.3]}
    plain, each = verdict(noisy, **claim), verdict(noisy, **claim, each=["stack"])
    assert (each.verdict, each.statistic) == ("supported", "exponent at decoder")
    assert (each.estimate, each.low, each.high) == (plain.estimate, plain.low, plain.high)
    few = verdict(noisy[:, :3], **claim, each=["stack"])
    assert few.verdict == "undecided"
    golden(few.reason)


def test_a_ratio_at_every_place_is_that_of_each(verdict):
    """Eight layers scatter by 10 % about one ratio: the largest of a seed lies beyond the edge, and no mean does."""
    drawn = np.random.default_rng(1).normal(size=(40, 8))
    centred = np.log(1.02) + 0.1 * (drawn - drawn.mean(axis=0)) / drawn.std(axis=0, ddof=1)
    arms = {"a": np.exp(centred), "b": np.ones((40, 8))}
    claim = {"kind": "ratio", "to": {"placement": "b"}, "between": [0.9, 1.1]}
    assert verdict(arms, **claim, over="layer").verdict == "contradicted"
    found = verdict(arms, **claim, each=["layer"])
    assert (found.verdict, found.statistic) == ("supported", "ratio at layer 1")
    half = stats.t.ppf(0.975, 39) * 0.1 / np.sqrt(40)
    ends = np.log([found.low, found.estimate, found.high])
    assert ends == pytest.approx(np.log(1.02) + np.array([-half, 0, half]))
    arms["a"] = arms["a"] * np.array([1, 1, 1.2, 1, 1, 1, 1, 1])
    moved = verdict(arms, **claim, each=["layer"])
    assert (moved.verdict, moved.statistic) == ("contradicted", "ratio at layer 3")
    assert moved.estimate == pytest.approx(1.02 * 1.2)
    assert "7 of 8 statements hold" in moved.reason


@pytest.mark.parametrize("kind", [{"kind": "ratio", "at_most": 2}, {"kind": "power_law", "over": "x", "at_most": 2}])
def test_a_reference_at_another_place_is_refused(verdict, kind):
    """Both sides would be at one site, and the ratio 1."""
    with pytest.raises(LabError, match="'to' sets layer"):
        verdict(np.ones((5, 2)), **kind, to={"layer": 1}, each=["layer"])


def test_a_column_that_tells_no_place_is_refused_and_a_statistic_said_with_its_place(verdict, golden):
    with pytest.raises(LabError, match="each"):
        verdict(np.ones((3, 2)), kind="bound", each=["seed"], at_most=2)
    place = {"stack": "encoder", "layer": 2, "sublayer": "feed_forward", "index": None}
    golden(statistic_at("exponent", place))
    assert statistic_at("exponent", {}) == "exponent"
