"""A learning rate of their own is, to the last bit, an optimizer with two groups; also under a schedule."""

import pytest
import torch
from torch.optim import SGD, Adam, AdamW
from torch.optim.lr_scheduler import LambdaLR

from lnlab.nn.sites import parameter_uses

OPTIMIZERS = {
    "sgd": lambda groups: SGD(groups, 0.1),
    "momentum": lambda groups: SGD(groups, 0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda groups: Adam(groups, 1e-2),
    "adamw": lambda groups: AdamW(groups, 1e-2, weight_decay=0.1),
}


def run(made, optimizer, batch, loss, steps=4):
    schedule = LambdaLR(optimizer, lambda step: 1 / (1 + step))
    for _ in range(steps):
        optimizer.zero_grad()
        loss(made(batch), batch).backward()
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_steps_are_those_of_an_optimizer_with_two_groups(model, intervene, batch, loss, make):
    one, two = model("post"), model("post")
    held = dict.fromkeys(p for site, p in parameter_uses(two) if site.sublayer == "self_attention")
    rest = [p for p in two.parameters() if p not in held]
    base = make(rest).param_groups[0]["lr"]
    optimizer = make(one.parameters())
    with intervene("rescale_learning_rate", one, optimizer, where={"sublayer": "self_attention"}, factor=0.25):
        run(one, optimizer, batch, loss)
        assert len(optimizer.param_groups) == 1
    run(two, make([{"params": rest}, {"params": list(held), "lr": 0.25 * base}]), batch, loss)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters(), strict=True))
