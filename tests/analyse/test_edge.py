"""The edge of stability: against optimizers at work on a quadratic, and joined by hand to rates and losses."""

import math

import pytest
import torch

from lnlab.analyse.quantities.edge_of_stability import rate_multiplier, stability_edge
from lnlab.select.select import select_measured_rows
from tests.support.results import with_rows

CURVATURE = 3.0
SGD = {"kind": "sgd", "lr": 0.1, "momentum": 0.0, "nesterov": False}
ADAM = {"kind": "adamw", "lr": 0.1, "beta1": 0.9, "beta2": 0.98}
RADAM = ADAM | {"kind": "radam"}


def size_after(optimizer, steps=3000):
    """How far from the minimum of ``CURVATURE w² / 2`` an optimizer is after so many updates."""
    w = torch.nn.Parameter(torch.ones((), dtype=torch.float64))
    moving = optimizer([w])
    for _ in range(steps):
        w.grad = CURVATURE * w.detach()
        moving.step()
    return abs(w.item())


@pytest.mark.parametrize("share", [0.99, 1.01])
@pytest.mark.parametrize(
    ("momentum", "nesterov", "mean"), [(0, False, False), (0.5, False, False), (0.9, True, False), (0.9, False, True)]
)
def test_below_the_edge_it_settles_and_above_it_leaves(share, momentum, nesterov, mean):
    """Adam at a v that rests is descent along the mean of gradients, in units of P."""
    asked = ADAM | {"beta1": momentum} if mean else SGD | {"momentum": momentum, "nesterov": nesterov}
    bound = stability_edge(asked, "adam_sharpness_at_rest" if mean else "sharpness")
    rate = share * bound / CURVATURE
    damped = momentum if mean else 0
    size = size_after(lambda p: torch.optim.SGD(p, lr=rate, momentum=momentum, nesterov=nesterov, dampening=damped))
    assert size < 1e-3 if share < 1 else size > 1e3


def test_adams_edge_is_38_and_radam_multiplies_its_rate_as_torch_does():
    assert stability_edge(ADAM, "adam_sharpness_at_rest") == pytest.approx(38)
    assert stability_edge(ADAM, "sharpness") is stability_edge(SGD, "adam_sharpness_at_rest") is None
    # Where every gradient is 1, m̂ and v̂ are too: a step is the rate times what it is multiplied by.
    w = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    moving = torch.optim.RAdam([w], 1.0, (0.9, 0.98), eps=1e-30)
    for update in range(1, 200):
        w.grad, before = torch.ones_like(w), w.item()
        moving.step()
        assert before - w.item() == pytest.approx(rate_multiplier(RADAM, update) or 1.0, rel=1e-9), update
    assert [update for update in range(1, 200) if rate_multiplier(RADAM, update) is None] == [1, 2, 3, 4, 5]
    assert rate_multiplier(ADAM, 1) == rate_multiplier(SGD, 1) == 1.0


def found(results, quantity):
    rows = select_measured_rows(results, {"quantity": quantity}).sort("variant", "seed", "step")
    return dict(zip(zip(rows["variant"], rows["seed"], rows["step"], strict=True), rows["value"], strict=True))


def with_states(results, sharpness, rates=()):
    """With sharpnesses by (variant, seed) and step, and the rates of updates 1, 2, ..."""
    sites = {
        f"{variant}-{seed}": [
            {"step": step, "quantity": quantity, "value": value}
            for step, value in states.items()
            for quantity in ("sharpness", "adam_sharpness_at_rest")
        ]
        for (variant, seed), states in sharpness.items()
    }
    told = [{"step": t, "split": "train", "quantity": "learning_rate", "value": x} for t, x in enumerate(rates, 1)]
    return with_rows(with_rows(results, "sites", sites), "curves", dict.fromkeys(sites, told))


def test_a_sharpness_meets_the_rate_of_the_next_update_and_at_the_end_the_last(setting, training, trained):
    variants = {"sgd": setting() | {"optimizer": SGD}, "adam": setting() | {"optimizer": ADAM}}
    results = training(variants, {(v, 1): trained({0: 9.0, 3: 4.0}) for v in variants}, steps=3)
    results = with_states(results, {(v, 1): {0: 10.0, 2: 20.0, 3: 40.0} for v in variants}, (0.1, 0.2, 0.4))
    products = {0: 1.0, 2: 8.0, 3: 16.0}
    assert found(results, "rate_times_sharpness") == pytest.approx(
        {(v, 1, t): x for v in variants for t, x in products.items()}
    )
    assert found(results, "rate_over_edge") == pytest.approx(
        {(v, 1, t): x / (2 if v == "sgd" else 38) for v in variants for t, x in products.items()}
    )


def test_radams_edge_is_as_much_further_and_none_while_it_is_not_adaptive(setting, training, trained):
    results = training(
        {"radam": setting() | {"optimizer": RADAM}}, {("radam", 1): trained({0: 9.0, 139: 4.0})}, steps=140
    )
    results = with_states(results, {("radam", 1): {4: 10.0, 5: 10.0, 139: 10.0}}, [0.1] * 140)
    over = found(results, "rate_over_edge")
    assert set(over) == {("radam", 1, 5), ("radam", 1, 139)}
    assert over["radam", 1, 139] == pytest.approx(0.9 / 38, rel=1e-3)
    assert over["radam", 1, 5] < 0.03 / 38 * 10


def test_the_sharpness_at_one_loss_is_read_between_states(setting, training, trained):
    """L* is 4, where the slow run ends; the fast one has it halfway from 5 to 3, the failing one never."""
    variants = {name: setting() | {"optimizer": SGD | {"lr": lr}} for name, lr in (("fast", 1), ("slow", 2), ("no", 3))}
    losses = {
        "fast": {0: 9.0, 50: 5.0, 100: 3.0},
        "slow": {0: 9.0, 50: 6.0, 100: 4.0},
        "no": {0: 9.0, 50: 6.0, 100: 5.9},
    }
    results = training(variants, {(v, 1): trained(losses[v]) for v in variants})
    sharp = {("fast", 1): {0: 50.0, 50: 16.0, 100: 4.0}, ("slow", 1): {0: 50.0, 50: 9.0, 100: 7.0}}
    results = with_states(results, sharp | {("no", 1): {0: 50.0, 50: 1.0, 100: 1.0}})
    assert found(results, "sharpness_at_equal_nll") == pytest.approx({("fast", 1, 100): 8.0, ("slow", 1, 100): 7.0})


def test_the_loss_of_a_seed_is_its_own_and_one_that_begins_below_it_is_taken_there(setting, training, trained):
    variants = {"a": setting() | {"optimizer": SGD}, "b": setting() | {"optimizer": SGD | {"lr": 1}}}
    runs = {
        ("a", 1): trained({0: 9.0, 100: 2.0}),
        ("b", 1): trained({0: 9.0, 100: 3.0}),
        ("a", 2): trained({0: 3.0, 100: 2.0}),
        ("b", 2): trained({0: 9.0, 100: 3.5}),
    }
    results = with_states(training(variants, runs), {run: {0: 8.0, 100: 2.0} for run in runs})
    expected = {run: 8.0 ** (1 - x) * 2.0**x for run, x in {("a", 1): 6 / 7, ("b", 1): 1.0, ("b", 2): 1.0}.items()}
    seen = found(results, "sharpness_at_equal_nll")
    assert {(v, s): value for (v, s, _), value in seen.items()} == pytest.approx(expected | {("a", 2): 8.0})


def test_a_run_that_diverges_sets_no_level(setting, training, trained):
    variants = {"a": setting() | {"optimizer": SGD}, "b": setting() | {"optimizer": SGD | {"lr": 1}}}
    runs = {("a", 1): trained({0: 9.0, 100: 2.0}), ("b", 1): trained({0: 9.0, 50: math.nan}, "diverged", 60)}
    results = with_states(training(variants, runs), {("a", 1): {0: 8.0, 100: 2.0}, ("b", 1): {0: 8.0}})
    assert found(results, "sharpness_at_equal_nll") == pytest.approx({("a", 1, 100): 2.0})
