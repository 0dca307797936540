"""Products against another library's, where it is installed: the extra ``peers``."""

import warnings

import pytest
import torch
from torch import nn

from lnlab.curvature.guards import twice_differentiable
from lnlab.curvature.hessian import hessian


class Logits(nn.Module):
    """From a mapping of tokens to a row of logits a position."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, given):
        return self.model(type("Pairs", (), dict(given))).flatten(0, 1)


def both(state):
    """Our product of a random vector with the Hessian, and theirs."""
    peer = pytest.importorskip("curvlinops", reason="needs the extra 'peers': curvlinops is not installed")
    batches = state.batches(2)
    ours = hessian(state.model, state.task.nll, batches, keep=True)
    model = Logits(state.model.eval())
    data = [({"source": b.source, "target_in": b.target_in}, b.target_out.flatten()) for b in batches]
    v = torch.randn(ours.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with warnings.catch_warnings(), twice_differentiable():
        warnings.simplefilter("ignore")
        operator = peer.HessianLinearOperator(
            model,
            nn.CrossEntropyLoss(ignore_index=0, reduction="sum"),
            list(model.parameters()),
            data,
            batch_size_fn=lambda given: len(given["source"]),
            check_deterministic=False,
        )
        theirs = (operator @ v).detach() / ours.count
    return ours.matvec(v), theirs


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_its_products_are_ours(tiny, placement):
    expected, theirs = both(tiny("encoder_decoder", placement, norm="rms"))
    assert (theirs - expected).abs().max() <= 1e-6 * expected.abs().max()


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_with_layer_norm_they_are_but_for_its_scales(tiny, placement):
    """It takes the jvp of a jacrev, which torch 2.13 has wrong for the scale of a LayerNorm; of a grad it is right."""
    state = tiny("encoder_decoder", placement)
    expected, theirs = both(state)
    norms = {id(m.weight) for m in state.model.modules() if isinstance(m, nn.LayerNorm)}
    scale = torch.cat([torch.full((p.numel(),), id(p) in norms) for p in state.model.parameters()])
    away = (theirs - expected).abs() / expected.abs().max()
    assert away[~scale].max() <= 1e-6
    assert 0 < scale.sum() < len(scale) / 10
