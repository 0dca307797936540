"""No token is longer than allowed, shorter ones are as they were, and the gradient is that of the formula."""

import math

import torch

from lnlab.interventions.clamp import clamped
from lnlab.nn.sites import activations

WHERE = {"stack": "decoder", "sublayer": "feed_forward", "tensor": "branch"}


def test_no_token_is_longer_than_m_root_d_and_shorter_ones_keep_every_bit(model, intervene, batch):
    made = model("pre")

    def branches():
        with activations(made) as seen:
            made(batch)
        return torch.stack([x for s, x in seen.items() if (s.stack, s.sublayer, s.tensor) == tuple(WHERE.values())])

    before = branches()[:1].detach()  # of the first layer, whose input no clamp has changed
    norms = before.norm(dim=-1)
    most = norms.median().item() / math.sqrt(16)
    with intervene("clamp", made, where=WHERE, most=most):
        after = branches()
    assert after.norm(dim=-1).max().item() <= most * 4 * (1 + 1e-12)
    short = norms <= most * 4
    assert 0 < short.sum() < short.numel()
    assert torch.equal(after[:1][short], before[short])
    along = torch.nn.functional.cosine_similarity(after[:1][~short], before[~short], dim=-1)
    torch.testing.assert_close(along, torch.ones_like(along))


def test_the_derivative_is_that_of_the_formula_also_of_a_token_of_zeros():
    x = torch.randn(2, 3, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    assert 0 < (x.norm(dim=-1) > 0.9 * math.sqrt(8)).sum() < 6
    assert torch.autograd.gradcheck(lambda x: clamped(x, 0.9), x)
    assert torch.autograd.gradgradcheck(lambda x: clamped(x, 0.9), x)
    x = torch.zeros(1, 1, 4, requires_grad=True)
    clamped(x, 1.0).sum().backward()
    assert torch.equal(x.grad, torch.ones(1, 1, 4))
