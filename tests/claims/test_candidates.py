"""The best of more candidates is better by chance: such sides are refused, whatever the numbers are."""

import numpy as np
import polars as pl
import pytest

import lnlab

RATES = {"three": (1e-3, 1e-2, 1e-1), "others": (1e-2, 1e-1, 1.0), "two": (1e-3, 1e-2), "one": (1e-2,)}
TUNED = ("best_lr_nll", "best_lr", "lr_sensitivity", "optimal_lr", "basin_edge")


@pytest.fixture(scope="module")
def judged():
    """``judged(kind, ...)``: the verdict on arms that are equally good at every rate, and were tried at some."""
    draw = np.random.default_rng(1)
    rows = [
        {"arm": arm, "optimizer.lr": rate, "seed": seed, "step": step, "val/nll": loss}
        for arm, rates in RATES.items()
        for rate in rates
        for seed in range(1, 9)
        for step, loss in ((0, 6.0), (100, 3.0 + 0.1 * draw.normal()))
    ]
    table = lnlab.from_frame(pl.DataFrame(rows), axes=["arm", "optimizer.lr"], seed="seed", step="step")

    def verdict(kind, **claim):
        (found,) = table.judge([{"id": "it", "says": "So it is.", "kind": kind, **claim}])
        return found

    return verdict


@pytest.mark.parametrize("quantity", TUNED)
def test_sides_with_unequal_numbers_of_rates_are_refused(judged, quantity, golden):
    found = judged("difference", of={"quantity": quantity, "arm": "three"}, to={"arm": "two"}, at_most=0)
    assert (found.verdict, found.estimate) == ("ill-posed", None)
    golden(found.reason)


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "ratio", "to": {"arm": "two"}, "at_most": 1},
        {"kind": "order", "over": "arm", "order": "three < two"},
        {"kind": "interaction", "to": {"arm": "others"}, "less": {"arm": "two"}, "at_least": 0},
    ],
    ids=lambda claim: claim["kind"],
)
def test_so_they_are_by_every_kind_that_compares(judged, claim):
    found = judged(**claim, of={"quantity": "best_lr_nll"} | ({} if "over" in claim else {"arm": "three"}))
    assert found.verdict == "ill-posed"
    assert "over 2 values" in found.reason


def test_one_run_is_not_compared_with_the_best_of_several_nor_with_the_least_along_the_rates(judged, golden):
    of, to = {"quantity": "best_lr_nll", "arm": "three"}, {"quantity": "final_nll", "arm": "one"}
    found = judged("difference", of=of, to=to, at_most=0)
    golden(found.reason)
    found = judged("difference", of=to, to=of, at_least=0)
    golden(found.reason)
    claim = {"of": {"quantity": "final_nll", "arm": "three"}, "over": "optimizer.lr", "reduce": "min", "at_most": 0}
    found = judged("difference", to={"arm": "two"}, **claim)
    golden(found.reason)
    assert judged("difference", to={"arm": "others"}, **claim).n == 8
    assert judged("difference", to={"arm": "two"}, **claim | {"reduce": "first"}).n == 8


@pytest.mark.parametrize("quantity", TUNED)
def test_as_many_other_rates_compare(judged, quantity):
    found = judged("difference", of={"quantity": quantity, "arm": "three"}, to={"arm": "others"}, at_most=0)
    assert (found.verdict in ("undecided", "supported", "contradicted"), found.n) == (True, 8)


def test_the_largest_rate_that_trains_is_no_best_and_what_compares_nothing_takes_any_number(judged):
    of = {"quantity": "max_half_lr", "arm": "three", "reference": "best"}
    assert judged("order", of=of | {"arm": None}, over="arm", order="two < three").verdict != "ill-posed"
    assert judged("bound", of={"quantity": "best_lr_nll", "arm": "two"}, at_most=6).verdict == "supported"
