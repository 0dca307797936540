"""Plausible selections pass; layers and seeds are those of the plan."""

from typing import Any

import pytest

from lnlab.errors import SpecError

SWEEP = "sweep: [{placement: [post, pre], model.layers: [2, 4]}]\n"


def claim(of, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"claims: [{{id: a, says: b, kind: bound, of: {of}, at_most: 3{extra}}}]\n"


@pytest.mark.parametrize(
    ("of", "more"),
    [
        ("{placement: post, model.layers: 4, layer: 4, seed: [1, 2], index: null, step: 0}", {}),
        ("{placement.kind: post, encoder.layers: 2, stack: [encoder, decoder], layer: first}", {}),
        ("{placement: post, layer: null}", {"over": "model.layers"}),
        ("{placement: [post], model.layers: 2.0}", {"over": "layer"}),
        ("{placement: [post, pre], model.layers: 2}", {"over": "placement"}),
        ("{placement: post}", {"exact": "true"}),
        ("{optimizer: null, norm: layer, norm.eps: 1e-5, placement: pre, model.layers: 2}", {}),
    ],
)
def test_a_plausible_selection_passes(plan, base, of, more):
    assert plan(base + SWEEP + claim(of, **more)).claims


@pytest.mark.parametrize(
    ("of", "more", "what"),
    [
        ("{placement: post, model.layers: 4, layer: 0}", {}, "no row has layer = 0"),
        ("{placement: post, model.layers: 4, layer: lst}", {}, "did you mean 'last'?"),
        ("{placement: post, model.layers: 4, layer: true}", {}, "no row has layer = true"),
        ("{placement: post, model.layers: 4, seed: 3}", {}, "no row has seed = 3"),
        ("{placement: post, model.layers: 4, split: dev}", {}, "no row has split = dev"),
        ("{placement: post}", {}, "takes 2 variants; pin model.layers (2 or 4)"),
        ("{placement: post}", {"over": "layer"}, "takes 2 variants; pin model.layers (2 or 4)"),
        ("{}", {"over": "placement"}, "takes 2 variants at placement = post; pin model.layers (2 or 4)"),
        ("{placement: true}", {}, "no run has placement = true"),
        ("{xyzzy: 1}", {}, "columns: run, variant"),
    ],
)
def test_an_implausible_one_says_why(plan, base, of, more, what):
    with pytest.raises(SpecError) as caught:
        plan(base + SWEEP + claim(of, **more))
    (problem,) = caught.value.issues
    assert what in str(problem)


def test_the_fourth_selection_of_an_interaction_is_looked_at_though_nothing_says_it(plan, base, registries):
    @registries["claim"].register("interaction")
    def interaction(
        results,
        *,
        of: dict[str, Any],
        to: dict[str, Any],
        less: dict[str, Any],
        less_to: dict[str, Any] | None = None,
        at_least: float,
    ): ...

    text = (
        "claims: [{id: a, says: b, kind: interaction, of: {quantity: gradient_norm, placement: post, model.layers: 2}, "
        "to: {placement: pre}, less: {model.layers: 4}, at_least: 0}]\n"
    )
    assert plan(base + SWEEP + text).claims
    with pytest.raises(SpecError) as caught:
        plan(base + "sweep: [{placement: [post, pre], model.layers: 2}, {placement: post, model.layers: 4}]\n" + text)
    (problem,) = caught.value.issues
    assert "less_to" in str(problem)
    assert "no run has all of" in str(problem)
    assert "placement = pre, model.layers = 4" in str(problem)


ORDER = "claims: [{id: a, says: b, kind: order, of: {quantity: gradient_norm}, order: post < pre, MORE}]\n"


def test_a_path_along_which_an_order_is_reduced_is_kept_apart_like_the_one_it_orders(plan, base, registries):
    @registries["claim"].register("order")
    def order(results, *, of: dict[str, Any], over: str, order: str, along: str, reduce: str): ...

    assert plan(base + SWEEP + ORDER.replace("MORE", "over: placement, along: model.layers, reduce: mean")).claims
    with pytest.raises(SpecError, match=r"takes 2 variants at placement = post; pin model\.layers"):
        plan(base + SWEEP + ORDER.replace("MORE", "over: placement, along: layer, reduce: mean"))
    with pytest.raises(SpecError, match=r"claims\.a\.along: unknown key 'layers'"):
        plan(base + SWEEP + ORDER.replace("MORE", "over: placement, along: layers, reduce: mean"))
