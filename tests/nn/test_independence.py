"""What an example's answer depends on: its batch, its padding, its future. Every norm is what its tag says."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import pad

from lnlab.nn.norms import norms

TOKENWISE = [entry.name for entry in norms if entry.facts.statistics == "token"]
WIDER = [entry.name for entry in norms if entry.facts.statistics != "token"]


@pytest.fixture(params=["post", "pre"])
def trained(request, setting, build):
    """``trained(norm, stack)``: a model in training mode with that norm in one stack, float64, random weights."""

    def make(norm: str, stack: str):
        other = {"decoder": "encoder", "encoder": "decoder"}[stack]
        chosen = {stack: {"norm": norms.resolve(norm)}, other: {"norm": norms.resolve("layer")}}
        model = build(setting(request.param, **chosen)).double().train()
        torch.manual_seed(0)
        for p in model.parameters():
            torch.nn.init.normal_(p, std=0.3)
        return model

    return make


@pytest.mark.parametrize("entry", list(norms), ids=lambda entry: entry.name)
def test_an_answer_depends_on_its_batch_under_batch_statistics_alone(trained, batch, entry):
    """In training; in evaluation, under none."""
    model = trained(entry.name, "encoder")
    alone = replace(batch, source=batch.source[2:, :2], target_in=batch.target_in[2:, :5])
    same = torch.allclose(model(alone)[0], model(batch)[2, :5], rtol=1e-9, atol=1e-9)
    assert same is (entry.facts.statistics != "batch")
    model.eval()
    torch.testing.assert_close(model(alone)[0], model(batch)[2, :5], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("entry", list(norms), ids=lambda entry: entry.name)
def test_appended_padding_changes_no_answer(trained, batch, entry):
    model = trained(entry.name, "encoder")
    longer = replace(batch, source=pad(batch.source, (0, 3)), target_in=pad(batch.target_in, (0, 2)))
    torch.testing.assert_close(model(longer)[:, :6], model(batch), rtol=1e-9, atol=1e-9)


def leak(model, batch) -> bool:
    """Whether a change of the last target token moves the logits of earlier positions."""
    changed = batch.target_in.clone()
    changed[1, 5] = changed[1, 5] % 22 + 1
    before, after = model(batch), model(replace(batch, target_in=changed))
    return not torch.allclose(before[1, :5], after[1, :5], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("norm", TOKENWISE)
def test_norms_of_a_token_show_a_decoder_no_future(trained, batch, norm):
    assert not leak(trained(norm, "decoder"), batch)


@pytest.mark.parametrize("norm", WIDER)
def test_any_wider_norm_would_show_a_decoder_its_future(trained, batch, norm):
    """Why they are refused there; in the encoder they show the decoder nothing of its own."""
    assert leak(trained(norm, "decoder"), batch)
    assert not leak(trained(norm, "encoder"), batch)
