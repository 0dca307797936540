"""A classifier on a frozen encoder: what it computes, what moves, and what an init sees of the features."""

import math

import pytest
import torch

from lnlab.errors import LabError
from lnlab.nn.encoder import masked_mean
from lnlab.nn.from_run import from_run, take_over
from lnlab.nn.inits import inits
from lnlab.nn.masks import padding
from lnlab.nn.sites import activations, parameter_uses
from lnlab.nn.transformer import frozen_weights, stacks
from lnlab.randomness import Draw

PARTS = {"encoder.embedding.frozen": "encoder"}


@pytest.fixture
def pretrained(setting, build):
    """An encoder of two layers with values of its own."""
    return build(setting("post", kind="encoder"), seed=5)


@pytest.fixture
def model(setting, build):
    """``model(placement, **given)``: three new layers on two frozen ones."""
    return lambda placement="pre", **given: build(
        setting(placement, kind="feature_classifier", layers=3, feature_layers=2, **given)
    )


def weights_of(model):
    return dict(model.named_parameters()) | dict(model.named_buffers())


def test_it_is_the_encoder_and_then_the_new_layers(model, pretrained, batch):
    classifier = model().double()
    transfer = take_over(classifier, weights_of(pretrained), PARTS, "other")
    x = pretrained.double().encoder(batch.source, padding(batch.source))
    for layer in classifier.encoder.layers:
        x = layer(x, padding(batch.source))
    logits = classifier.output(masked_mean(classifier.encoder.final_norm(x), batch.source != 0))
    torch.testing.assert_close(classifier(batch), logits, rtol=1e-12, atol=1e-12)
    names = [name for name, _ in pretrained.named_parameters() if name.startswith("encoder.")]
    assert transfer.loaded == tuple(f"encoder.embedding.frozen.{name.removeprefix('encoder.')}" for name in names)
    assert transfer.fresh == tuple(name for name, _ in classifier.named_parameters())
    assert transfer.unused == ("output.table",)


def test_nothing_frozen_is_a_parameter_or_has_a_site(model, batch):
    classifier = model()
    classifier(batch).sum().backward()
    assert all(p.grad is not None for p in classifier.parameters())
    assert not set(frozen_weights(classifier)) & {name for name, _ in classifier.named_parameters()}
    assert list(stacks(classifier)) == ["encoder"]
    assert {site.sublayer for site, _ in parameter_uses(classifier) if site.layer is None} == {"final_norm", "output"}
    with activations(classifier) as seen:
        classifier(batch)
    assert max(site.layer or 0 for site in seen) == 3


def test_dt_fixup_measures_the_features_that_are_taken_over(model, pretrained, data):
    classifier, plain = model(norm="none"), model(norm="none")
    scaled = lambda model, draw: inits["dt_fixup"].build(model, draw, data, of=inits["xavier_normal"].build)  # noqa: E731
    from_run(classifier, Draw(1), weights_of(pretrained), spec="other", parts=PARTS, of=scaled)
    lengths = [
        pretrained.encoder(each.source, padding(each.source))[each.source != 0].norm(dim=-1).max().item()
        for each in data(None)
    ]
    gain = 1 / (2 * max(lengths) * math.sqrt(3))
    for name in ("self_attention.v", "self_attention.o", "feed_forward.w1", "feed_forward.w2"):
        ours, theirs = (m.get_submodule(f"encoder.layers.2.{name}").weight for m in (classifier, plain))
        torch.testing.assert_close(ours, theirs * gain, rtol=1e-5, atol=1e-9)


def test_a_source_that_is_not_there_is_named(model, pretrained, golden):
    with golden.raises(LabError):
        take_over(model(), weights_of(pretrained), {"encoder.embedding.frozen": "decoder"}, "other")
