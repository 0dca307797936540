"""The largest eigenvalue of known matrices, and Adam's P at rest."""

import pytest
import torch

from lnlab.curvature.preconditioned import Preconditioned, adam_diagonal, settled_diagonal
from lnlab.curvature.sharpness import lanczos_sharpness
from tests.curvature.matrices import Matrix, generators, rotated

NOISE = torch.randn(300, generator=torch.Generator().manual_seed(4)).double()
SPECTRA = {
    "an outlier": torch.cat([NOISE, torch.tensor([40.0])]),
    "two ends": torch.cat([NOISE, torch.tensor([44.9, -39.8])]),
    "a cluster": torch.cat([0.1 * NOISE, torch.tensor([7.0, 7.0, 6.99, 6.98])]),
    "nothing positive": -1 - NOISE.square(),
    "low rank": torch.cat([torch.zeros(298), torch.tensor([3.0, 2.0, -5.0])]),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_the_largest_eigenvalue_is_found_to_the_tolerance(name):
    values = SPECTRA[name]
    found = lanczos_sharpness(Matrix(rotated(values)), *generators(1), steps=300, tolerance=1e-3)
    largest = values.max().item()
    assert found.value == pytest.approx(largest, rel=2e-3)
    assert found.value <= largest + 1e-9
    assert (values - found.value).abs().min() <= found.residual + 1e-9
    assert found.residual <= 1e-3 * abs(found.value)


def test_it_ends_as_soon_as_nothing_moves_and_too_few_steps_are_told():
    """Each sharper tolerance takes more products, and keeps its promise."""
    values = SPECTRA["an outlier"]
    found = [lanczos_sharpness(Matrix(rotated(values)), *generators(1), tolerance=t) for t in (1e-1, 1e-4, 1e-8)]
    assert 6 <= found[0].steps < found[1].steps < found[2].steps < 40
    assert found[2].value == pytest.approx(40, rel=1e-8)
    values = torch.linspace(-1, 1, 400, dtype=torch.float64)
    found = lanczos_sharpness(Matrix(rotated(values)), *generators(1), steps=7, tolerance=1e-6)
    assert found.steps == 7
    assert found.value < 0.995
    assert found.residual > 1e-3
    assert (values - found.value).abs().min() <= found.residual
    assert lanczos_sharpness(
        Matrix(torch.tensor([[-2.5]], dtype=torch.float64)), *generators(1)
    ).value == pytest.approx(-2.5)


def test_p_at_rest_is_the_root_of_the_mean_square_and_adams_where_the_gradient_does_not_change():
    g = torch.tensor([[3.0, 0.0], [-4.0, 0.0]])
    assert settled_diagonal(g, 0.5).tolist() == [12.5**0.5 + 0.5, 0]
    with pytest.raises(ValueError, match="found no gradient"):
        settled_diagonal([], 0.5)
    # v without its bias is g² after any number of updates with one gradient.
    p = torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))
    adam, g = torch.optim.Adam([p], lr=0.1, eps=1e-3), torch.tensor([2.0, -0.5, 0.0, 1e-3], dtype=torch.float64)
    for _ in range(7):
        p.grad = g.clone()
        adam.step()
    torch.testing.assert_close(settled_diagonal([g], 1e-3), adam_diagonal(adam, [p]), rtol=1e-12, atol=0)
    assert settled_diagonal([g], 1e-3)[2] == 0


def test_adams_coordinates_change_the_sharpness_as_they_change_the_matrix():
    matrix, diagonal = rotated(SPECTRA["two ends"]), 0.1 + NOISE.new_tensor(range(302)) / 100
    factor = diagonal.rsqrt()
    true = torch.linalg.eigvalsh(factor[:, None] * matrix * factor).max().item()
    found = lanczos_sharpness(Preconditioned(Matrix(matrix), diagonal), *generators(1), tolerance=1e-5)
    assert found.value == pytest.approx(true, rel=1e-5)
