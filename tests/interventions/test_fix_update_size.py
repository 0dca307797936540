"""Every update is the same share of its weight, in the direction that the optimizer takes."""

import pytest
import torch

from lnlab.catalogue import REGISTRIES


@pytest.mark.parametrize(("follows", "factor"), [("schedule", 0.5), ("rate", 0.1), ("nothing", 1.0)])
def test_updates_are_a_share_of_the_weight_and_follow_what_they_shall(model, follows, factor):
    network = model("pre")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    for group in optimizer.param_groups:
        group["initial_lr"] = 0.2
    choice = {"kind": "fix_update_size", "where": {"tensor": ["w1", "q"]}, "share": 0.04, "follows": follows}
    intervention = REGISTRIES["intervention"]
    named = dict(network.named_parameters())
    with torch.no_grad():
        for i, p in enumerate(named.values()):
            p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(i), dtype=p.dtype))
    before = {name: p.detach().clone() for name, p in named.items()}
    for i, p in enumerate(named.values()):
        p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(100 + i), dtype=p.dtype)
    with intervention.builder(intervention.resolve(choice))(network, optimizer):
        optimizer.step()
    for name, p in named.items():
        change = (p.detach() - before[name]).norm()
        if name.endswith(("w1.weight", ".q.weight")):
            assert float(change / before[name].norm()) == pytest.approx(0.04 * factor, rel=1e-4), name
            direction = -torch.sign(p.grad)  # Adam's first update
            moved = (p.detach() - before[name]).flatten()
            assert float(torch.cosine_similarity(moved, direction.flatten(), dim=0)) > 0.999
        elif "norm" not in name and p.dim() > 1:
            assert float((p.detach() - before[name]).abs().mean()) == pytest.approx(0.1, rel=0.01), name


@pytest.mark.parametrize("follows", ["schedule", "rate", "nothing"])
def test_a_rate_of_0_without_a_schedule_makes_no_update(model, follows):
    network = model("pre")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.0)
    intervention = REGISTRIES["intervention"]
    before = [p.detach().clone() for p in network.parameters()]
    for p in network.parameters():
        p.grad = torch.ones_like(p)
    choice = {"kind": "fix_update_size", "where": {"tensor": "w1"}, "share": 0.04, "follows": follows}
    with intervention.builder(intervention.resolve(choice))(network, optimizer):
        optimizer.step()
    assert all(map(torch.equal, before, network.parameters()))
