"""Adam does not see how large a gradient is, SGD does."""

import math

import pytest
import torch
from torch.optim import SGD, Adam

from lnlab.interventions.rescale_gradient import uniform_at
from lnlab.nn.sites import Site, parameter_uses
from lnlab.randomness import Draw


def losses(made, optimizer, batch, loss, steps):
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(made(batch), batch)
        value.backward()
        optimizer.step()
        found.append(value.item())
    return torch.tensor(found, dtype=torch.float64)


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_the_first_100_losses_of_adam_do_not_change_and_those_of_sgd_do(model, intervene, batch, loss, kind):
    """In float64 with an epsilon of 1e-30, so that it is nothing beside any gradient."""

    def run(**given):
        made = model("post")
        adam = kind == "adam"
        optimizer = Adam(made.parameters(), 1e-3, eps=1e-30) if adam else SGD(made.parameters(), 1e-2)
        with intervene("rescale_gradient", made, optimizer, where={}, **given):
            return losses(made, optimizer, batch, loss, 100)

    plain, rescaled = run(), run(spread=1)
    assert plain[-1] < plain[0] - 0.5
    difference = ((rescaled - plain) / plain).abs().max().item()
    assert difference < 1e-6 if kind == "adam" else difference > 0.01


def test_each_weight_has_a_factor_of_its_own_that_stays(model, intervene, batch, loss):
    made = model("post")
    names = {id(p): site for site, p in reversed(parameter_uses(made))}
    optimizer = SGD(made.parameters(), lr=1.0)
    for _ in range(2):
        before = {site: p.detach().clone() for site, p in parameter_uses(made)}
        optimizer.zero_grad()
        loss(made(batch), batch).backward()
        with intervene("rescale_gradient", made, optimizer, where={"tensor": ["q", "w2"]}, factor=2, spread=1.5):
            optimizer.step()
        for site, p in parameter_uses(made):
            scaled = site.tensor in ("q", "w2")
            factor = 2 * 10 ** (1.5 * uniform_at(Draw(1), names[id(p)])) if scaled else 1.0
            torch.testing.assert_close(p.detach(), before[site] - factor * p.grad)


def test_factors_fill_the_interval_and_belong_to_draw_and_address_without_memory_too():
    sites = [Site("encoder", n, "feed_forward", "w1") for n in range(1, 2001)]
    u = torch.tensor([uniform_at(Draw(3), site) for site in sites])
    assert u.abs().max().item() <= 1
    assert abs(u.mean().item()) < 4 / math.sqrt(3 * 2000)
    assert u.var().item() == pytest.approx(1 / 3, rel=0.1)
    assert uniform_at(Draw(3), sites[0]) == uniform_at(Draw(3), sites[0]) != uniform_at(Draw(4), sites[0])
    site = Site("decoder", 1, "feed_forward", "w2")
    with torch.device("meta"):
        drawn = uniform_at(Draw(1), site)
    assert drawn == uniform_at(Draw(1), site)
