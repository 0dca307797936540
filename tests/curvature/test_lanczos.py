"""Lanczos against matrices whose eigenvalues are known: exactness, ghosts, invariant spaces, and the three terms."""

import pytest
import torch

from lnlab.curvature.lanczos import lanczos
from lnlab.curvature.quadrature import gauss
from lnlab.curvature.starts import start
from tests.curvature.matrices import Matrix, generators, rotated

CLUSTERED = torch.cat([1 + 1e-6 * torch.arange(30.0).double(), torch.tensor([5.0, 5.0001, 40.0]).double()])
INDEFINITE = torch.linspace(-3, 2, 41, dtype=torch.float64)
LOW_RANK = torch.cat([torch.zeros(56, dtype=torch.float64), torch.tensor([-2.0, 1.0, 3.0, 7.0]).double()])
GAPPED = torch.cat([torch.linspace(0, 1, 200, dtype=torch.float64), torch.tensor([30.0, 100.0]).double()])


def starts(size: int, number: int = 1):
    return torch.stack([start(size, g) for g in generators(number)])


@pytest.mark.parametrize("values", [CLUSTERED, INDEFINITE, LOW_RANK], ids=["clustered", "indefinite", "low_rank"])
def test_both_ends_are_right_and_lie_within_their_residuals(values):
    matrix = rotated(values)
    (run,) = lanczos(Matrix(matrix).matvec, starts(len(values)), len(values))
    found = gauss(run)
    for end, true in ((0, values.min()), (-1, values.max())):
        assert found.nodes[end].item() == pytest.approx(true.item(), abs=1e-9)
    distance = (found.nodes[:, None] - values[None, :]).abs().min(1).values
    assert (distance <= found.residuals + 1e-12).all()


def test_after_n_steps_it_is_exact_and_an_invariant_space_ends_a_run():
    matrix = rotated(INDEFINITE)
    (run,) = lanczos(Matrix(matrix).matvec, starts(41), 100)
    found = gauss(run)
    values, vectors = torch.linalg.eigh(matrix)
    torch.testing.assert_close(found.nodes, values, rtol=0, atol=1e-12)
    torch.testing.assert_close(found.weights, (vectors.T @ starts(41)[0]).square(), rtol=1e-9, atol=1e-13)
    # Four eigenvalues and the kernel: five steps say all, whatever is asked for.
    (run,) = lanczos(Matrix(rotated(LOW_RANK)).matvec, starts(60), 50)
    assert gauss(run).nodes.tolist() == pytest.approx([-2, 0, 1, 3, 7], abs=1e-12)


def test_the_basis_is_orthonormal_satisfies_the_three_terms_and_a_residual_is_what_is_said():
    matrix = rotated(GAPPED)
    (run,) = lanczos(Matrix(matrix).matvec, starts(202), 80, basis=True)
    q, t = run.basis, run.matrix()
    torch.testing.assert_close(q @ q.T, torch.eye(80, dtype=torch.float64), rtol=0, atol=1e-14)
    assert run.orthogonality_loss < 1e-14
    rest = matrix @ q.T - q.T @ t
    assert rest[:, :-1].norm() < 1e-12
    assert rest[:, -1].norm().item() == pytest.approx(run.betas[-1].item(), rel=1e-9)
    matrix = rotated(GAPPED)
    (run,) = lanczos(Matrix(matrix).matvec, starts(202), 12, basis=True)
    found = gauss(run)
    _, s = torch.linalg.eigh(run.matrix())
    y = run.basis.T @ s
    said = (matrix @ y - y * found.nodes).norm(dim=0)
    assert said.max() > 1e-3
    torch.testing.assert_close(found.residuals, said, rtol=1e-6, atol=1e-10)


def test_ghosts_are_in_papyans_variant_and_nowhere_else():
    """Copies of 100 share one weight, so that moments agree to the last digits and counts do not."""
    matrix, given = rotated(GAPPED), starts(202)
    (kept,) = lanczos(Matrix(matrix).matvec, given, 90)
    (papyan,) = lanczos(Matrix(matrix).matvec, given, 90, reorthogonalize=False)
    counts = [int(((gauss(run).nodes - 100).abs() < 1e-3).sum()) for run in (kept, papyan)]
    assert counts[0] == 1
    assert counts[1] > 3
    assert papyan.orthogonality_loss is None
    for power in (1, 2, 3):
        assert gauss(papyan).moment(power) == pytest.approx(gauss(kept).moment(power), rel=1e-10)
    near = (gauss(papyan).nodes - 100).abs() < 1e-3
    assert gauss(papyan).weights[near].sum() == pytest.approx(gauss(kept).weights[-1].item(), rel=1e-6)


def test_runs_that_share_passes_are_those_that_do_not_also_where_one_ends_early():
    matrix = rotated(GAPPED)
    given, together = starts(202, 3), Matrix(matrix)
    block = lanczos(together.matvec, given, 20)
    assert together.passes == 20
    for run, alone in zip(block, given, strict=True):
        (single,) = lanczos(Matrix(matrix).matvec, alone[None], 20)
        torch.testing.assert_close(run.alphas, single.alphas, rtol=1e-8, atol=1e-10)
    matrix = torch.diag(torch.arange(1.0, 31.0).double())
    short = torch.zeros(30, dtype=torch.float64)
    short[[2, 7]] = 1.0
    runs = lanczos(Matrix(matrix).matvec, torch.stack([short, torch.ones(30).double()]), 10)
    assert [len(run.alphas) for run in runs] == [2, 10]
    assert gauss(runs[0]).nodes.tolist() == pytest.approx([3, 8])


def test_float32_products_have_float64_recurrences():
    matrix = rotated(INDEFINITE)
    (run,) = lanczos(lambda block: block.float() @ matrix.float(), starts(41), 41)
    assert run.alphas.dtype == torch.float64
    assert run.orthogonality_loss < 1e-12
    assert gauss(run).nodes[-1].item() == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize("given", [torch.zeros(1, 5), torch.full((1, 5), torch.inf)])
def test_starts_without_a_direction_are_refused(given):
    with pytest.raises(ValueError, match="start vector"):
        lanczos(lambda block: block, given, 3)


def test_products_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        lanczos(lambda block: block / 0, torch.ones(1, 5), 3)
    with pytest.raises(ValueError, match="found steps=0"):
        lanczos(lambda block: block, torch.ones(1, 5), 0)


def test_vectors_stay_orthogonal_where_next_to_nothing_is_left_of_a_product():
    """Of an almost invariant space one pass leaves what cancels: 1e-9 here, of a product rounded as float32 rounds."""
    nearly = rotated(LOW_RANK + 1e-9 * torch.linspace(0, 1, 60, dtype=torch.float64))
    (given,) = starts(60).double()
    other = torch.randn(60, generator=generators(1, seed=2)[0], dtype=torch.float64)
    rounded = nearly + 1e-6 * torch.outer(other, given / given.norm())
    (run,) = lanczos(Matrix(rounded).matvec, [given], 12, basis=True)
    assert run.betas.min() < 1e-9
    assert run.orthogonality_loss < 1e-14
