"""The variance of Adam's rate against scipy's distributions, sums written out, and the numbers of RAdam's paper."""

import math

import numpy as np
import pytest
import torch
from scipy.special import beta
from scipy.stats import invgamma

from lnlab.errors import LabError
from lnlab.probes.psi_variance import (
    closed_form,
    first_order,
    log_spaced_steps,
    psi_variance,
    simulated,
    variance_by_sample_size,
)
from lnlab.randomness import Draw


def line(rows, quantity: str, index: int | None = None) -> dict[int, float]:
    """By time."""
    wanted = [row for row in rows if row["quantity"] == quantity and index in (None, row["index"])]
    return {int(row["x"]): row["value"] for row in wanted}


@pytest.mark.parametrize("degrees", [4.5, 5.0, 20.25, 100.0, 500.0])
@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_the_law_is_the_variance_of_the_root_of_a_scaled_inverse_chi_squared(degrees, sigma):
    square = invgamma(degrees / 2, scale=degrees / (2 * sigma**2))
    mean = square.expect(np.sqrt)
    assert closed_form(degrees, sigma) == pytest.approx(square.mean() - mean**2, rel=1e-6)


def test_the_law_is_theorem_1_as_it_is_written_and_falls_to_its_first_order():
    for degrees in (5.0, 12.5, 40.0):
        half = (degrees - 1) / 2
        written = degrees / (degrees - 2) - degrees * 2 ** (2 * degrees - 5) / math.pi * beta(half, half) ** 2
        assert closed_form(degrees) == pytest.approx(written, rel=1e-9)
    every = [closed_form(degrees) for degrees in (4.1, 5, 8, 20, 100, 500, 2000, 20_000)]
    assert every == sorted(every, reverse=True)
    assert closed_form(5) > 100 * closed_form(500)
    assert closed_form(20_000) == pytest.approx(first_order(20_000), rel=1e-3)
    assert first_order(2000, sigma=0.1) == pytest.approx(100 * first_order(2000))


def test_averaged_gradients_and_rectification_have_the_values_of_the_paper(state):
    rows = list(psi_variance(state(), trajectories=10, steps=4000, points=4000))
    worth, factors = line(rows, "averaged_gradients"), line(rows, "rectification")
    first = [1.0, 1.999, 2.999, 3.997, 4.996, 5.994, 6.992, 7.989]
    assert [worth[t] for t in range(1, 9)] == pytest.approx(first, abs=6e-4)
    expected = {5: 0.0173, 6: 0.0258, 10: 0.0490, 100: 0.2153, 500: 0.4765, 4000: 0.9619}
    assert {t: factors[t] for t in expected} == pytest.approx(expected, abs=6e-5)
    assert min(factors) == 5


def test_psi_is_the_sum_as_it_is_written():
    draw, at = Draw(3), [1, 2, 5, 30]
    generator = torch.Generator().manual_seed(draw("psi"))
    g = 0.7 * np.stack([torch.randn(20, generator=generator, dtype=torch.float64).numpy() for _ in range(30)])
    for t, psi in simulated(draw, (0.9, 0.98), 0.7, 20, at):
        for number, b in enumerate((0.9, 0.98)):
            total = sum(b ** (t - i) * g[i - 1] ** 2 for i in range(1, t + 1))
            written = np.sqrt((1 - b**t) / ((1 - b) * total))
            np.testing.assert_allclose(psi[number].numpy(), written, rtol=1e-12)
        at.remove(t)
    assert at == []


def test_of_equally_weighted_gradients_the_law_is_exact_and_a_memory_too_short_has_a_variance_alone(state):
    """With beta2 next to 1 psi squared is t over a chi-squared variable of t degrees."""
    found = dict(simulated(Draw(2), (1 - 1e-7,), 1.0, 40_000, [8, 20]))
    for t, psi in found.items():
        assert psi.var().item() == pytest.approx(closed_form(t), rel=0.06)
    rows = list(psi_variance(state(), beta2=0.5, trajectories=50, steps=20))
    assert {row["quantity"] for row in rows} == {"psi_variance", "psi_variance_of_samples", "averaged_gradients"}


def test_rectified_the_variance_stays_and_plain_it_falls(state):
    """D1.var, with fewer trajectories; and simulation, law and first order agree where each should."""
    rows = list(psi_variance(state(), trajectories=2000, steps=3000, points=40))
    plain, rectified = line(rows, "psi_variance"), line(rows, "rectified_variance")
    late = [value for t, value in rectified.items() if t >= 10]
    assert max(late) < 3 * min(late)
    assert plain[10 if 10 in plain else min(t for t in plain if t > 8)] > 10 * plain[3000]
    assert min(rectified) == min(t for t in plain if t >= 5)
    for t, value in line(rows, "psi_variance_law").items():
        if t >= 10:
            assert plain[t] == pytest.approx(value, rel=0.35), t
    first, r = line(rows, "psi_variance_first_order"), line(rows, "rectification")
    assert first[3000] == pytest.approx(line(rows, "psi_variance_law")[3000], rel=0.01)
    assert list(r.values()) == sorted(r.values())
    assert rectified[3000] == pytest.approx(r[3000] ** 2 * plain[3000])
    constant = [r[t] ** 2 * first[t] for t in first]
    assert constant == pytest.approx([constant[0]] * len(constant), rel=1e-6), "what RAdam's factor is made for"


def test_samples_are_disjoint_and_their_median_is_taken():
    psi = torch.arange(250, dtype=torch.float64).square()
    found = variance_by_sample_size(psi)
    assert list(found) == [250, 25]
    parts = [psi[i : i + 25].numpy().var(ddof=1) for i in range(0, 250, 25)]
    assert found[25] == pytest.approx(sorted(parts)[4])
    assert found[250] == pytest.approx(psi.numpy().var(ddof=1))


def test_several_betas_are_told_apart_by_their_memory_and_see_the_same_gradients(state):
    made, small = state(), {"trajectories": 50, "steps": 40}
    rows = list(psi_variance(made, beta2=(0.98, 0.999), **small))
    assert {row["index"] for row in rows if row["quantity"] == "psi_variance"} == {50, 1000}
    alone = list(psi_variance(made, beta2=0.999, **small))
    assert line(rows, "psi_variance", 1000) == line(alone, "psi_variance")
    assert line(rows, "psi_variance", 50)[1] == pytest.approx(line(alone, "psi_variance")[1])
    other = list(psi_variance(state(seed=2), beta2=0.999, **small))
    assert line(other, "psi_variance") != line(alone, "psi_variance")
    assert line(other, "rectification") == line(alone, "rectification")
    with pytest.raises(LabError, match=r"finds \[1000, 1000\]; leave one"):
        list(psi_variance(made, beta2=(0.999, 0.99900001), **small))


@pytest.mark.parametrize(("steps", "points"), [(1, 5), (6, 60), (6000, 60), (1000, 4)])
def test_times_go_from_the_first_to_the_last(steps, points):
    found = log_spaced_steps(steps, points)
    assert (found[0], found[-1]) == (1, steps)
    assert found == sorted(set(found))
    assert len(found) <= points
    if (steps, points) == (1000, 4):
        assert found == [1, 10, 100, 1000]
