"""Initial values: variances, what is shared between variants, and what is left alone."""

import math

import pytest
import torch

from lnlab.nn.inits import inits
from lnlab.nn.sites import parameter_uses, weights
from lnlab.randomness import Draw

KINDS = ["xavier_normal", "xavier_uniform", "fairseq"]
WIDTH, D_FF, ROWS = 96, 192, 300


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


def gain(kind: str, tensor: str) -> float:
    return math.sqrt(0.5) if kind == "fairseq" and tensor in "qkv" else 1.0


def by_site(model) -> dict:
    return {tuple(site.row().values()): p.detach() for site, p in parameter_uses(model)}


@pytest.fixture
def wide(setting, build, kind):
    return build(setting("pre", layers=1, width=WIDTH, d_ff=D_FF, rows=ROWS, tied="none"), init=kind)


def test_variance_and_law_of_every_matrix_are_those_of_its_formula(wide, kind):
    """2 g² / (fan_in + fan_out); a sample of n varies by sqrt(2 / n) at most, and is allowed five times that."""
    for site, p in weights(wide):
        expected = 1 / WIDTH if site.tensor == "table" else gain(kind, site.tensor) ** 2 * 2 / sum(p.shape)
        entries = p[1:] if site.tensor == "table" else p
        assert entries.var().item() == pytest.approx(expected, rel=5 * math.sqrt(2 / entries.numel())), site
        assert abs(entries.mean().item()) < 5 * math.sqrt(expected / entries.numel()), site
    # Kurtosis 3 or 1.8 in the matrices, always 3 in the tables.
    for site, p in weights(wide):
        x = p[1:] if site.tensor == "table" else p
        kurtosis = (x**4).mean() / (x**2).mean() ** 2
        expected = 3.0 if kind == "xavier_normal" or site.tensor == "table" else 1.8
        assert kurtosis.item() == pytest.approx(expected, abs=0.25), site


def test_constants_of_fairseq(setting, build):
    """Var q = var k = var v = 1/(2d), as of one fused matrix; var o = 1/d; the bounds of a uniform law are sharp."""
    model = build(setting(layers=1, width=WIDTH, d_ff=D_FF, rows=ROWS), init="fairseq")
    for site, p in weights(model):
        if site.tensor in "qkvo":
            variance = 1 / WIDTH if site.tensor == "o" else 1 / (2 * WIDTH)
            assert 0.999 < p.abs().max().item() / math.sqrt(3 * variance) <= 1.0


def test_the_padding_row_alone_is_zero(setting, build, kind):
    model = build(setting("pre", tied="none"))
    for p in model.parameters():
        torch.nn.init.normal_(p)
    inits[kind].build(model, Draw(3))
    for site, p in parameter_uses(model):
        if site.tensor == "table":
            assert not p[0].any()
            assert p[1:].all()


def test_placements_norms_depths_and_ties_of_one_seed_share_their_weights(setting, build, kind):
    first, *others = (
        build(setting(placement, norm=norm), init=kind)
        for placement in ("post", "pre")
        for norm in ({"kind": "layer", "eps": 1e-5}, {"kind": "none"})
    )
    for other in others:
        pairs = zip(weights(first), weights(other), strict=True)
        assert all(one == two and torch.equal(p, q) for (one, p), (two, q) in pairs)
    shallow, deep = (by_site(build(setting(layers=n), init=kind)) for n in (2, 4))
    assert shallow.keys() < deep.keys()
    assert all(torch.equal(p, deep[site]) for site, p in shallow.items())
    target, untied = (by_site(build(setting(tied=tied), init=kind)) for tied in ("target", "none"))
    differ = [site for site, p in target.items() if not torch.equal(p, untied[site])]
    assert differ == [(None, None, "output", "table")]


def test_seeds_and_sites_differ_without_the_default_generator(setting, build, kind):
    one, two = (build(setting(), seed=seed, init=kind) for seed in (1, 2))
    for (_, p), (_, q) in zip(weights(one), weights(two), strict=True):
        assert not torch.equal(p, q)
    square = [p for site, p in weights(one) if site.tensor in "qkvo"]
    assert not any(torch.equal(p, q) for i, p in enumerate(square) for q in square[:i])
    model = build(setting())
    before = torch.get_rng_state()
    inits[kind].build(model, Draw(1))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_double_model_holds_the_same_numbers_a_meta_model_none_and_parameters_of_a_placement_their_own(
    setting, build, kind
):
    single, double = build(setting(), init=kind), build(setting()).double()
    inits[kind].build(double, Draw(1))
    assert all(torch.equal(p.double(), q) for p, q in zip(single.parameters(), double.parameters(), strict=True))
    model = build(setting())
    model.encoder.layers[0].placement.alpha = torch.nn.Parameter(torch.tensor(0.125))
    inits[kind].build(model, Draw(1))
    assert model.encoder.layers[0].placement.alpha.item() == 0.125
    with torch.device("meta"):
        model = build(setting(), init=kind)
    assert all(p.is_meta for p in model.parameters())
