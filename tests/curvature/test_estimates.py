"""Traces and moments with their errors, both ends, and when the whole matrix is taken instead."""

import math

import pytest
import torch

from lnlab.curvature.estimates import Estimate, largest, power_trace, smallest, squared_frobenius, trace
from lnlab.curvature.quadrature import measure_converged
from lnlab.curvature.spectrum import spectrum
from lnlab.curvature.starts import start
from tests.curvature.matrices import Matrix, generators, rotated

BULK = torch.cat([torch.linspace(-1, 1, 300, dtype=torch.float64) ** 3, torch.tensor([2.0, 2.5, -1.5]).double()])


def measured(values, draws=12, **given):
    return spectrum(Matrix(rotated(values)), generators(draws), dense_below=0, **({"steps": 30} | given))


@pytest.mark.parametrize("law", ["gaussian", "rademacher"])
def test_trace_and_frobenius_norm_are_right_within_their_errors(law):
    found = measured(BULK, 40, distribution=law)
    for estimate, true in ((trace(found), BULK.sum()), (squared_frobenius(found), BULK.square().sum())):
        assert abs(estimate.value - true.item()) < 3 * estimate.error
        assert estimate.draws == 40
        assert 0 < estimate.error < 5


def test_standard_errors_are_those_of_repeated_experiments():
    """The spread of estimates over 60 experiments, against the mean error that each says of itself."""
    matrix = Matrix(rotated(BULK))
    found = [squared_frobenius(spectrum(matrix, generators(10, s), steps=3, dense_below=0)) for s in range(60)]
    spread = torch.tensor([e.value for e in found]).std().item()
    said = math.sqrt(sum(e.error**2 for e in found) / 60)
    assert spread == pytest.approx(said, rel=0.3)


def coverage(experiments: int) -> list[float]:
    """How often the intervals of tr H, ..., tr H^4 hold the truth, each time for another spectrum."""
    inside = torch.zeros(4)
    for number in range(experiments):
        values = torch.randn(200, generator=torch.Generator().manual_seed(number)).double()
        values *= 1 + values.abs()
        found = spectrum(Matrix(rotated(values, number)), generators(12, number + 1), steps=4, dense_below=0)
        for i in range(4):
            low, high = power_trace(found, i + 1).interval()
            inside[i] += low <= (values ** (i + 1)).sum().item() <= high
    return (inside[:2] / experiments).tolist()


def test_intervals_cover():
    assert all(0.93 <= share <= 0.97 for share in coverage(300))


@pytest.mark.torture
def test_intervals_cover_in_a_thousand_experiments():
    assert all(0.93 <= share <= 0.97 for share in coverage(1000))


def test_both_ends_are_of_all_draws_which_may_come_in_blocks_or_end_early():
    found = measured(BULK)
    for (end, residual), true in ((largest(found), 2.5), (smallest(found), -1.5)):
        assert abs(end - true) <= max(residual, 1e-9)
    ends = [q.nodes[-1].item() for q in found.quadratures]
    assert largest(found)[0] == max(ends)
    whole, parts = measured(BULK, 5), measured(BULK, 5, block=2)
    for one, two in zip(whole.quadratures, parts.quadratures, strict=True):
        torch.testing.assert_close(one.weights, two.weights, rtol=1e-6, atol=1e-10)
    assert parts.orthogonality_loss < 1e-12
    found = measured(BULK, 2, steps=300, until=measure_converged(1e-2))
    assert all(10 <= len(q.nodes) < 150 for q in found.quadratures)


def test_a_small_matrix_is_diagonalized_a_large_one_and_papyans_variant_are_not():
    found = spectrum(Matrix(rotated(BULK)), [])
    assert found.exact
    torch.testing.assert_close(found.quadratures[0].nodes, BULK.sort().values, rtol=0, atol=1e-12)
    assert trace(found).value == pytest.approx(BULK.sum().item(), abs=1e-10)
    assert trace(found).error == 0
    assert trace(found).interval() == (trace(found).value, trace(found).value)
    assert largest(found)[1] < 1e-12
    matrix = Matrix(rotated(BULK))
    assert not spectrum(matrix, generators(1), dense_below=303).exact
    papyan = spectrum(matrix, generators(1), reorthogonalize=False)
    assert not papyan.exact
    assert papyan.orthogonality_loss is None
    with pytest.raises(ValueError, match="found no generator"):
        spectrum(matrix, [], dense_below=0)


def test_the_rounding_of_products_is_the_residual_of_a_dense_matrix():
    matrix = rotated(BULK)
    rough = Matrix(matrix + 1e-4 * torch.randn(303, 303, generator=torch.Generator().manual_seed(1)).double())
    found = spectrum(rough, [])
    end, residual = largest(found)
    assert 1e-3 < residual < 0.1
    assert abs(end - 2.5) < 2 * residual


def test_an_interval_is_students_of_the_draws_and_one_draw_has_none():
    low, high = Estimate(1.0, 0.5, 4).interval()
    assert (low, high) == pytest.approx((1 - 0.5 * 3.182446, 1 + 0.5 * 3.182446), rel=1e-6)
    found = trace(measured(BULK, 1))
    assert math.isnan(found.error)
    assert math.isnan(found.interval()[0])


@pytest.mark.parametrize("law", ["gaussian", "rademacher"])
def test_starts_are_unit_addressed_and_spread_over_all_directions(law):
    v = torch.stack([start(7, g, law) for g in generators(4000)])
    assert v.norm(dim=1).sub(1).abs().max() < 1e-14
    torch.testing.assert_close(v.T @ v / 4000, torch.eye(7).double() / 7, rtol=0, atol=0.012)
    assert torch.equal(v[5], start(7, generators(6)[5], law))
