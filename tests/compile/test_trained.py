"""Claims of runs that train: grids of rates by name, and what a claim requires."""

import pytest

TRAINS = "optimizer: {kind: adam, lr: 1e-3}\ntrain: {steps: 9}\n"


def claim(of, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"claims: [{{id: a, says: b, kind: bound, of: {of}, at_most: 3{extra}}}]\n"


def test_a_grid_of_rates_is_compared_with_another_without_naming_the_rate(plan, base):
    rates = "model.layers: [{layers}], placement: [post, pre], train.steps: [9], optimizer.lr: [1e-4, 1e-3]"
    grids = "".join(f"  {name}: {{{rates.replace('{layers}', name[-1])}}}\n" for name in ("n2", "n4"))
    text = base.replace("placement: post\n", "") + TRAINS + "sweep:\n" + grids
    text += "  other: {model.layers: [2], placement: [post], train.steps: [5], optimizer.lr: [1e-4]}\n"
    ratio = claim("{quantity: best_lr, grid: n4, placement: post}", to="{grid: n2, placement: post}")
    (compiled,) = plan(text + ratio.replace("bound", "ratio").replace("at_most", "at_least")).claims
    assert compiled["to"] == {"model.layers": 2, "placement": "post", "train.steps": 9}


@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_a_requirement_may_be_said_in_words(plan, base, checked_by_schema, document, form):
    needs = form.format("{kind: bound, says: It is small., of: {quantity: gradient_norm}, at_most: 2}")
    text = base + claim("{quantity: gradient_norm}", requires=needs)
    assert plan(text).claims
    assert checked_by_schema(document(text).data) == []
