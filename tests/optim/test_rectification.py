"""rho_t and r_t: the table of the paper's algorithm, and what torch's RAdam does to a parameter."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lnlab.rectification import rectification
from tests.optim.quadratic import made

BETAS = (0.98, 0.99, 0.995, 0.999, 0.9995)
FACTORS = {
    0.999: {5: 0.0173, 6: 0.0258, 10: 0.0490, 100: 0.2153, 500: 0.4765, 1000: 0.6453, 4000: 0.9619},
    0.98: {6: 0.1155, 10: 0.2197, 50: 0.6212, 100: 0.8197, 500: 0.9998},
}


def test_the_length_of_the_mean_at_the_first_updates_and_the_time_scale_are_those_of_beta2():
    expected = [1.0, 1.999, 2.999, 3.997, 4.996, 5.994, 6.992, 7.989]
    assert [rectification(t, 0.999).rho_t for t in range(1, 9)] == pytest.approx(expected, abs=6e-4)
    assert rectification(1, 0.999).rho_inf == pytest.approx(1999)
    assert rectification(10**5, 0.999).rho_t == pytest.approx(1999)
    for beta2, when in ((0.98, 140), (0.999, 2737), (0.9995, 5470)):
        assert rectification(when - 1, beta2).r_t < 0.9 < rectification(when + 1, beta2).r_t


@pytest.mark.parametrize("beta2", BETAS)
def test_the_first_rectified_update_is_the_fifth_of_the_paper_and_the_sixth_of_both_codes(beta2):
    lengths = {t: rectification(t, beta2).rho_t for t in range(1, 20)}
    assert min(t for t, rho in lengths.items() if rho > 4) == 5
    assert min(t for t, rho in lengths.items() if rho >= 5) == min(t for t, rho in lengths.items() if rho > 5) == 6


@pytest.mark.parametrize("beta2", FACTORS)
def test_the_factor_at_some_updates(beta2):
    for t, expected in FACTORS[beta2].items():
        assert rectification(t, beta2).r_t == pytest.approx(expected, abs=6e-5)


@given(st.integers(1, 10**6), st.floats(0, 0.99999))
def test_the_factor_is_there_above_four_gradients_and_rises_to_one(t, beta2):
    now, later = rectification(t, beta2), rectification(t + 1, beta2)
    assert (now.r_t is None) is (now.rho_t <= 4)
    assert now.rho_t <= later.rho_t + 1e-6 * now.rho_inf
    if now.r_t is not None:
        assert 0 < now.r_t <= 1 + 1e-12
        assert later.r_t > now.r_t - 1e-9


def steps_of_torch(beta2: float, slopes: list[float]) -> list[float]:
    """By how much RAdam moves a number at rate 1, in float64; eps is as good as nothing."""
    p = nn.Parameter(torch.zeros((), dtype=torch.float64))
    optimizer, moved = made("radam", [p], lr=1.0, beta2=beta2, eps=1e-300), []
    for slope in slopes:
        before, p.grad = p.item(), torch.tensor(slope, dtype=torch.float64)
        optimizer.step()
        moved.append(before - p.item())
    return moved


@pytest.mark.parametrize("beta2", BETAS)
def test_torch_steps_by_the_gradient_while_rho_is_at_most_five_and_by_r_t_after(beta2):
    """Under a constant gradient of 3, m̂ is 3 and m̂ / sqrt(v̂) is 1."""
    found = steps_of_torch(beta2, [3.0] * 1000)
    expected = [s.r_t if s.rho_t > 5 else 3.0 for s in (rectification(t, beta2) for t in range(1, 1001))]
    assert found == pytest.approx(expected, rel=1e-9)
    assert found[:6] == pytest.approx([3.0] * 5 + [expected[5]])
    assert found[5] < 0.12
