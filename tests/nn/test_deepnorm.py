"""DeepNorm's constants, and that alpha and beta of one model belong together."""

import math

import pytest

from lnlab.nn.deepnorm import constants
from lnlab.nn.inits import depths
from lnlab.nn.sites import weights

PUBLISHED = {
    ("encoder", 6, 6, 2): (1.418, 0.497),
    ("decoder", 6, 6, 3): (2.060, 0.343),
    ("encoder", 18, 18, 2): (0.81 * 18 ** (5 / 16), 0.87 * 18 ** (-5 / 16)),
    ("decoder", 100, 100, 3): (300**0.25, 1200**-0.25),
    ("encoder", 12, None, 2): (24**0.25, 96**-0.25),
    ("decoder", 12, None, 2): (24**0.25, 96**-0.25),
}


@pytest.mark.parametrize(("place", "expected"), PUBLISHED.items(), ids=str)
def test_constants_are_the_published_ones(place, expected):
    assert constants(*place) == pytest.approx(expected, abs=5e-4)


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
