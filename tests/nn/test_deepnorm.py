"""DeepNorm's constants, and that alpha and beta of one model belong together."""

import math

import pytest

from lnlab.nn.deepnorm import constants
from lnlab.nn.inits import depths
from lnlab.nn.sites import weights

PUBLISHED = {
    (6, 6): ((1.41794, 0.49699), (2.05977, 0.34329)),
    (18, 18): ((1.99875, 0.35257), (2.71081, 0.26085)),
    (100, 100): ((3.41574, 0.20631), (4.16179, 0.16990)),
    (12, 0): ((2.21336, 0.31947), None),
    (0, 12): (None, (2.21336, 0.31947)),
}
"""By layers of encoder and decoder: alpha and beta of each, to five digits."""


@pytest.mark.parametrize(("layers", "expected"), PUBLISHED.items(), ids=str)
def test_constants_are_the_published_ones(layers, expected):
    alone = 0 in layers
    for name, n, other, found in zip(("encoder", "decoder"), layers, layers[::-1], expected, strict=True):
        if found is not None:
            sublayers = 3 if name == "decoder" and not alone else 2
            assert constants(name, n, None if alone else other, sublayers) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize(("kind", "stack"), [("encoder", "encoder"), ("language_model", "decoder")])
def test_a_model_of_one_stack_has_the_constants_of_a_stack_alone(setting, build, kind, stack):
    chosen = setting("deepnorm", layers=12, kind=kind)
    model, plain = build(chosen, init="deepnorm"), build(chosen, init="xavier_normal")
    assert [layer.placement.alpha for layer in getattr(model, stack).layers] == pytest.approx([2.21336] * 12, abs=1e-5)
    pairs = zip(weights(model), weights(plain), strict=True)
    ratios = [(p.norm() / q.norm()).item() for (site, p), (_, q) in pairs if site.tensor in ("v", "o", "w1", "w2")]
    assert ratios == pytest.approx([0.31947] * 48, abs=1e-5)


def test_each_stacks_alpha_and_beta_come_from_both_depths(setting, build):
    """Beta is the ratio of v o w1 w2 to Xavier's of the same seed, and q k are Xavier's."""
    given = setting("deepnorm", layers=3, decoder={"layers": 5})
    model, plain = build(given, init="deepnorm"), build(given, init="xavier_normal")
    assert depths(model) == {"encoder": (3, 2), "decoder": (5, 3)}
    alphas = {"encoder": 0.81 * (3**4 * 5) ** (1 / 16), "decoder": 15**0.25}
    betas = {"encoder": 0.87 * (3**4 * 5) ** (-1 / 16), "decoder": 60**-0.25}
    for (site, p), (_, q) in zip(weights(model), weights(plain), strict=True):
        expected = betas[site.stack] if site.tensor in ("v", "o", "w1", "w2") else 1.0
        assert (p.norm() / q.norm()).item() == pytest.approx(expected, rel=1e-5), site
    for name, alpha in alphas.items():
        assert all(layer.placement.alpha == alpha for layer in getattr(model, name).layers)


def test_a_decoder_that_looks_at_no_encoder_is_a_stack_alone(setting, build):
    model = build(setting("deepnorm", layers=4, cross_attention=False), init="deepnorm")
    assert model.decoder.layers[0].placement.alpha == math.pow(8, 0.25)
