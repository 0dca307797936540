"""Muon against the polynomial of its singular values and against torch's; and optimizers by group."""

import json

import pytest
import torch
from torch import nn

from lnlab.errors import LabError
from lnlab.optim.muon import COEFFICIENTS, newton_schulz
from lnlab.optim.optimizers import optimizers

torch.set_num_threads(1)


def built(choice, groups):
    return optimizers.builder(optimizers.resolve(choice))(groups)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(8, 8), (5, 12), (12, 5), (1, 7)])
def test_newton_schulz_is_a_polynomial_of_the_singular_values(shape):
    matrix = normal(*shape)
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    x = s / s.norm()
    a, b, c = COEFFICIENTS
    for _ in range(5):
        x = a * x + b * x**3 + c * x**5
    torch.testing.assert_close(newton_schulz(matrix), (u * x) @ v, rtol=0, atol=1e-6)  # the 1e-7 beside the norm


@pytest.mark.parametrize("shape", [(16, 8), (8, 16)])
@pytest.mark.parametrize("scale", ["shape", "rms"])
def test_updates_are_torchs_within_bfloat16(shape, scale):
    ours, theirs = (nn.Parameter(normal(*shape).float()) for _ in range(2))
    adjusted = {"shape": "original", "rms": "match_rms_adamw"}[scale]
    torchs = torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1, momentum=0.95, adjust_lr_fn=adjusted)
    mine = built({"kind": "muon", "weight_decay": 0.1, "scale": scale}, [ours])
    for t in range(3):
        ours.grad = theirs.grad = normal(*shape, seed=t + 1).float()
        mine.step()
        torchs.step()
    moved = (ours.detach() - normal(*shape).float()).abs().max()
    assert float((ours.detach() - theirs.detach()).abs().max()) < 0.03 * float(moved)


def test_what_probes_read_of_a_gradient_stays():
    matrix = nn.Parameter(normal(4, 4))
    optimizer = built("muon", [matrix])
    gradient = normal(4, 4, seed=1)
    for _ in range(2):
        matrix.grad = gradient.clone()
        optimizer.step()
        assert torch.equal(matrix.grad, gradient)


def test_vectors_are_refused_and_without_matrices_there_is_nothing_to_divide(golden):
    with pytest.raises(LabError, match="by_group"):
        built("muon", [nn.Parameter(torch.zeros(3))])
    with golden.raises(LabError):
        built(CHOICE, [{"params": [nn.Parameter(torch.ones(3))], "hidden": False}])


def parameters(seed=0):
    matrix, table, gain = nn.Parameter(normal(4, 6, seed=seed)), nn.Parameter(normal(9, 4)), nn.Parameter(torch.ones(4))
    return [matrix, table, gain]


def groups(matrix, table, gain):
    return [{"params": [table, gain], "hidden": False}, {"params": [matrix], "hidden": True}]


CHOICE = {"kind": "by_group", "matrices": {"kind": "muon", "lr": 0.1}, "others": {"kind": "adam", "lr": 0.03}}


def steps(optimizer, chosen, first, last):
    for t in range(first, last):
        for i, p in enumerate(chosen):
            p.grad = normal(*p.shape, seed=10 * t + i).to(p.dtype)
        optimizer.step()


def test_each_group_moves_as_by_its_own_optimizer():
    together, apart = parameters(), parameters()
    optimizer = built(CHOICE, groups(*together))
    muon, adam = built(CHOICE["matrices"], apart[:1]), built(CHOICE["others"], apart[1:])
    steps(optimizer, together, 0, 5)
    for t in range(5):
        for i, p in enumerate(apart):
            p.grad = normal(*p.shape, seed=10 * t + i).to(p.dtype)
        muon.step()
        adam.step()
    assert all(torch.equal(one, other) for one, other in zip(together, apart, strict=True))


def test_restored_it_goes_on_to_the_last_bit():
    whole, halves = parameters(), parameters()
    steps(built(CHOICE, groups(*whole)), whole, 0, 8)
    first = built(CHOICE, groups(*halves))
    steps(first, halves, 0, 3)
    kept = first.state_dict()
    assert json.dumps(kept["param_groups"], allow_nan=False)
    again = [nn.Parameter(p.detach().clone()) for p in halves]
    second = built(CHOICE, groups(*again))
    second.load_state_dict(kept)
    steps(second, again, 3, 8)
    assert all(torch.equal(one, other) for one, other in zip(whole, again, strict=True))


def test_rates_and_warm_ups_are_of_their_own_and_one_factor_is_on_both():
    warmed = CHOICE | {"matrices_warmup_steps": 4, "others_warmup_steps": 7}
    found = {group["hidden"]: group for group in built(warmed, groups(*parameters())).param_groups}
    assert {hidden: (group["lr"], group["warmup_steps"]) for hidden, group in found.items()} == {
        True: (0.1, 4),
        False: (0.03, 7),
    }
    found = {group["hidden"]: group["lr"] for group in built(CHOICE | {"lr": 0.5}, groups(*parameters())).param_groups}
    assert found == {True: 0.05, False: 0.015}
