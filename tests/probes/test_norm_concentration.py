"""The share of tokens far above the mean, against the chi-squared distribution and by brute force."""

import math

import pytest
import torch
from scipy import stats

from lnlab.nn.sites import Site, activations
from lnlab.probes.norm_concentration import excess_share, norm_concentration


@pytest.mark.parametrize("width", [64, 128, 512])
def test_of_independent_normal_coordinates_it_is_the_tail_of_chi_squared(width):
    x = torch.randn(20_000, width, generator=torch.Generator().manual_seed(1))
    expected = stats.chi2.sf(width * (1 + 0.1 * math.sqrt(512 / width)), width)
    assert excess_share(x.double().square().sum(-1), width, 0.1) == pytest.approx(expected, abs=0.005)


def test_values_are_shares_of_the_tokens_of_all_batches(state, values):
    made = state("pre")
    rows = values(norm_concentration(made, batches=2, epsilon=0.02), "norm_excess_share")
    squares = []
    for batch in made.batches(2):
        with activations(made.model) as seen, torch.no_grad():
            made.model(batch)
        x = seen[Site("decoder", 2, "feed_forward", "sum")]
        squares += [x[b, t].double().square().sum().item() for b, t in (batch.target_in != 0).nonzero().tolist()]
    edge = (1 + 0.02 * math.sqrt(512 / 16)) * sum(squares) / len(squares)
    expected = sum(z > edge for z in squares) / len(squares)
    assert 0.05 < expected < 0.5
    assert rows["decoder", 2, "feed_forward", "sum"] == pytest.approx(expected)


def test_what_a_norm_gives_on_is_never_far_above_its_mean(state, values):
    found = values(norm_concentration(state("post")), "norm_excess_share")
    assert {value for site, value in found.items() if site[3] == "out" and site[1]} == {0.0}


def test_it_is_not_a_number_where_the_mean_is_not_finite():
    assert math.isnan(excess_share(torch.tensor([1.0, math.nan]), 4, 0.1))
    assert math.isnan(excess_share(torch.tensor([1.0, math.inf]), 4, 0.1))
