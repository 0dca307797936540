"""Products against another library's, where it is installed: the extra ``peers``."""

import warnings

import pytest
import torch
from torch import nn

from lnlab.curvature.guards import differentiable
from lnlab.curvature.hessian import hessian


class Logits(nn.Module):
    """From a mapping of tokens to a row of logits a position."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, given):
        return self.model(type("Pairs", (), dict(given))).flatten(0, 1)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_its_products_are_ours(tiny, placement):
    peer = pytest.importorskip("curvlinops", reason="the extra 'peers' is not installed")
    state = tiny("encoder_decoder", placement)
    batches = state.batches(2)
    ours = hessian(state.model, state.task.nll, batches, keep=True)
    model = Logits(state.model.eval())
    data = [({"source": b.source, "target_in": b.target_in}, b.target_out.flatten()) for b in batches]
    v = torch.randn(ours.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with warnings.catch_warnings(), differentiable():
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
    expected = ours.matvec(v)
    assert (theirs - expected).abs().max() <= 1e-6 * expected.abs().max()
