"""The maximal update parametrization against the published tables, and against a model that follows the other one."""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parametrize

from lnlab.interventions.mup_rates import mup_rates
from lnlab.nn.mup import MupAttention, rate_factors
from lnlab.nn.sites import parameter_uses

BASE = 16
TABLE_3 = {
    "input weights": {"variance": 0, "rate": 0},
    "biases": {"rate": 0},
    "output weights": {"variance": -2, "rate": -1},
    "hidden weights": {"variance": -1, "rate": -1},
}
"""Yang et al. (2022), Table 3, the columns of muP with Adam, as exponents of the width; d_ff grows with it."""


def role(site, p):
    if p.dim() < 2:
        return "biases"
    return {"embedding": "input weights", "output": "output weights"}.get(site.sublayer, "hidden weights")


def language_model(setting, build, width, *, mup=True):
    named = {"kind": "mup", "base_width": BASE}
    shape = {"width": width, "d_ff": 2 * width, "rows": 400, "kind": "language_model", "tied": "none", "layers": 1}
    chosen = setting("pre", attention=named if mup else "softmax", **shape)
    return build(chosen, init=named if mup else "xavier_normal")


def logarithmic_slope(at):
    (small, low), (large, high) = sorted(at.items())
    return math.log(high / low) / math.log(large / small)


def test_variances_and_rates_are_those_of_table_3(setting, build):
    """An embedding's factor √width is moved into its table first, and out of its rate (Lemma J.1)."""
    measured = {}
    for width in (64, 512):
        model = language_model(setting, build, width)
        uses, factors = dict(parameter_uses(model)), rate_factors(model, BASE)
        assert uses.keys() == factors.keys()
        for site, p in uses.items():
            factor = math.sqrt(width) if site.sublayer == "embedding" else 1.0
            place = measured.setdefault(site, {"role": role(site, p), "rate": {}, "variance": {}})
            place["rate"][width] = factors[site] * factor
            place["variance"][width] = p.square().mean().item() * factor**2
    assert {place["role"] for place in measured.values()} == TABLE_3.keys()
    for site, place in measured.items():
        for word, exponent in TABLE_3[place["role"]].items():
            near = 1e-12 if word == "rate" else 0.06
            assert logarithmic_slope(place[word]) == pytest.approx(exponent, abs=near), (site, word)


@pytest.mark.parametrize(("width", "heads", "scale"), [(16, 2, 8**-0.5), (64, 2, 8**0.5 / 32), (64, 4, 4**0.5 / 16)])
def test_attention_divides_by_the_width_of_a_head_and_at_the_base_by_its_root(width, heads, scale):
    assert MupAttention(width, heads, base_width=BASE).scale == pytest.approx(scale, rel=1e-12)


def test_at_the_base_width_it_is_the_standard_parametrization(setting, build, batch):
    one = language_model(setting, build, BASE)
    two = language_model(setting, build, BASE, mup=False)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters(), strict=True))
    torch.testing.assert_close(one(batch), two(batch), rtol=1e-6, atol=1e-6)
    assert set(rate_factors(one, BASE).values()) == {1.0}


class Scaled(nn.Module):
    """A parametrization of a tensor as a constant times a parameter."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x

    def right_inverse(self, x):
        return x / self.factor


def step(model, batch, optimizer):
    optimizer.zero_grad()
    cross_entropy(model(batch)[:, :-1].flatten(0, 1), batch.target_in[:, 1:].flatten(), ignore_index=0).backward()
    optimizer.step()


def test_it_learns_the_function_of_a_model_after_table_8(setting, build, batch):
    """Table 8: embedding and output N(0, 1) with the common rate, the output over the width; hidden weights as in 3."""
    width, rate = 64, 1e-3
    ours = language_model(setting, build, width).double()
    theirs = copy.deepcopy(ours)
    parametrize.register_parametrization(theirs.decoder.embedding, "table", Scaled(width**-0.5))
    parametrize.register_parametrization(theirs.output, "table", Scaled(BASE / width))
    embedding = theirs.decoder.embedding.parametrizations.table.original
    output = theirs.output.parametrizations.table.original
    assert embedding[1:].var().item() == pytest.approx(1, rel=0.05)
    assert output[1:].var().item() == pytest.approx(1 / BASE, rel=0.05)
    own = {id(embedding), id(output)}
    others = [p for p in theirs.parameters() if id(p) not in own]
    groups = [
        {"params": [embedding], "lr": rate * math.sqrt(BASE)},
        {"params": [output, *(p for p in others if p.dim() == 1)], "lr": rate},
        {"params": [p for p in others if p.dim() > 1], "lr": rate * BASE / width},
    ]
    first, second = torch.optim.Adam(ours.parameters(), rate, eps=1e-30), torch.optim.Adam(groups, eps=1e-30)
    before = ours(batch).detach()
    for _ in range(3):
        with mup_rates(ours, first, base_width=BASE):
            step(ours, batch, first)
        step(theirs, batch, second)
    assert (ours(batch) - before).abs().max() > 1e-2
    # A key's bias has a gradient of rounding alone, which Adam makes a step of: no logit of a softmax depends on it.
    torch.testing.assert_close(ours(batch), theirs(batch), rtol=1e-6, atol=1e-8)
