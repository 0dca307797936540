"""An arrow scaled or cut is the formula in which it is scaled or cut: values and gradients, in float64."""

import pytest
import torch

from lnlab.errors import LabError
from lnlab.nn.sites import Site

TOLERANCE = {"rtol": 1e-10, "atol": 1e-13}
SITES = [
    ("post", Site("encoder", 1, "self_attention", "in")), ("post", Site("decoder", 2, "cross_attention", "branch")),
    ("post", Site("encoder", 2, "feed_forward", "sum")), ("post", Site("decoder", 1, "self_attention", "out")),
    ("post", Site("encoder", None, "embedding", "out")), ("pre", Site("decoder", 1, "cross_attention", "in")),
    ("pre", Site("encoder", 1, "self_attention", "branch")), ("pre", Site("decoder", 1, "feed_forward", "sum")),
    ("pre", Site("encoder", 2, "feed_forward", "out")), ("pre", Site("encoder", None, "final_norm", "in")),
    ("pre", Site("decoder", None, "final_norm", "out")),
]  # fmt: skip


def where(site):
    return {key: word for key, word in site.row().items() if word is not None}


def equal(one, other):
    assert one.keys() == other.keys()
    for site, gradient in one.items():
        torch.testing.assert_close(gradient, other[site], **TOLERANCE, msg=lambda said, site=site: f"{site}: {said}")


def test_lists_and_ends_choose_sites_and_one_activation_with_two_names_is_scaled_once(
    model, intervene, batch, by_hand, gradients
):
    made = model("post")
    sites = [
        Site(stack, 2, name, "sum") for stack in ("encoder", "decoder") for name in ("self_attention", "feed_forward")
    ]
    formula = by_hand(made, "post", {site: lambda x: -x for site in sites})(batch)
    chosen = {"layer": "last", "sublayer": ["self_attention", "feed_forward"], "tensor": "sum"}
    with intervene("rescale", made, where=chosen, factor=-1):
        equal(gradients(made, made(batch)), gradients(made, formula))
    made = model("pre")
    formula = by_hand(made, "pre", {Site("encoder", 2, "feed_forward", "sum"): lambda x: 5 * x})(batch)
    chosen = {"stack": "encoder", "layer": 2, "sublayer": "feed_forward", "tensor": ["sum", "out"]}
    with intervene("rescale", made, where=chosen, factor=5):
        torch.testing.assert_close(made(batch), formula, **TOLERANCE)


def test_what_was_entered_first_acts_first(model, intervene, batch, by_hand):
    made = model("post")
    site = Site("decoder", 1, "feed_forward", "branch")
    most = lambda x: x * (0.5 * 4 / x.norm(dim=-1, keepdim=True)).clamp(max=1)  # noqa: E731
    formula = by_hand(made, "post", {site: lambda x: most(100 * x)})(batch)
    with (
        intervene("rescale", made, where=where(site), factor=100),
        intervene("clamp", made, where=where(site), most=0.5),
    ):
        torch.testing.assert_close(made(batch), formula, **TOLERANCE)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"tensor": "sum", "layer": 1}, "the sum of encoder layer 1 self_attention stands inside the placement"),
        ({"tensor": "sum", "layer": 3}, "where.layer: no activation there has layer 3; there is 1, 2"),
        (
            {"tensor": "in", "sublayer": "output"},
            "has sublayer output; there is embedding, self_attention, feed_forward",
        ),
        ({"tensor": "in", "sublayer": "embedding"}, "no activation there has tensor in; there is out"),
        ({"tensor": "in", "stack": "encoder", "sublayer": "cross_attention"}, "no activation there has sublayer cross"),
    ],
)
def test_what_cannot_be_reached_or_is_not_there_is_refused(model, intervene, chosen, said):
    made = model("pre")
    with pytest.raises(LabError, match=said), intervene("rescale", made, where=chosen, factor=2):
        pass
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in made.modules())


@pytest.mark.parametrize(("placement", "site"), SITES)
@pytest.mark.parametrize(
    ("through", "factor", "formula"),
    [
        ("both", 3, lambda x: 3 * x),
        ("backward", 0, lambda x: x.detach()),
        ("backward", 2.5, lambda x: x.detach() + 2.5 * (x - x.detach())),
        ("forward", 3, lambda x: x + 2 * x.detach()),
    ],
    ids=["both ways", "cut backward", "backward", "forward"],
)
def test_values_and_gradients_are_those_of_the_formula(
    model, by_hand, intervene, batch, gradients, placement, site, through, factor, formula
):
    made = model(placement)
    expected = by_hand(made, placement, {site: formula})(batch)
    with intervene("rescale", made, where=where(site), factor=factor, through=through):
        torch.testing.assert_close(made(batch), expected, **TOLERANCE)
        equal(gradients(made, made(batch)), gradients(made, expected))
