"""All gradients of one size, and together of the size they had."""

import pytest
import torch
from torch.optim import SGD

from lnlab.nn.sites import parameter_uses


def test_every_weight_makes_a_step_of_one_root_mean_square_and_the_whole_step_keeps_its_norm(
    model, intervene, batch, loss
):
    made = model("post")
    optimizer = SGD(made.parameters(), lr=1.0)
    loss(made(batch), batch).backward()
    chosen = {p for site, p in parameter_uses(made) if site.tensor in ("q", "k", "w1", "w2", "table")}
    before = {p: p.detach().clone() for p in made.parameters()}
    with intervene("equalize_gradient", made, optimizer, where={"tensor": ["q", "k", "w1", "w2", "table"]}):
        optimizer.step()
    steps = {p: before[p] - p.detach() for p in before}
    sizes = torch.stack([steps[p].square().mean().sqrt() for p in chosen])
    torch.testing.assert_close(sizes, sizes[0].expand_as(sizes))
    total = sum(p.grad.square().sum() for p in chosen)
    torch.testing.assert_close(sum(steps[p].square().sum() for p in chosen), total)
    assert all(
        torch.nn.functional.cosine_similarity(steps[p].flatten(), p.grad.flatten(), 0) > 1 - 1e-9 for p in chosen
    )
    others = [p for p in before if p not in chosen]
    assert all(torch.allclose(steps[p], p.grad) for p in others)


def test_a_gradient_of_zeros_and_none_at_all_stay_what_they_are(model, intervene):
    made = model("post")
    optimizer = SGD(made.parameters(), lr=1.0)
    first, second, *_ = made.parameters()
    first.grad, second.grad = torch.zeros_like(first), torch.ones_like(second)
    before = first.detach().clone(), second.detach().clone()
    with intervene("equalize_gradient", made, optimizer):
        optimizer.step()
        optimizer.zero_grad()
        optimizer.step()
    assert torch.equal(first, before[0])
    share = second.numel() / (first.numel() + second.numel())
    assert (before[1] - second).mean().item() == pytest.approx(share**0.5)
