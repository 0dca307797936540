"""Models of one stack: what they see, what they pool, and that they are the encoder-decoder's stacks."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import pad

from lnlab.nn.encoder import masked_mean
from lnlab.nn.masks import causal, padding
from lnlab.nn.sites import parameter_uses

KINDS = ("encoder", "classifier", "language_model")


@pytest.fixture
def rough(setting, build):
    """A model of a kind with every parameter random, in float64."""

    def make(kind, placement="pre", **given):
        model = build(setting(placement, kind=kind, **given)).double()
        torch.manual_seed(0)
        for p in model.parameters():
            torch.nn.init.normal_(p, std=0.3)
        return model

    return make


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("placement", ["post", "pre"])
def test_appended_padding_and_other_sentences_change_nothing(rough, batch, kind, placement):
    model = rough(kind, placement)
    whole = model(batch)
    longer = replace(batch, source=pad(batch.source, (0, 3)), target_in=pad(batch.target_in, (0, 2)))
    alone = replace(batch, source=batch.source[2:, :2], target_in=batch.target_in[2:, :5])
    here = (slice(None), slice(whole.shape[1]))
    torch.testing.assert_close(model(longer)[here], whole, rtol=1e-12, atol=1e-12)
    one = model(alone)[0]
    torch.testing.assert_close(one, whole[2] if one.dim() == 1 else whole[2, : len(one)], rtol=1e-10, atol=1e-10)


def test_a_classifier_pools_the_tokens_of_a_sentence_and_a_language_model_sees_no_later_token(rough, batch):
    model, encoder = rough("language_model"), rough("encoder")
    other = replace(batch, target_in=batch.target_in.clone(), source=batch.source.clone())
    other.target_in[1, 5] = other.target_in[1, 5] % 22 + 1
    other.source[0, 6] = other.source[0, 6] % 22 + 1
    assert torch.equal(model(batch)[1, :5], model(other)[1, :5])
    assert not torch.allclose(model(batch)[1, 5], model(other)[1, 5])
    assert not torch.allclose(encoder(batch)[0, 0], encoder(other)[0, 0])
    model = rough("classifier")
    x = model.encoder(batch.source, padding(batch.source))
    lengths = (batch.source != 0).sum(1).tolist()
    means = torch.stack([x[i, :n].mean(0) for i, n in enumerate(lengths)])
    torch.testing.assert_close(model(batch), means @ model.output.weight.T + model.output.bias, rtol=1e-12, atol=1e-12)
    first = rough("classifier", pool="first")
    expected = first.output(first.encoder(batch.source, padding(batch.source))[:, 0])
    torch.testing.assert_close(first(batch), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("tokens", "expected"), [(2, 1.5), (1, 1.0), (0, 0.0)])
def test_the_mean_is_over_the_tokens_that_are_there_be_it_one_or_none(tokens, expected):
    x = torch.tensor([1.0, 2.0, float("nan")]).view(1, 3, 1)
    assert masked_mean(x, torch.arange(3)[None] < tokens).item() == expected


def test_without_cross_attention_a_decoder_is_a_language_model(setting, build, batch):
    """One seed gives both the same weights, so the logits are those of the other model."""
    both, alone = build(setting(cross_attention=False)), build(setting(kind="language_model"))
    torch.testing.assert_close(alone(batch), both(batch))
    encoder = build(setting(kind="encoder"))
    memory = both.encoder(batch.source, padding(batch.source))
    torch.testing.assert_close(encoder(batch), memory @ encoder.output.table.T)


def test_without_positions_the_input_of_different_tokens_is_gaussian(setting, build):
    """Unit variance, and no correlation between neighbouring tokens or coordinates."""
    model = build(setting(kind="encoder", positions="none", width=64, rows=2001))
    x = model.encoder.embedding(torch.arange(1, 2001)[None])[0]
    assert x.var().item() == pytest.approx(1, abs=0.02)
    assert x.pow(4).mean().item() == pytest.approx(3, abs=0.1)
    assert (x[1:] * x[:-1]).mean().item() == pytest.approx(0, abs=0.02)
    permuted = model.encoder.embedding(torch.arange(1, 2001).flip(0)[None])[0]
    assert torch.equal(permuted.flip(0), x)
    assert causal(torch.ones(1, 3)).sum() == 6


def test_a_classifiers_head_has_a_row_for_every_label_and_zero_biases(setting, build):
    found = {
        site.tensor: p for site, p in parameter_uses(build(setting(kind="classifier"))) if site.sublayer == "output"
    }
    assert found.keys() == {"weight", "bias"}
    assert (found["weight"].abs().sum(1) > 0).all()
    assert found["bias"].abs().sum() == 0


def test_attention_without_an_output_matrix_mixes_values_alone(setting, build, batch):
    model = build(setting(kind="encoder", attention={"kind": "softmax", "output": False}, heads=1), init="zero_qk")
    assert not [site for site, _ in parameter_uses(model) if site.tensor in ("o", "bo")]
    attention = model.encoder.layers[0].self_attention
    x = torch.randn(3, 7, 16)
    here = batch.source != 0
    values = torch.where(here[..., None], x @ attention.v.weight.T, 0.0)
    averages = values.sum(1, keepdim=True) / here.sum(1)[:, None, None]
    torch.testing.assert_close(attention(x, x, padding(batch.source)), averages.expand_as(x), rtol=1e-5, atol=1e-6)
