"""DT-Fixup's constants: mu against a loop over tokens, and every matrix against Xavier's of the same seed."""

import math

import pytest
import torch

from lnlab.execute.program import initializer
from lnlab.nn.dt_fixup import relational_gain, vanilla_gain
from lnlab.nn.embedding import sinusoids
from lnlab.nn.inits import inits
from lnlab.nn.sites import parameter_uses, weights
from lnlab.randomness import Draw

DEPTH = {"encoder": {"layers": 3}, "decoder": {"layers": 5}, "norm": "none", "tied": "none"}


def largest(model, batches) -> dict[str, float]:
    """‖sqrt(d) table[token] + position‖ of every token, one at a time; the largest of each stack."""
    found = {}
    for name, word in (("encoder", "source"), ("decoder", "target_in")):
        if not hasattr(model, name):
            continue
        table = getattr(model, name).embedding.table.double()
        lengths = [
            (math.sqrt(table.shape[1]) * table[token] + sinusoids(place + 1, table.shape[1])[place]).norm().item()
            for batch in batches
            for sentence in getattr(batch, word).tolist()
            for place, token in enumerate(sentence)
            if token
        ]
        found[name] = max(lengths)
    return found


@pytest.mark.parametrize(("gain", "published"), [(relational_gain, 0.00994), (vanilla_gain, 0.0102)])
def test_the_factors_of_24_layers_and_mu_of_10_are_the_published_ones(gain, published):
    assert gain(24, 10.0) == pytest.approx(published, abs=5e-6 if gain is relational_gain else 5e-5)


@pytest.mark.parametrize("relational", [False, True])
@pytest.mark.parametrize("of", ["xavier_normal", "fairseq"])
def test_v_o_w1_w2_are_xaviers_times_the_factor_of_their_stack(setting, build, data, of, relational):
    chosen = setting("pre", **DEPTH)
    model = build(chosen, init={"kind": "dt_fixup", "of": of, "relational": relational})
    mu = largest(model, data(None))
    for (site, p), (_, q) in zip(weights(model), weights(build(chosen, init=of)), strict=True):
        expected = 1.0
        if site.tensor in ("v", "o", "w1", "w2"):
            n, m = {"encoder": 3, "decoder": 5}[site.stack], mu[site.stack]
            expected = (n * (4 * m**2 + 2 * m + 2)) ** -0.5 if relational else 1 / (2 * m * math.sqrt(n))
        assert (p.norm() / q.norm()).item() == pytest.approx(expected, rel=1e-5), site
        torch.testing.assert_close(p, q * expected, rtol=1e-4, atol=1e-9)


def test_every_batch_is_read_in_any_order(setting, build, data):
    model = build(setting("pre", **DEPTH))
    w2 = model.decoder.layers[0].feed_forward.w2.weight

    def norm(batches) -> float:
        initializer(inits.resolve("dt_fixup"), inits, lambda n, split="train": iter(batches[:n]))(model, Draw(1))
        return w2.norm().item()

    first, second, third = data(None)
    assert norm([first, second, third]) == norm([third, first, second]) == norm([second, third, first])
    assert norm([first, second, third]) == min(norm([each]) for each in (first, second, third))
    assert len({norm([each]) for each in (first, second, third)}) > 1


def test_it_may_stand_inside_another_init_and_tells_a_spectral_norm_of_the_new_size(setting, build):
    chosen = setting("pre", **DEPTH)
    plain, zeroed = (build(chosen, init=i) for i in ("dt_fixup", {"kind": "zero_qk", "of": "dt_fixup"}))
    for (site, p), (_, q) in zip(parameter_uses(plain), parameter_uses(zeroed), strict=True):
        assert torch.equal(q, torch.zeros_like(p) if site.tensor in ("q", "k") else p), site
    model = build(setting("pre", linear="sigma_reparam", **DEPTH), init="dt_fixup")
    w1 = model.encoder.layers[0].feed_forward.w1
    assert w1.gain.item() == pytest.approx(torch.linalg.matrix_norm(w1.weight, 2).item(), rel=1e-5)


@pytest.mark.parametrize(("kind", "stack"), [("classifier", "encoder"), ("language_model", "decoder")])
def test_a_model_of_one_stack_has_the_mu_of_what_it_reads(setting, build, data, kind, stack):
    chosen = setting("pre", kind=kind, norm="none")
    model, plain = (build(chosen, init=init) for init in ("dt_fixup", "xavier_normal"))
    mu = largest(model, data(None))[stack]
    scaled, one = (getattr(each, stack).layers[1].feed_forward.w2.weight for each in (model, plain))
    assert (scaled.norm() / one.norm()).item() == pytest.approx(1 / (2 * mu * math.sqrt(2)), rel=1e-5)
