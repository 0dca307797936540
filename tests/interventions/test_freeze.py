"""Frozen weights keep every bit, whatever pulls at them; the others move as if they were alone."""

import pytest
import torch
from torch.optim import SGD, Adam, AdamW

from lnlab.nn.sites import parameter_uses

OPTIMIZERS = {
    "sgd": lambda weights: SGD(weights, 0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "adam": lambda weights: Adam(weights, 1e-2, weight_decay=0.1),
    "adamw": lambda weights: AdamW(weights, 1e-2, weight_decay=0.1),
}


def step(made, optimizer, batch, loss):
    optimizer.zero_grad()
    loss(made(batch), batch).backward()
    optimizer.step()


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_frozen_weights_keep_every_bit_and_so_does_what_is_remembered_of_them(model, intervene, batch, loss, make):
    made = model("post")
    optimizer = make(made.parameters())
    step(made, optimizer, batch, loss)  # so that there is momentum to resist
    frozen = {p for site, p in parameter_uses(made) if site.stack == "encoder" and site.layer == 1}
    kept = {p: (p.detach().clone(), {k: v.clone() for k, v in optimizer.state[p].items()}) for p in frozen}
    moving = {p: p.detach().clone() for p in made.parameters() if p not in frozen}
    with intervene("freeze", made, optimizer, where={"stack": "encoder", "layer": "first"}):
        for _ in range(3):
            step(made, optimizer, batch, loss)
            assert all(p.grad.any() for p in frozen if p.dim() > 1)
    for p, (value, state) in kept.items():
        assert torch.equal(p, value)
        assert all(torch.equal(optimizer.state[p][name], tensor) for name, tensor in state.items())
    assert not any(torch.equal(p, value) for p, value in moving.items())
    step(made, optimizer, batch, loss)
    assert not any(torch.equal(p, value) for p, (value, _) in kept.items())


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_others_move_as_under_an_optimizer_that_never_knew_the_frozen_ones(model, intervene, batch, loss, make):
    one, two = model("post"), model("post")
    outside = [p for site, p in parameter_uses(two) if site.tensor != "w1"]
    optimizer, alone = make(one.parameters()), make(list(dict.fromkeys(outside)))
    with intervene("freeze", one, optimizer, where={"tensor": "w1"}):
        for _ in range(3):
            step(one, optimizer, batch, loss)
            step(two, alone, batch, loss)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters(), strict=True))
