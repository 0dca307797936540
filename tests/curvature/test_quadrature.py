"""Quadratures: weights, the degree of exactness, the distance of measures, and when nothing moves any more."""

import pytest
import scipy.stats
import torch

from lnlab.curvature.lanczos import lanczos
from lnlab.curvature.quadrature import Quadrature, gauss, mean_quadrature, measure_converged, wasserstein_distance
from lnlab.curvature.starts import start
from tests.curvature.matrices import Matrix, generators, rotated

VALUES = torch.cat([torch.randn(120, generator=torch.Generator().manual_seed(2)).double(), torch.tensor([9.0, -6.0])])


ONE_INSIDE_THE_OTHER = [([0.0, 2.0], [0.5, 0.5], [0.125, 0.25]), ([1.0, 3.0], [0.25, 0.75], [0.375, 0.5])]
"""Nodes, weights and residuals of two measures."""


def run(steps, *, seed=0, until=None, reorthogonalize=True):
    given = start(122, *generators(1, seed))[None]
    return lanczos(Matrix(rotated(VALUES)).matvec, given, steps, until=until, reorthogonalize=reorthogonalize)[0]


def measure(nodes, weights):
    nodes, weights = (torch.tensor(x, dtype=torch.float64) for x in (nodes, weights))
    return Quadrature(nodes, weights, torch.zeros_like(nodes))


@pytest.mark.parametrize("reorthogonalize", [True, False])
@pytest.mark.parametrize("steps", [1, 7, 90])
def test_weights_sum_to_one(steps, reorthogonalize):
    found = gauss(run(steps, reorthogonalize=reorthogonalize))
    assert abs(found.weights.sum().item() - 1) < 1e-12
    assert (found.nodes.diff() >= 0).all()


def test_powers_up_to_2m_minus_1_are_exact_and_the_next_is_not():
    v, matrix = start(122, *generators(1)), rotated(VALUES)
    found = gauss(run(6))
    for power in range(12):
        true = v @ torch.linalg.matrix_power(matrix, power) @ v
        assert found.moment(power) == pytest.approx(true.item(), rel=1e-10, abs=1e-10)
    assert found.moment(12) != pytest.approx((v @ torch.linalg.matrix_power(matrix, 12) @ v).item(), rel=1e-8)


def test_what_it_was_after_some_steps_is_what_it_would_have_been():
    early, late = gauss(run(10)), gauss(run(30), 10)
    for part in ("nodes", "weights", "residuals"):
        torch.testing.assert_close(getattr(late, part), getattr(early, part), rtol=1e-8, atol=1e-10)


def test_the_distance_is_scipys():
    one, other = gauss(run(12)), gauss(run(20, seed=1))
    by_scipy = scipy.stats.wasserstein_distance(one.nodes, other.nodes, one.weights, other.weights)
    assert wasserstein_distance(one, other) == pytest.approx(by_scipy, rel=1e-10)
    assert wasserstein_distance(one, one) < 1e-14
    assert wasserstein_distance(measure([0.0], [1.0]), measure([1.0, 3.0], [0.5, 0.5])) == 2.0


def test_the_mean_of_measures_is_a_measure_whose_nodes_keep_their_residuals():
    parts = [gauss(run(9, seed=s)) for s in range(3)]
    found = mean_quadrature(parts)
    assert found.weights.sum().item() == pytest.approx(1, abs=1e-12)
    assert found.moment(2) == pytest.approx(sum(q.moment(2) for q in parts) / 3)
    assert (found.nodes.diff() >= 0).all()
    one, other = (Quadrature(*map(torch.tensor, part)) for part in ONE_INSIDE_THE_OTHER)
    found = mean_quadrature([one, other])
    assert found.nodes.tolist() == [0, 1, 2, 3]
    assert found.weights.tolist() == [0.25, 0.125, 0.25, 0.375]
    assert found.residuals.tolist() == [0.125, 0.375, 0.25, 0.5]


def test_a_run_goes_on_while_one_end_does_not_stand():
    """Its start has next to nothing of the lowest eigenvector: the measure stands before that end does."""
    given = start(122, *generators(1))
    given[-1] *= 1e-4
    given = (given / given.norm())[None]
    found = gauss(lanczos(Matrix(torch.diag(VALUES)).matvec, given, 122, until=measure_converged(0.03))[0])
    assert max(found.residuals[0], found.residuals[-1]) <= 0.03 * 15.1
    assert found.nodes[[0, -1]].tolist() == pytest.approx([-6, 9], abs=0.03 * 15)


@pytest.mark.parametrize("tolerance", [3e-2, 1e-2, 3e-3])
def test_it_ends_at_the_first_comparison_that_shows_it(tolerance):
    """Of the comparisons every five steps, by the range and the distances of the runs themselves."""
    whole = run(122)
    range_ = 9.0 + 6.0

    def shows(steps):
        now, before = gauss(whole, steps), gauss(whole, steps - 5)
        moved = scipy.stats.wasserstein_distance(now.nodes, before.nodes, now.weights, before.weights)
        ends = torch.stack([now.nodes[[0, -1]] - end for end in VALUES]).abs().min(0).values
        # A residual bounds the distance to an eigenvalue from above, and so asks for no less.
        assert (ends <= now.residuals[[0, -1]] + 1e-9).all()
        return max(now.residuals[0], now.residuals[-1]) <= tolerance * range_ and moved <= tolerance * range_

    ended = len(run(122, until=measure_converged(tolerance)).alphas)
    assert ended == next(steps for steps in range(10, 122, 5) if shows(steps)) < 122
