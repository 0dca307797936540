"""Sizes and changes of coordinates against tensors taken by hand."""

from dataclasses import replace

import pytest
import torch
from torch.func import functional_call

from lnlab.errors import LabError
from lnlab.nn.sites import Site, activations
from lnlab.probes.coordinate_size import coordinate_size


def test_the_stream_and_the_output_are_compared_with_those_of_the_initial_parameters(state, trained, values):
    made = trained(state("pre"))
    start, rows = made.initial(), list(coordinate_size(made, batches=2))
    pairs = {site: [] for site in ("stream", "output")}
    for batch in made.batches(2):
        kept = {}
        with torch.no_grad(), activations(made.model) as seen:
            for when, parameters in (("now", {}), ("then", start)):
                logits = functional_call(made.model, parameters, (batch,))
                kept[when] = (seen[Site("decoder", 2, "feed_forward", "out")], logits)
        present = batch.target_in != 0
        for place, now, then in zip(pairs, kept["now"], kept["then"], strict=True):
            pairs[place] += [(now[b, t], then[b, t]) for b, t in present.nonzero().tolist()]
    sites = {"stream": ("decoder", 2, "feed_forward", "out"), "output": (None, None, "output", "logits")}
    for place, site in sites.items():
        now, then = (torch.stack(part).double() for part in zip(*pairs[place], strict=True))
        change = (now - then).square().mean().sqrt().item()
        assert change > 1e-3
        assert values(rows, "coordinate_rms")[site] == pytest.approx(now.square().mean().sqrt().item(), rel=1e-6)
        assert values(rows, "coordinate_change_rms")[site] == pytest.approx(change, rel=1e-6)


def test_logits_of_attention_are_those_its_softmax_is_of(state):
    """Their softmax mixes the values to what the attention returns."""
    made = state("pre")
    (batch,) = made.batches(1)
    attention = made.model.decoder.layers[0].self_attention
    torch.manual_seed(0)
    x, mask = torch.randn(*batch.target_in.shape, 16), (batch.target_in != 0)[:, None, None]
    weights = attention.logits(x, x).masked_fill(~mask, -torch.inf).softmax(-1)
    values = attention.v(x).view(*x.shape[:2], 2, 8).transpose(1, 2)
    torch.testing.assert_close(attention.o((weights @ values).transpose(1, 2).flatten(2)), attention(x, x, mask))


def test_attention_counts_the_pairs_that_it_looks_at_alone(state, trained, values):
    made = trained(state("pre"))
    rows = values(coordinate_size(made), "coordinate_rms")
    (batch,) = made.batches(1)
    with torch.no_grad(), activations(made.model) as seen:
        made.model(batch)
    x, attention = seen[Site("decoder", 1, "self_attention", "in")], made.model.decoder.layers[0].self_attention
    logits, total, count = attention.logits(x, x).double(), 0.0, 0
    for b, tokens in enumerate(batch.target_in.tolist()):
        for query in (i for i, token in enumerate(tokens) if token):
            for key in (i for i, token in enumerate(tokens[: query + 1]) if token):
                total, count = total + logits[b, :, query, key].square().sum().item(), count + logits.shape[1]
    found = rows["decoder", 1, "self_attention", "logits"]
    assert found == pytest.approx((total / count) ** 0.5, rel=1e-6)


def test_nothing_has_changed_where_training_began(state, values, golden):
    made = state("pre")
    begun = replace(made, initial=lambda: {name: p.detach().clone() for name, p in made.model.named_parameters()})
    assert set(values(coordinate_size(begun), "coordinate_change_rms").values()) == {0.0}
    with golden.raises(LabError):
        list(coordinate_size(made))


def test_labels_have_logits_too(classifier, trained, values):
    rows = values(coordinate_size(trained(classifier("layer"))), "coordinate_change_rms")
    assert rows[None, None, "output", "logits"] > 0
