"""Hidden norms against brute force and against the closed laws at initialization."""

import pytest
import torch

from lnlab.nn.sites import Site, activations
from lnlab.probes.hidden_norm import hidden_norm


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
