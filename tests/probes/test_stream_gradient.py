"""Gradients of the stream against torch's own layers, finite differences in float64, and identities of scale."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lnlab.probes.stream_gradient import stream_gradient
from lnlab.tasks.task import Batch
from tests.support.models import copy_layer

LAYERS, WIDTH, HEADS = 2, 16, 2


def torchs_layer(ours, norm_first: bool) -> nn.Module:
    """The layer of torch with our weights; dropout 0, in training mode, so that no module is skipped."""
    crossed = ours.cross_attention is not None
    kind = nn.TransformerDecoderLayer if crossed else nn.TransformerEncoderLayer
    layer = kind(WIDTH, HEADS, 2 * WIDTH, 0.0, batch_first=True, norm_first=norm_first)
    return copy_layer(ours, layer)


def kept(seen: dict, site: tuple, x) -> None:
    x.retain_grad()
    seen[site] = x


def watch(layer, stack: str, number: int, post: bool, seen: dict) -> None:
    """Keep the branches (the outputs of torch's dropouts), and around a Post-LN norm the sum and what goes on."""
    names = ("self_attention", "cross_attention", "feed_forward")
    for i, sublayer in enumerate(names if stack == "decoder" else (names[0], names[2]), 1):
        at = (stack, number, sublayer)
        drop, norm = getattr(layer, f"dropout{i}"), getattr(layer, f"norm{i}")
        drop.register_forward_hook(lambda _m, _x, y, at=at: kept(seen, (*at, "branch"), y))
        if post:
            norm.register_forward_pre_hook(lambda _m, x, at=at: kept(seen, (*at, "sum"), x[0]))
            norm.register_forward_hook(lambda _m, _x, y, at=at: kept(seen, (*at, "out"), y))
    if not post:
        layer.register_forward_hook(lambda _m, _x, y: kept(seen, (stack, number, "feed_forward", "out"), y))


def by_torch(state, batch, post: bool) -> dict[tuple, float]:
    """‖dL/dx‖ of one batch by site, of a model made of torch's layers."""
    seen: dict[tuple, torch.Tensor] = {}
    streams, model = {}, state.model
    for stack, tokens in (("encoder", batch.source), ("decoder", batch.target_in)):
        ours, pads = getattr(model, stack), tokens == 0
        x = ours.embedding(tokens).detach().requires_grad_()
        kept(seen, (stack, None, "embedding", "out"), x)
        for number, layer in enumerate(ours.layers, 1):
            theirs = torchs_layer(layer, not post)
            watch(theirs, stack, number, post, seen)
            if stack == "encoder":
                x = theirs(x, src_key_padding_mask=pads)
            else:
                late = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
                x = theirs(x, streams["encoder"], late, None, pads, batch.source == 0)
        streams[stack] = x if post else nn.functional.layer_norm(x, (WIDTH,))
        if not post:
            kept(seen, (stack, None, "final_norm", "out"), streams[stack])
    flat = (streams["decoder"] @ model.output.table.T).flatten(0, 1)
    cross_entropy(flat, batch.target_out.flatten(), ignore_index=0, label_smoothing=0.1).backward()
    return {site: x.grad.norm().item() for site, x in seen.items()}


@pytest.mark.parametrize(("placement", "post", "sites"), [("post", True, 2 * 5 * 3 + 2), ("pre", False, 10 + 4 + 4)])
def test_values_are_those_of_a_model_made_of_torchs_layers(state, values, placement, post, sites):
    made = state(placement, layers=LAYERS, width=WIDTH, heads=HEADS, d_ff=2 * WIDTH)
    found = values(stream_gradient(made, batches=1), "stream_gradient")
    expected = by_torch(made, made.batches(1)[0], post)
    assert len(expected) == sites
    for site, value in expected.items():
        assert found[site] == pytest.approx(value, rel=1e-4), site


def test_batches_combine_by_the_mean_of_squares(state, values):
    made = state("pre")
    one = [by_torch(made, batch, False) for batch in made.batches(3)]
    found = values(stream_gradient(made, batches=3), "stream_gradient")
    for site in one[0]:
        assert found[site] == pytest.approx(math.sqrt(sum(g[site] ** 2 for g in one) / 3), rel=1e-4), site


def loss(made, batch, shift=None) -> float:
    """In float64, with something added to what leaves the encoder's first layer."""
    layer = made.model.encoder.layers[0]
    handle = layer.register_forward_hook(lambda _m, _x, y: y if shift is None else y + shift)
    with torch.no_grad():
        total, count = made.task.loss(made.model, batch)
    handle.remove()
    return total.item() / count


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_values_are_finite_differences(state, values, placement):
    made = state(placement, width=8, d_ff=16, sentences=2, longest=4)
    made.model.double()
    batch, step = made.batches(1)[0], 1e-5
    square = 0.0
    for i in range(batch.source.numel() * 8):
        shift = torch.zeros(batch.source.numel() * 8, dtype=torch.float64)
        shift[i] = step
        shift = shift.view(*batch.source.shape, 8)
        square += ((loss(made, batch, shift) - loss(made, batch, -shift)) / (2 * step)) ** 2
    found = values(stream_gradient(made, batches=1), "stream_gradient")
    assert found["encoder", 1, "feed_forward", "out"] == pytest.approx(math.sqrt(square), rel=1e-6)


class Repeated:
    """A task whose batches repeat the first ``times`` over, as sentences of one batch."""

    def __init__(self, task, times: int) -> None:
        self.task, self.times = task, times

    def batches(self, *given):
        first = next(self.task.batches(*given))
        whole = Batch(*(x.repeat(self.times, 1) for x in (first.source, first.target_in, first.target_out)))
        while True:
            yield whole

    def loss(self, model, batch):
        return self.task.loss(model, batch)


def test_more_batches_alike_change_nothing_and_a_batch_n_times_as_large_divides_by_sqrt_n(state, values):
    made = state("post")
    one, three, nine = (
        values(stream_gradient(replace(made, task=Repeated(made.task, times)), batches=k), "stream_gradient")
        for k, times in ((1, 1), (3, 1), (1, 9))
    )
    for site, value in one.items():
        assert three[site] == pytest.approx(value, rel=1e-6)
        assert nine[site] == pytest.approx(value / 3, rel=1e-4), site


def test_sites_are_those_of_branch_sum_and_out_and_a_sum_hands_its_gradient_to_both_terms(state, values):
    found = values(stream_gradient(state("pre", norm="none"), batches=2), "stream_gradient")
    sums = [site for site in found if site[3] == "sum"]
    assert len(sums) == 10
    for site in sums:
        assert found[site] == found[*site[:3], "branch"] == found[*site[:3], "out"]
    found = values(stream_gradient(state("pre"), batches=1), "stream_gradient")
    assert len(found) == 2 * 5 * 3 + 2 + 2
    assert {site[3] for site in found} == {"branch", "sum", "out"}
    assert {("encoder", None, "embedding", "out"), ("decoder", None, "final_norm", "out")} <= found.keys()


def test_what_the_loss_does_not_depend_on_has_gradient_zero_and_frozen_weights_hide_none(state, values):
    """The encoder where nobody attends to it, and the branches behind ReZero's closed gates."""
    found = values(stream_gradient(state("pre", cross_attention=False), batches=1), "stream_gradient")
    assert {value for site, value in found.items() if site[0] == "encoder"} == {0.0}
    gated = values(stream_gradient(state("rezero"), batches=1), "stream_gradient")
    assert {value for site, value in gated.items() if site[3] == "branch"} == {0.0}
    through = {value for site, value in gated.items() if site[0] == "decoder" and site[3] == "out"}
    assert len(through) == 1
    assert min(through) > 0
    made, frozen = state("post"), state("post")
    for p in frozen.model.parameters():
        p.requires_grad_(False)
    assert list(stream_gradient(made, batches=1)) == list(stream_gradient(frozen, batches=1))
