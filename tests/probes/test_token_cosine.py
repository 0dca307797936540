"""Cosines and residuals against loops over pairs, and where tokens are all alike or all different."""

import math

import pytest
import torch

from lnlab.nn.sites import Site, activations
from lnlab.probes.token_cosine import cosine_and_residual, token_cosine

SITE = ("encoder", 2, "feed_forward", "branch")


def pairs(x) -> tuple[float, float]:
    """Of one sentence (length, width): the mean cosine, pair by pair, and the residual by its definition."""
    cosines = [
        torch.nn.functional.cosine_similarity(x[i], x[j], dim=0).item()
        for i in range(len(x))
        for j in range(len(x))
        if i != j
    ]
    return sum(cosines) / len(cosines), ((x - x.mean(0)).norm() / x.norm()).item()


def test_values_are_those_of_every_pair_of_every_sentence(state, values):
    """Weighted by tokens over batches of unequal sentences, padding left out."""
    made = state("pre")
    rows = list(token_cosine(made, batches=3))
    found, weights = [], []
    for batch in made.batches(3):
        with activations(made.model) as seen, torch.no_grad():
            made.model(batch)
        for x, tokens in zip(seen[Site(*SITE)].double(), batch.source, strict=True):
            found.append(pairs(x[tokens != 0]))
            weights.append((tokens != 0).sum().item())
    assert len(set(weights)) > 3
    for i, quantity in enumerate(("token_cosine", "rank_one_residual")):
        expected = sum(w * f[i] for w, f in zip(weights, found, strict=True)) / sum(weights)
        assert values(rows, quantity)[SITE] == pytest.approx(expected, rel=1e-9)


def test_tokens_all_alike_or_orthogonal_and_what_is_left_out():
    alone = torch.tensor([[1.0, 2, 3, 4]], dtype=torch.float64)
    x = torch.stack([alone.expand(4, 4) * torch.arange(1, 5)[:, None], torch.eye(4, dtype=torch.float64)])
    cosine, residual, n = cosine_and_residual(x, torch.ones(2, 4, dtype=torch.bool))
    assert cosine.tolist() == pytest.approx([1, 0])
    assert residual.tolist() == pytest.approx([math.sqrt(5 / 30), math.sqrt(3 / 4)])
    assert n.tolist() == [4, 4]
    # For vectors of one length, residual² = (1 - 1/n) (1 - cosine).
    x = torch.nn.functional.normalize(torch.randn(1, 7, 5, generator=torch.Generator().manual_seed(0)).double(), dim=-1)
    cosine, residual, _ = cosine_and_residual(x, torch.ones(1, 7, dtype=torch.bool))
    assert residual.square().item() == pytest.approx(6 / 7 * (1 - cosine.item()))
    assert cosine_and_residual(x[:, :1].expand(1, 7, 5), torch.ones(1, 7, dtype=torch.bool))[1].item() == pytest.approx(
        0, abs=1e-12
    )
    x = torch.ones(3, 3, 2, dtype=torch.float64)
    x[0, 1] = 0
    here = torch.tensor([[True, True, True], [True, False, False], [False, False, False]])
    cosine, residual, n = cosine_and_residual(x, here)
    assert cosine.tolist() == pytest.approx([1, 0, 0])
    assert (residual.tolist(), n.tolist()) == ([0, 0, 0], [2, 0, 0])


def test_branches_of_zeros_have_no_row_and_what_is_not_a_number_is_measured(state, values):
    made = state("pre", norm="none")
    with torch.no_grad():
        made.model.encoder.layers[1].feed_forward.w2.weight.zero_()
    assert SITE not in values(token_cosine(made, batches=1), "token_cosine")
    with torch.no_grad():
        made.model.encoder.layers[1].feed_forward.w2.bias[0] = math.nan
    assert math.isnan(values(token_cosine(made, batches=1), "token_cosine")[SITE])
