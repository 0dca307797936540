"""What training came to, by hand; a run that diverged ranks worst, and one that a rule stopped is told apart."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.analyse.quantities.training import sum_learning_rate
from lnlab.claims.judging import judge_claim
from lnlab.errors import LabError
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from tests.support.results import with_rows

CURVE = {0: 9.0, 50: 3.0, 100: 4.0}


def numbers(results, quantity, **more):
    rows = select_measured_rows(results, {"quantity": quantity, **more}).sort("variant", "seed")
    return dict(zip(zip(rows["variant"], rows["seed"], strict=True), rows["value"], strict=True))


@pytest.fixture
def ended(setting, training, trained):
    """Seeds that came to their end, diverged, ended in NaN, were stopped, ran out of time, and are yet to run."""
    runs = {
        ("a", 1): trained(CURVE),
        ("a", 2): trained({0: 9.0, 50: 2.0}, "diverged", 70),
        ("a", 3): trained(CURVE | {100: math.nan}),
        ("a", 4): trained({0: 9.0, 40: 5.0}, "finished", 40),
        ("a", 5): trained({0: 9.0}, "timed_out", 30),
        ("a", 6): trained({}, None),
    }
    return training({"a": setting()}, runs)


def test_the_final_nll_is_the_last_evaluated_and_the_best_of_a_run_that_diverged_is_worst(ended):
    found = numbers(ended, "final_nll")
    assert found == {("a", 1): 4.0, ("a", 2): math.inf, ("a", 3): math.inf, ("a", 4): 5.0}
    rows = select_measured_rows(ended, {"quantity": "final_nll"}).sort("seed")
    assert rows["step"].to_list() == [100, 70, 100, 40]
    assert numbers(ended, "best_nll_of_run") == {("a", 1): 3.0, ("a", 2): math.inf, ("a", 3): math.inf, ("a", 4): 5.0}


def test_seeds_are_sorted_by_how_they_ended_and_a_stopped_run_counts_at_step_0(ended):
    found = select_series(ended, {"quantity": "final_nll"})
    assert found.numbers.select("seed", "value").rows() == [(1, 4.0)]
    assert found.failed == {2: "loss is not finite", 3: "its number is not finite"}
    assert found.excluded == {4: "stopped at step 40 by its rule", 5: "timed_out"}
    assert found.pending == (6,)
    assert found.trained
    assert select_series(ended, {"quantity": "final_nll"}, include_stopped=True).numbers["seed"].to_list() == [1, 4]
    of = {"quantity": "nll", "split": "validation"}
    assert select_series(ended, of | {"step": 0}).seeds == [1, 2, 3, 4, 5]
    assert select_series(ended, of | {"step": 40}).excluded[4] == "stopped at step 40 by its rule"
    assert select_series(ended, of, "step").excluded[4] == "stopped at step 40 by its rule"


def test_the_last_step_is_that_of_runs_that_come_to_their_end_else_the_one_asked_for(ended, setting, training, trained):
    of = {"quantity": "nll", "step": "last"}
    assert numbers(ended, "nll", step="last", seed=[1, 2]) == {("a", 1): 4.0}
    found = select_series(ended, of)
    assert (found.seeds, set(found.failed), set(found.excluded), found.pending) == ([1], {2, 3}, {4, 5}, (6,))
    assert select_measured_rows(ended, {"quantity": "nll", "seed": 2, "step": [0, "last"]})["step"].to_list() == [0]
    assert select_measured_rows(ended, {"quantity": "unigram_entropy", "step": "last"})["step"].to_list() == [0] * 6
    results = training({"a": setting()}, {("a", s): trained({0: 9.0, 50: 8.0}, "diverged", 60) for s in (1, 2)})
    found = select_series(results, {"quantity": "nll", "step": "last"})
    assert (found.seeds, found.failed) == ([], dict.fromkeys((1, 2), "loss is not finite"))


@pytest.mark.parametrize("kind", ["ratio", "difference"])
@pytest.mark.parametrize(("of", "to"), [("last", 0), (0, "last")])
def test_a_run_measured_at_initialization_alone_is_not_compared_with_itself(kind, of, to, setting, training, trained):
    """Its last measurement is that of step 0: the ratio would be 1 without an error."""
    of = {"quantity": "nll", "split": "validation", "step": of}
    claim = {"id": "it", "says": "So it is.", "kind": kind, "of": of, "to": {"step": to}, "at_most": 1}
    alone, measured_later = (
        training({"a": setting()}, {("a", seed): trained(curve, "finished", 100) for seed in range(1, 7)})
        for curve in ({0: 9.0}, {0: 9.0, 100: 8.0})
    )
    with pytest.raises(LabError, match="both sides are step 0: nothing is measured after it"):
        judge_claim(claim, alone)
    assert judge_claim(claim, measured_later).n == 6


def test_a_quantity_at_sites_and_along_the_curve_is_told_apart_by_its_split(setting, experiment):
    row = {"quantity": "loss", "stack": "encoder", "value": 1.0}
    curve = [{"step": 0, "split": split, "quantity": "loss", "value": 2.0} for split in ("train", "validation")]
    results = experiment({"a": setting()}, (1,), lambda v, s: [row], curves=curve)
    assert select_measured_rows(results, {"quantity": "loss", "split": None})["value"].to_list() == [1.0]
    assert select_measured_rows(results, {"quantity": "loss", "split": "train"})["value"].to_list() == [2.0]
    assert select_series(results, {"quantity": "loss", "split": "validation"}).numbers["value"].to_list() == [2.0]


def summed(setting, training, trained, rates):
    """Steps and sums of a run with these rates at its steps."""
    rows = [{"step": t, "split": "train", "quantity": "learning_rate", "value": x} for t, x in rates.items()]
    results = with_rows(training({"a": setting()}, {("a", 1): trained({})}), "curves", {"a-1": rows})
    return sum_learning_rate(results).select("step", "value").rows()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_rates_add_up(setting, training, trained, rates):
    steps, sums = zip(*summed(setting, training, trained, dict(enumerate(rates, 1))), strict=True)
    assert steps == tuple(range(1, len(rates) + 1))
    assert sums == pytest.approx([math.fsum(rates[: t + 1]) for t in range(len(rates))], abs=1e-12)


def test_rates_with_a_gap_add_up_to_it_only(setting, training, trained):
    assert summed(setting, training, trained, dict.fromkeys((1, 2, 4, 5), 0.5)) == [(1, 0.5), (2, 1.0)]
