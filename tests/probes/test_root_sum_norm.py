"""A layer norm whose σ is (1/d) times the root of the sum: its variance is the width, as a hand-made norm shows."""

import pytest
import torch

from lnlab.probes.norm_jacobian import norm_modules
from lnlab.probes.root_sum_norm import root_sum_norm, variances


@pytest.mark.parametrize("width", [2, 7, 512])
def test_the_variance_of_a_token_is_its_width(width):
    x = 3 * torch.randn(5, width, dtype=torch.float64, generator=torch.Generator().manual_seed(width)) + 1
    assert variances(x).tolist() == pytest.approx([width] * 5, rel=1e-12)


def test_it_is_what_the_formula_gives_number_by_number_without_constant_tokens():
    token = [1.0, 2.0, 4.0, 9.0]
    mean = sum(token) / 4
    sigma = sum((a - mean) ** 2 for a in token) ** 0.5 / 4
    normed = [(a - mean) / sigma for a in token]
    expected = sum(y * y for y in normed) / 4 - (sum(normed) / 4) ** 2
    assert variances(torch.tensor([token], dtype=torch.float64)).item() == pytest.approx(expected, rel=1e-12)
    x = torch.tensor([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]], dtype=torch.float64)
    assert variances(x).tolist() == pytest.approx([3.0])


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_every_norm_of_a_model_has_a_row_at_its_scale(state, placement):
    made = state(placement)
    rows = list(root_sum_norm(made, batches=2))
    assert len(rows) == len(norm_modules(made.model))
    assert {row["tensor"] for row in rows} == {"scale"}
    assert [row["value"] for row in rows] == pytest.approx([1.0] * len(rows), rel=1e-12)


def test_a_model_without_norms_has_no_row(state):
    assert list(root_sum_norm(state("rezero"))) == []
