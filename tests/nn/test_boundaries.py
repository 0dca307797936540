"""What passes at a boundary is the activation of that address, in every placement; and can be replaced there."""

import pytest
import torch

from lnlab.nn.boundaries import activation_boundaries, stream_norms
from lnlab.nn.placements import placements
from lnlab.nn.sites import Site, activations

DEEP = {"layers": 4}  # a quarter of two layers is none


@pytest.mark.parametrize("norm", ["layer", "none"])
@pytest.mark.parametrize("entry", list(placements), ids=lambda entry: entry.name)
def test_what_passes_is_the_activation_of_that_address(setting, build, batch, entry, norm):
    model = build(setting(entry.name, norm=norm, **DEEP))
    known, passed = activation_boundaries(model), {}
    handles = [
        boundary.put(lambda x, site=site: passed.setdefault(site, x)) for site, boundary in known.items() if boundary
    ]
    with activations(model) as seen, torch.no_grad():
        model(batch)
    for handle in handles:
        handle.remove()
    assert set(known) == set(seen) | {site for site in known if site.sublayer == "final_norm"}
    assert {site for site in passed if site not in seen} <= {Site(s, None, "final_norm", "in") for s in STACKS}
    assert all(torch.equal(x, seen[site]) for site, x in passed.items() if site in seen)
    assert {site.tensor for site in passed} >= {"in", "branch", "out"}


STACKS = ("encoder", "decoder")


def test_a_placement_norms_the_stream_or_not_and_activations_pass_or_the_last_sum_of_a_layer(setting, build):
    assert None not in activation_boundaries(build(setting("post"))).values()
    beyond = {site for site, boundary in activation_boundaries(build(setting("pre"))).items() if boundary is None}
    assert {(site.sublayer, site.tensor) for site in beyond} == {
        (sublayer, tensor) for sublayer in ("self_attention", "cross_attention") for tensor in ("sum", "out")
    }
    assert Site("encoder", 1, "self_attention", "sum") in beyond
    model = build(setting("mix", **DEEP))
    assert [len(stream_norms(layer)) for layer in model.encoder.layers] == [2, 0, 0, 0]


def test_queries_and_keys_are_replaced_alike_and_the_memory_is_not(setting, build, batch):
    """Attention over tokens that are all zero gives zero; over a memory that is not, it does not."""
    model = build(setting("post"))
    zero = {
        "encoder": Site("encoder", 1, "self_attention", "in"),
        "decoder": Site("decoder", 1, "cross_attention", "in"),
    }
    known = activation_boundaries(model)
    handles = [known[site].put(torch.zeros_like) for site in zero.values()]
    with activations(model) as seen, torch.no_grad():
        model(batch)
    for handle in handles:
        handle.remove()
    assert not seen[Site("encoder", 1, "self_attention", "branch")].any()
    assert seen[Site("decoder", 1, "cross_attention", "branch")].any()
    assert not seen[zero["encoder"]].any()
