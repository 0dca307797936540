"""ScaleNorm against its formula."""

import math

import torch

from lnlab.nn.scale_norm import ScaleNorm


def test_every_vector_gets_the_learned_length_at_first_that_of_rms_norm(setting, build):
    x = torch.randn(5, 7, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3 + 1
    norm = ScaleNorm(16).double()
    assert norm.gain.item() == math.sqrt(16)
    with torch.no_grad():
        norm.gain.fill_(2.5)
    y = norm(x)
    torch.testing.assert_close(y.norm(dim=-1), torch.full((5, 7), 2.5, dtype=torch.float64))
    torch.testing.assert_close(torch.cosine_similarity(y, x, dim=-1), torch.ones(5, 7, dtype=torch.float64))
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(ScaleNorm(16)(x), torch.nn.RMSNorm(16, eps=0.0)(x))
    x = torch.zeros(1, 4, requires_grad=True)
    y = ScaleNorm(4)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert not y.any()
    assert gradient.isfinite().all()
    model = build(setting("pre", norm="scale"))
    assert model.encoder.final_norm.gain.item() == 4.0
