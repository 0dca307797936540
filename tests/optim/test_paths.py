"""Where each optimizer goes, against its formula (by_hand.py) and where its path has a closed form."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lnlab.optim.optimizers import optimizers
from tests.optim import by_hand
from tests.optim.quadratic import START, A, B, gradient, made, start, take

LR = {"sgd": 0.05, "adagrad": 0.3, "adam": 0.05, "adamw": 0.05, "adam_eps": 0.05, "radam": 0.05, "gi_adam": 0.05}
FASTER = {"beta1": 0.8, "beta2": 0.95, "eps": 0.01}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((entry.name, {}) for entry in optimizers if entry.name not in ("adam_2k", "muon", "by_group", "schedule_free")),
    *((kind, FASTER) for kind in ("adam", "adamw", "adam_eps", "radam", "gi_adam")),
    *((kind, {"weight_decay": 0.2}) for kind in LR),
    *((kind, {"weight_decay": 0.2, "decoupled": True}) for kind in ("adam_eps", "radam", "gi_adam")),
    ("sgd", {"momentum": 0.9}),
    ("sgd", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("adagrad", {"eps": 0.1}),
    ("radam", {"beta2": 0.6}),
    ("adam_2k", {"freeze": 50}),
    ("adam_2k", {"freeze": 0}),
    ("adam_2k", {"freeze": 50, "correct_first_moment": False}),
    ("adam_2k", {"freeze": 50, "weight_decay": 0.2} | FASTER),
    ("restarted_adam", {"after": 1}),
    ("restarted_adam", {"after": 30, "weight_decay": 0.2} | FASTER),
]


def walked(kind: str, lr: float, **options: Any) -> np.ndarray:
    parameters = start()
    optimizer = made(kind, parameters, lr=lr, **options)
    return np.array([take(optimizer, parameters, t, lr).numpy() for t in range(1, by_hand.STEPS + 1)])


@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_two_hundred_updates_are_those_of_the_formula(kind, options):
    lr = LR.get(kind, 0.05)
    expected = getattr(by_hand, kind)(lr=lr, **options)
    np.testing.assert_allclose(walked(kind, lr, **options), expected, rtol=1e-9, atol=1e-9)
    assert np.abs(expected[-1] - START).max() > 0.1


@pytest.mark.parametrize("kind", ["sgd", "adagrad", "adam", "adamw", "adam_eps", "radam", "adam_2k", "gi_adam"])
def test_the_defaults_are_those_of_the_formula(kind):
    lr = optimizers.resolve(kind)["lr"]
    np.testing.assert_allclose(walked(kind, lr), getattr(by_hand, kind)(), rtol=1e-9, atol=1e-12)


def test_gradient_descent_contracts_by_one_minus_lr_a_and_the_first_step_of_adam_is_the_rate():
    parameters, optimum = start(), np.linalg.solve(A, B)
    optimizer = made("sgd", parameters, lr=0.25)
    for _ in range(40):
        found = take(optimizer, parameters, 4, 0.25).numpy()  # update 4 has the full rate
    power = np.linalg.matrix_power(np.eye(7) - 0.25 * A, 40)
    np.testing.assert_allclose(found, optimum + power @ (START - optimum), atol=1e-12)
    for slope in (1e-3, -2.0, 50.0):
        assert under([slope], "adam", eps=1e-30)[0] == pytest.approx(-np.sign(slope), rel=1e-12)


def under(slopes: list[float], kind: str, **options: Any) -> list[float]:
    """How far one number moves, at rate 1, at each of a sequence of gradients; in float64."""
    p = nn.Parameter(torch.zeros((), dtype=torch.float64))
    optimizer, moved = made(kind, [p], lr=1.0, **options), []
    for slope in slopes:
        before, p.grad = p.item(), torch.tensor(slope, dtype=torch.float64)
        optimizer.step()
        moved.append(p.item() - before)
    return moved


def test_where_gradients_are_far_below_eps_adam_eps_is_momentum_sgd_at_lr_over_eps():
    slopes = [1e-10 * (1 + i % 3) for i in range(20)]
    means = [by_hand.mean(slopes[:t], 0.9) / (1 - 0.9**t) for t in range(1, 21)]
    assert under(slopes, "adam_eps") == pytest.approx([-m / 1e-4 for m in means], rel=1e-5)


def test_adam_2k_does_not_move_and_its_first_moment_stays_zero_while_frozen():
    parameters = start()
    optimizer = made("adam_2k", parameters, lr=0.1, freeze=30, weight_decay=0.5)
    for t in range(1, 31):
        assert np.array_equal(take(optimizer, parameters, t, 0.1).numpy(), START)
    slope = gradient(START)
    memories = [optimizer.state[p] for p in parameters]
    first, second = (torch.cat([m[name].flatten() for m in memories]) for name in ("exp_avg", "exp_avg_sq"))
    assert not first.any()
    np.testing.assert_allclose(second, (1 - 0.999**30) * slope**2, rtol=1e-12)
    assert np.abs(take(optimizer, parameters, 31, 0.1).numpy() - START).min() > 1e-3


def test_adam_2k_without_frozen_updates_is_adamw_and_what_the_authors_leave_uncorrected_is_a_ramp():
    """At the unfreezing (1 - beta1) g / |g|, as beta1^2001 is 0; of a corrected m the first step is the rate."""
    slopes = [3.0] * 2030
    corrected = under(slopes, "adam_2k", eps=1e-30)
    theirs = under(slopes, "adam_2k", eps=1e-30, correct_first_moment=False)
    assert corrected[:2000] == theirs[:2000] == [0.0] * 2000
    assert corrected[2000:] == pytest.approx([-1.0] * 30, rel=1e-12)
    assert theirs[2000:] == pytest.approx([-(1 - 0.9**k) for k in range(1, 31)], rel=1e-12)
    options = {"weight_decay": 0.2}
    assert np.array_equal(walked("adam_2k", 0.05, freeze=0, **options), walked("adamw", 0.05, **options))


def test_gi_adam_warms_up_by_the_root_of_one_minus_beta2_to_the_t():
    """Its first step is sqrt(1 - beta2) of Adam's."""
    expected = [-((1 - 0.999**t) ** 0.5) for t in range(1, 3001)]
    assert under([7.0] * 3000, "gi_adam", eps=1e-30) == pytest.approx(expected, rel=1e-10)
    assert expected[0] == pytest.approx(-0.0316, abs=1e-4)


def test_gi_adam_begins_anew_for_a_weight_whose_first_gradient_comes_late():
    parameters = start()
    optimizer = made("gi_adam", parameters, lr=0.1)
    for t, missing in enumerate((True, True, False), 1):
        for p in parameters:
            p.grad = torch.full_like(p, 2.0 * t)
        if missing:
            parameters[1].grad = None
        optimizer.step()
    early, late = (optimizer.state[p] for p in parameters)
    assert (early["step"], late["step"]) == (3, 1)
    torch.testing.assert_close(late["exp_avg_sq"], torch.full_like(parameters[1], 36.0))
    assert early["exp_avg_sq"].max() < 5
