"""Hidden norms against brute force and against the closed laws at initialization."""

import pytest
import torch

from lnlab.nn.sites import Site, activations, weights
from lnlab.probes.hidden_norm import hidden_norm

LAYERS = 4


def averaged(state, values, placement: str, ratio: int, seeds: int = 4) -> dict[tuple, float]:
    """E‖x‖²/d by site with uniform attention (q = k = 0), averaged over seeds."""
    total: dict[tuple, float] = {}
    for seed in range(1, seeds + 1):
        made = state(
            placement,
            layers=LAYERS,
            width=128,
            d_ff=128 * ratio,
            heads=4,
            seed=seed,
            size=500,
            sentences=16,
            longest=20,
        )
        with torch.no_grad():
            for site, p in weights(made.model):
                if site.tensor in "qk":
                    p.zero_()
        for site, value in values(hidden_norm(made, batches=1), "hidden_norm_sq").items():
            total[site] = total.get(site, 0) + value / seeds
    return total


@pytest.mark.parametrize(("ratio", "expected"), [(1, 1.5), (2, 1 + 4 / 9), (4, 1.32)])
def test_post_ln_sums_are_1_plus_2r_over_1_plus_r_squared_at_every_layer(state, values, ratio, expected):
    """Lemma 2 of Xiong et al. (2020) for d_ff = d, 1.5; 1.444 and 1.32 for the usual ratios."""
    found = averaged(state, values, "post", ratio)
    sums = [found[stack, n, "feed_forward", "sum"] for stack in ("encoder", "decoder") for n in range(1, LAYERS + 1)]
    assert sum(sums) / len(sums) == pytest.approx(expected, rel=0.03)
    assert sums == pytest.approx([expected] * len(sums), rel=0.08)


@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_pre_ln_streams_grow_within_the_bounds_of_lemma_2(state, values, ratio):
    """From x to between x + c l and x + (1 + c) l, with c = 2r / (1 + r)²: attention adds between 0 and 1."""
    found = averaged(state, values, "pre", ratio)
    start, c = found["encoder", None, "embedding", "out"], 2 * ratio / (1 + ratio) ** 2
    assert start == pytest.approx(1.5, rel=0.03)
    for layer in range(1, LAYERS + 1):
        size = found["encoder", layer, "feed_forward", "out"]
        assert start + c * layer < size < start + (1 + c) * layer
        assert found["encoder", layer, "feed_forward", "branch"] == pytest.approx(c, rel=0.12)


def test_every_site_along_the_stream_is_measured_and_norms_leave_vectors_of_size_one(state, values):
    post = values(hidden_norm(state("post"), batches=2), "hidden_norm_sq")
    pre = values(hidden_norm(state("pre"), batches=2), "hidden_norm_sq")
    normed = [value for site, value in post.items() if site[1] is not None and site[3] == "out"]
    normed += [value for site, value in pre.items() if site[3] == "in" or site[2] == "final_norm"]
    assert len(normed) == 10 + 10 + 2
    assert normed == pytest.approx([1.0] * len(normed), rel=1e-3)
    found = values(hidden_norm(state("pre"), batches=1), "hidden_norm")
    assert len(found) == 2 * (2 + 3) * 4 + 2 + 2
    assert {site[3] for site in found if site[2] == "cross_attention"} == {"in", "branch", "sum", "out"}
    assert {("encoder", None, "embedding", "out"), ("decoder", None, "final_norm", "out")} <= found.keys()


def test_values_are_means_over_the_tokens_of_all_batches(state, values):
    """Not means of batch means: batches have unequal numbers of tokens."""
    made = state("pre")
    rows = list(hidden_norm(made, batches=3))
    vectors = {"encoder": [], "decoder": []}
    for batch in made.batches(3):
        with activations(made.model) as seen, torch.no_grad():
            made.model(batch)
        for stack, tokens in (("encoder", batch.source), ("decoder", batch.target_in)):
            x = seen[Site(stack, 2, "feed_forward", "out")]
            vectors[stack] += [x[b, t].double() for b, t in (tokens != 0).nonzero().tolist()]
    for stack, found in vectors.items():
        norms = [x.norm().item() for x in found]
        site = (stack, 2, "feed_forward", "out")
        assert values(rows, "hidden_norm")[site] == pytest.approx(sum(norms) / len(norms), rel=1e-9)
        square = sum(norm**2 for norm in norms) / len(norms) / 16
        assert values(rows, "hidden_norm_sq")[site] == pytest.approx(square, rel=1e-9)


@pytest.mark.parametrize("size", [1e25, float("inf"), float("nan")])
def test_squares_beyond_float32_and_what_is_not_finite_are_stored_as_measured(state, values, size):
    made = state("pre", norm="none")
    with torch.no_grad():
        made.model.encoder.layers[0].feed_forward.w2.bias.fill_(size)
    found = values(hidden_norm(made, batches=1), "hidden_norm_sq")["encoder", 1, "feed_forward", "branch"]
    assert found == pytest.approx(size * size, rel=1e-6, nan_ok=True)
