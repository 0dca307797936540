"""Numbers that papers and their code give for whole models before any training."""

import math
from itertools import pairwise

import pytest
import torch

from lnlab.nn.sites import Site, activations

EVERY = torch.ones(1, 1, 1, 4, dtype=torch.bool)


class Batch:
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(1, 300, (4, 12), generator=generator)
    target_in = torch.randint(1, 300, (4, 12), generator=generator)


def stream(build, chosen, init) -> dict[Site, float]:
    """E ‖x‖² / d at every site of the encoder."""
    model = build(chosen, init=init)
    with activations(model) as seen, torch.no_grad():
        model(Batch)
    return {site: x.square().mean().item() for site, x in seen.items() if site.stack == "encoder"}


def test_fixup_keeps_the_stream_and_plain_xavier_doubles_it_without_norms(setting, build):
    """Without norms a layer multiplies the variance by more than 1.4; with Fixup, by exactly 1 (Zhang et al., 2019)."""
    chosen = setting("pre", width=128, d_ff=256, layers=6, rows=300, norm="none", tied="none")
    xavier, fixup = (stream(build, chosen, init) for init in ("xavier_normal", "fixup"))
    sums = [xavier[Site("encoder", layer, "feed_forward", "out")] for layer in range(1, 7)]
    assert all(after / before > 1.4 for before, after in pairwise(sums))
    assert {fixup[Site("encoder", layer, "feed_forward", "out")] for layer in range(1, 7)} == {
        fixup[Site("encoder", None, "embedding", "out")]
    }


@pytest.mark.parametrize("start", [1e-1, 1e-4])
def test_layerscale_moves_the_stream_by_no_more_than_its_gate_allows(setting, build, start):
    """‖f(x) - x‖ / ‖x‖ <= lambda sqrt(2 L) over a stack of L layers, where branches have the size of their input."""
    chosen = setting({"kind": "layerscale", "start": start}, width=128, d_ff=256, layers=8, rows=300)
    model = build(chosen)
    with activations(model) as seen, torch.no_grad():
        model(Batch)
    first, last = seen[Site("encoder", None, "embedding", "out")], seen[Site("encoder", 8, "feed_forward", "out")]
    assert 0 < ((last - first).norm() / first.norm()).item() <= start * math.sqrt(2 * 8)


def test_deepnorm_bounds_the_change_of_the_output_whatever_the_depth(setting, build):
    """Every weight disturbed by 1e-4: Post-LN's change grows with depth, DeepNorm's does not (Wang et al., 2022)."""
    slopes = {}
    for placement, init in (("post", "xavier_normal"), ("deepnorm", "deepnorm")):
        changes = []
        for layers in (4, 32):
            model = build(setting(placement, width=64, d_ff=128, layers=layers, rows=300), init=init).double()
            mask = torch.ones(1, 1, 1, 12, dtype=torch.bool)
            with torch.no_grad():
                before = model.encoder(Batch.source, mask)
                generator = torch.Generator().manual_seed(1)
                for p in model.encoder.layers.parameters():
                    p += 1e-4 * torch.randn(p.shape, generator=generator, dtype=torch.float64).sign() * (p.dim() > 1)
                changes.append((model.encoder(Batch.source, mask) - before).square().sum(-1).mean().item())
        slopes[placement] = math.log(changes[1] / changes[0]) / math.log(32 / 4)
    assert slopes["post"] > 0.6
    assert -0.35 < slopes["deepnorm"] < 0.25
