"""Numbers that papers and their code give for whole models before any training."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from lnlab.nn.inits import inits
from lnlab.nn.parts import parts_of
from lnlab.nn.placements import Place
from lnlab.nn.sites import Site, activations
from lnlab.nn.transformer import Layer
from lnlab.randomness import Draw

EVERY = torch.ones(1, 1, 1, 4, dtype=torch.bool)


def squares_of_singular_values(setting, placement: str, draws: int, **given) -> float:
    """Mean over the input-output Jacobian of 12 layers: width 16, 4 heads, d_ff 64, four tokens N(0, 1).

    This is the setting of ReZero's notebook on signal propagation; its fused q k v makes its Xavier fairseq's.
    """
    parts = parts_of(setting({"kind": placement} | given)["encoder"])
    found = []
    for seed in range(draws):
        places = [Place("encoder", i + 1, 12, None, 2, 16, lambda: parts.norm(16)) for i in range(12)]
        encoder = nn.Module()
        encoder.layers = nn.ModuleList(Layer(at, parts, heads=4, d_ff=64, dropout=0.0) for at in places)
        model = nn.Module()
        model.encoder = encoder
        inits["fairseq"].build(model, Draw(seed))

        def run(x, layers=encoder.layers):
            for layer in layers:
                x = layer(x, EVERY)
            return x

        x = torch.randn(1, 4, 16, generator=torch.Generator().manual_seed(seed))
        jacobian = torch.autograd.functional.jacobian(run, x, vectorize=True).reshape(64, 64)
        found.append(torch.linalg.svdvals(jacobian).square().mean().item())
    return sum(found) / draws


@pytest.mark.parametrize(
    ("placement", "given", "published"),
    [("post", {}, 0.810), ("pre", {}, 10.242), ("rezero", {"start": 0.1}, 1.059), ("rezero", {}, 1.0)],
    ids=["post", "pre", "rezero", "rezero at init"],
)
def test_jacobians_of_rezeros_notebook(setting, placement, given, published):
    """Within a factor of 1.3 for Post and Pre, whose draws vary (plain Xavier: 2.8 and 24); the gate's are sharp."""
    draws, factor = (4, 1.05) if placement == "rezero" else (40, 1.3)
    found = squares_of_singular_values(setting, placement, draws, **given)
    assert published / factor < found < published * factor


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
