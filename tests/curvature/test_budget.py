"""A budget of products against known spectra: unbiased moments, honest intervals, ends and counts."""

import math

import pytest
import torch
from torch import Generator

from lnlab.curvature.budget import budget_spectrum
from lnlab.curvature.estimates import squared_frobenius, trace
from lnlab.curvature.guards import CurvatureError
from lnlab.curvature.spectrum import spectrum

torch.set_num_threads(1)


class Diagonal:
    """The matrix with these eigenvalues; starts are rotation-invariant, so that a diagonal one stands for all."""

    device = torch.device("cpu")

    def __init__(self, values):
        self.values = torch.as_tensor(values, dtype=torch.float64)
        self.size = len(self.values)
        self.products = 0

    def matvec(self, block):
        self.products += block.numel() // self.size
        return block * self.values


def outliers_and_bulk(n=500):
    """As of a Transformer at initialization: a few outliers of both signs, and a bulk that falls over five decades."""
    bulk = torch.logspace(-4, 0.5, n - 8, dtype=torch.float64) * torch.tensor([1.0, -0.4]).repeat(n)[: n - 8]
    return torch.cat([torch.tensor([40.0, 22.0, 15.0, 9.0, 6.0, -5.0, -8.0, -12.0], dtype=torch.float64), bulk])


def seeded(seed):
    return lambda number: Generator().manual_seed(1_000_003 * seed + number)


def test_no_more_products_than_the_budget_and_as_many_with_less_memory():
    for products in (6, 30, 61, 200):
        matrix = Diagonal(outliers_and_bulk())
        assert budget_spectrum(matrix, seeded(0), products=products).products == matrix.products == products
    matrix = Diagonal(outliers_and_bulk())
    run = budget_spectrum(matrix, seeded(0), products=120, vectors=20)
    assert len(run.density.nodes) == 20
    assert len(run.traces) == 100


def test_trace_and_norm_are_unbiased_and_their_intervals_honest():
    matrix = Diagonal(outliers_and_bulk())
    truth = {"trace": float(matrix.values.sum()), "squared_norm": float(matrix.values.square().sum())}
    runs = [budget_spectrum(matrix, seeded(seed), products=60) for seed in range(400)]
    for name, value in truth.items():
        found = torch.tensor([getattr(run, name).value for run in runs])
        assert abs(float(found.mean()) - value) < 4 * float(found.std()) / math.sqrt(len(runs))
        covered = [low <= value <= high for low, high in (getattr(run, name).interval() for run in runs)]
        assert sum(covered) / len(runs) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(runs))


def test_a_draw_is_two_nodes_with_its_moments_and_a_budget_of_all_rows_is_exact():
    matrix = Diagonal(outliers_and_bulk())
    found = budget_spectrum(matrix, seeded(0), products=60)
    assert len(found.draws()) == len(found.traces) > 2
    for draw, t, f in zip(found.draws(), found.traces, found.squared_norms, strict=True):
        assert {len(part) for part in vars(draw).values()} == {2}
        assert found.size * draw.weights @ draw.nodes == pytest.approx(float(t))
        assert found.size * draw.weights @ draw.nodes**2 == pytest.approx(float(f))
        assert float(draw.weights.sum()) == pytest.approx(1)
    values = outliers_and_bulk(100)
    run = budget_spectrum(Diagonal(values), seeded(0), products=100)
    assert (run.trace.error, run.squared_norm.error) == (0, 0)
    assert run.density.nodes.tolist() == pytest.approx(values.sort().values.tolist(), abs=1e-12)
    run = budget_spectrum(Diagonal(outliers_and_bulk()), seeded(5), products=60)
    for measure, t, f in zip(run.draws(), run.traces.tolist(), run.squared_norms.tolist(), strict=True):
        assert run.size * measure.moment(0) == pytest.approx(run.size)
        assert run.size * measure.moment(1) == pytest.approx(t, rel=1e-9, abs=1e-9)
        assert run.size * measure.moment(2) == pytest.approx(f, rel=1e-12)


@pytest.mark.nightly
def test_a_twentieth_of_the_products_gives_what_ten_draws_of_ninety_steps_do():
    matrix = Diagonal(outliers_and_bulk(2_500))
    exact_trace, exact_square = float(matrix.values.sum()), float(matrix.values.square().sum())
    before, after = [], []
    for seed in range(12):
        draws = spectrum(matrix, [seeded(seed)(10 + k) for k in range(10)], steps=90)
        before.append((trace(draws).value - exact_trace, squared_frobenius(draws).value - exact_square))
        run = budget_spectrum(matrix, seeded(seed), products=50)
        after.append((run.trace.value - exact_trace, run.squared_norm.value - exact_square))
    old, new = (torch.tensor(errors).square().mean(0).sqrt() for errors in (before, after))
    assert bool((new < old).all()), (old, new)


@pytest.mark.parametrize("products", [120, 240])
def test_outliers_have_an_atom_each(products):
    matrix = Diagonal(outliers_and_bulk(2_500))
    density = budget_spectrum(matrix, seeded(3), products=products).density
    assert float(density.weights.sum()) == pytest.approx(1, abs=1e-12)
    beyond = density.nodes.abs() > 5.5
    assert density.weights[beyond].tolist() == pytest.approx([1 / 2_500] * 7, rel=1e-9)
    truth = matrix.values[matrix.values.abs() > 5.5].sort().values
    assert density.nodes[beyond].tolist() == pytest.approx(truth.tolist(), rel=1e-8)
    assert float(density.residuals[beyond].max()) < 1e-3


def test_an_eigenvalue_lies_within_the_residual_of_every_node():
    matrix = Diagonal(outliers_and_bulk())
    for seed in range(10):
        density = budget_spectrum(matrix, seeded(seed), products=45).density
        distances = (density.nodes[:, None] - matrix.values[None]).abs().min(1).values
        assert bool((distances <= density.residuals + 1e-9).all())


@pytest.mark.nightly
@pytest.mark.parametrize(
    "values",
    [
        torch.ones(300, dtype=torch.float64),
        torch.cat([torch.full((40,), 7.0), torch.zeros(260)]).double(),
        torch.cat([torch.full((3,), 5.0), torch.full((3,), -5.0), torch.linspace(-1, 1, 294)]).double(),
        torch.zeros(300, dtype=torch.float64),
        torch.linspace(-1, 1, 300).double(),
    ],
    ids=["identity", "low rank", "threefold ends", "nothing", "flat"],
)
def test_multiple_and_flat_spectra_stay_unbiased(values):
    matrix = Diagonal(values)
    runs = [budget_spectrum(matrix, seeded(seed), products=60) for seed in range(100)]
    for name, truth in (("trace", float(values.sum())), ("squared_norm", float(values.square().sum()))):
        found = torch.tensor([getattr(run, name).value for run in runs])
        assert abs(float(found.mean()) - truth) <= 4 * float(found.std()) / 10 + 1e-9 * max(1.0, abs(truth))


def test_both_runs_stay_orthogonal_where_ends_have_converged():
    values = torch.cat([torch.tensor([1e4, -1e4, 3e3]), torch.linspace(-1e-3, 1e-3, 997)]).double()
    run = budget_spectrum(Diagonal(values), seeded(1), products=150)
    assert run.orthogonality_loss < 1e-12
    assert float((run.density.nodes.abs() > 1).sum()) == 3


def test_draws_end_at_the_error_that_is_asked_for():
    matrix = Diagonal(outliers_and_bulk(2_500))
    norm = float(matrix.values.square().sum()) ** 0.5
    rough = budget_spectrum(matrix, seeded(2), products=2_000, relative_error=0.2)
    fine = budget_spectrum(matrix, seeded(2), products=2_000, relative_error=0.02)
    assert rough.products < fine.products < 2_000
    for run, error in ((rough, 0.2), (fine, 0.02)):
        low, high = run.trace.interval()
        assert (high - low) / 2 <= error * max(abs(run.trace.value), norm) * 1.01
    assert budget_spectrum(matrix, seeded(2), products=100, relative_error=1e-6).products == 100


def test_what_is_not_finite_is_refused():
    matrix = Diagonal(torch.full((50,), math.nan))
    with pytest.raises(CurvatureError, match="not finite"):
        budget_spectrum(matrix, seeded(0), products=12)
    with pytest.raises(ValueError, match="at least 6"):
        budget_spectrum(Diagonal(outliers_and_bulk()), seeded(0), products=5)
