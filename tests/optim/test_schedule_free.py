"""Schedule-free AdamW against its authors' package, and the points where weights and gradients are."""

import pytest
import torch
from schedulefree import AdamWScheduleFree
from torch import nn

from lnlab.curvature.preconditioned import second_moment
from lnlab.optim.optimizers import optimizers

torch.set_num_threads(1)


def built(choice, groups):
    return optimizers.builder(optimizers.resolve(choice))(groups)


def slope(p):
    return p.detach() ** 3 + torch.linspace(-2, 1, p.numel(), dtype=torch.float64)


def start():
    return nn.Parameter(torch.linspace(-1, 2, 7, dtype=torch.float64))


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("warmup", [0, 5])
def test_the_path_is_that_of_the_authors_package(decay, warmup):
    ours, theirs = start(), start()
    mine = built({"kind": "schedule_free", "lr": 0.05, "weight_decay": decay}, [ours])
    reference = AdamWScheduleFree([theirs], lr=0.05, weight_decay=decay, warmup_steps=warmup, foreach=False)
    reference.train()
    for t in range(1, 31):
        with mine.at_gradient_point():
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)  # both at y
            gradient = slope(ours)
        ours.grad = gradient
        theirs.grad = slope(theirs)
        for group in mine.param_groups:
            group["lr"] = 0.05 * min(t / warmup if warmup else 1.0, 1.0)
        mine.step()
        reference.step()
        reference.eval()
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)  # both at x
        reference.train()


def test_the_weights_come_back_to_the_last_bit_also_after_an_error():
    p = start()
    optimizer = built("schedule_free", [p])
    for _ in range(3):
        p.grad = slope(p)
        optimizer.step()
    x = p.detach().clone()
    with optimizer.at_gradient_point():
        assert not torch.equal(p, x)
    assert torch.equal(p, x)
    with pytest.raises(RuntimeError), optimizer.at_gradient_point():
        raise RuntimeError
    assert torch.equal(p, x)


def test_it_moves_what_a_group_leaves_to_it():
    matrix, vector = nn.Parameter(torch.ones(2, 2, dtype=torch.float64)), start()
    together = built(
        {"kind": "by_group", "matrices": "muon", "others": {"kind": "schedule_free", "lr": 0.05}},
        [{"params": [matrix], "hidden": True}, {"params": [vector], "hidden": False}],
    )
    alone = start()
    apart = built({"kind": "schedule_free", "lr": 0.05}, [alone])
    for _ in range(4):
        with together.at_gradient_point(), apart.at_gradient_point():
            vector.grad, alone.grad, matrix.grad = slope(vector), slope(alone), matrix.detach().clone()
        together.step()
        apart.step()
        assert torch.equal(vector, alone)


@pytest.mark.parametrize("forgotten", ["step", "exp_avg_sq"])
def test_another_memory_than_adams_has_no_second_moment(forgotten):
    """The authors' own package keeps the number of updates in its groups, and Adafactor has no betas."""
    memory = {"step": 1, "exp_avg_sq": torch.ones(2)}
    assert second_moment(memory, {"betas": (0.9, 0.75)}).tolist() == [4.0, 4.0]
    assert second_moment(memory, {}) is None
    assert (
        second_moment(
            {name: x for name, x in memory.items() if name != forgotten}, {"betas": (0.9, 0.75)}, torch.float32
        )
        is None
    )
