"""Moments against torch over all elements, against hidden norms, and branches against their closed laws."""

import pytest
import torch

from lnlab.nn.sites import Site, activations
from lnlab.probes.activation_moments import activation_moments


def test_values_are_those_of_all_elements_of_all_batches(state, values):
    made = state("pre")
    rows = list(activation_moments(made, batches=3))
    site = Site("decoder", 2, "cross_attention", "branch")
    tokens, sums = [], []
    for batch in made.batches(3):
        with activations(made.model) as seen, torch.no_grad():
            made.model(batch)
        held = batch.target_in != 0
        tokens.append(seen[site][held].double())
        sums.append(seen[Site("decoder", 2, "cross_attention", "sum")][held].double())
    x, whole = torch.cat(tokens), torch.cat(sums)
    share = x.var(correction=0) / whole.var(correction=0)
    expected = {
        "activation_mean": x.mean(),
        "activation_variance": x.var(correction=0),
        "token_sigma": torch.stack([t.std(correction=0) for t in x]).mean(),
        "branch_variance_share": share,
    }
    for quantity, value in expected.items():
        found = values(rows, quantity)["decoder", 2, "cross_attention", "branch"]
        assert found == pytest.approx(value.item(), rel=1e-6), quantity


@pytest.mark.parametrize(("ratio", "c"), [(1, 0.5), (2, 4 / 9), (4, 0.32)])
def test_a_feed_forward_branch_of_a_normed_input_has_the_variance_c_and_the_share_c_over_1_plus_c(
    state, values, ratio, c
):
    """c = 2r/(1+r)² for d_ff = r d under Xavier's init, in the layers where the stream is normed: Post-LN."""
    made = state("post", layers=3, width=128, d_ff=128 * ratio, heads=4, size=500, sentences=8, longest=20)
    rows = list(activation_moments(made, batches=2))
    shares, variances = (values(rows, quantity) for quantity in ("branch_variance_share", "activation_variance"))
    sites = [(stack, n, "feed_forward", "branch") for stack in ("encoder", "decoder") for n in (1, 2, 3)]
    assert sum(shares[site] for site in sites) / 6 == pytest.approx(c / (1 + c), rel=0.1)
    assert sum(variances[site] for site in sites) / 6 == pytest.approx(c, rel=0.1)


def test_shares_are_measured_at_branches_alone_and_not_of_a_stream_of_zeros(state, values):
    made = state("pre", norm="none")
    found = values(activation_moments(made, batches=1), "branch_variance_share")
    assert {site[3] for site in found} == {"branch"}
    assert len(found) == 10
    with torch.no_grad():
        for p in made.model.parameters():
            p.zero_()
        made.model.encoder.embedding.forward = lambda tokens: torch.zeros(*tokens.shape, 16)
    left = values(activation_moments(made, batches=1), "branch_variance_share")
    assert {site[0] for site in left} == {"decoder"}
