"""What check knows of runs that train: their curves, what follows from them, and what is taken over a grid of rates."""

import pytest

from tests.support.refusals import only_refusal

TRAINS = "optimizer: {kind: adam, lr: 1e-3}\ntrain: {steps: 9}\n"
RATES = "sweep: [{placement: [post, pre], optimizer.lr: [1e-4, 1e-3]}]\n"


def claim(of, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"claims: [{{id: a, says: b, kind: bound, of: {of}, at_most: 3{extra}}}]\n"


@pytest.mark.parametrize(
    "of",
    [
        "{quantity: loss, split: train, step: 3}",
        "{quantity: loss, split: validation, step: last}",
        "{quantity: nll, step: [0, last]}",
        "{quantity: [nll, accuracy], split: validation}",
        "{quantity: final_nll}",
        "{quantity: gradient_norm, split: null, step: null}",
    ],
)
def test_curves_and_what_follows_from_them_are_known_where_runs_train(plan, base, of):
    assert plan(base + TRAINS + claim(of)).claims


@pytest.mark.parametrize("quantity", ["nll", "final_nll", "best_lr"])
def test_and_are_not_where_none_does(plan, base, quantity):
    assert f"no row has quantity = {quantity}" in only_refusal(plan, base + claim(f"{{quantity: {quantity}}}"))


def test_a_profile_that_leaves_out_training_makes_no_mistake_of_the_spec(plan, base, golden):
    text = base + TRAINS + claim("{quantity: final_nll}")
    assert plan(text, overrides=["train.steps=0"]).claims
    swept = TRAINS.replace("train: {steps: 9}", "sweep: [{train.steps: [9, 12]}]")
    assert plan(base + swept + claim("{quantity: final_nll}", over="train.steps"), overrides=["train.steps=0"]).claims
    golden(only_refusal(plan, base + claim("{quantity: final_nll}"), overrides=["model.layers=1"]))


@pytest.mark.parametrize(
    ("of", "more", "what"),
    [
        ("{quantity: loss}", {}, "'loss' is measured on train and validation; pin split"),
        ("{quantity: loss, step: last}", {"over": "layer"}, "'loss' is measured on train and validation; pin split"),
        ("{quantity: nll, split: train}", {}, "'nll' is not measured on split = train; there is validation"),
        ("{quantity: final_nll, split: validation}", {}, "'final_nll' has no split; leave it out, or write"),
        ("{quantity: final_nll, split: train}", {}, "'final_nll' has no split"),
        ("{quantity: nll, step: end}", {}, "no row has step = end; write last"),
        ("{quantity: nll, step: -1}", {}, "no row has step = -1"),
        ("{quantity: nll, step: true}", {}, "no row has step = true"),
        ("{quantity: nll, step: 1.5}", {}, "no row has step = 1.5"),
        ("{quantity: best_lr}", {}, "'best_lr' is taken over optimizer.lr, of which these runs have not two values"),
    ],
)
def test_what_no_curve_has_says_why(plan, base, of, more, what):
    assert what in only_refusal(plan, base + TRAINS + claim(of, **more))


def test_what_is_counted_at_some_x_has_no_row_at_another(registries, plan, base, golden):
    registries["quantity"].register("eigenvalues_beyond", x=(0.1, 5.0))(lambda results: results)
    assert plan(base + claim("{quantity: eigenvalues_beyond, x: [0.1, 5]}", over="x")).claims
    found = only_refusal(plan, base + claim("{quantity: eigenvalues_beyond, x: 3}"))
    golden(found)


@pytest.mark.parametrize(
    ("of", "what"),
    [
        ("{quantity: converged}", "'converged' is there for every rule and split; pin rule, split"),
        ("{quantity: converged, rule: learned}", "'converged' is there for every split; pin split"),
        ("{quantity: converged, rule: lerned, split: train}", "no row has rule = lerned; did you mean 'learned'?"),
        ("{quantity: converged, rule: learned, split: train, statistics: mine}", "no row has statistics = mine"),
    ],
)
def test_a_run_has_converged_by_one_rule_on_one_loss(plan, base, of, what):
    assert what in only_refusal(plan, base + TRAINS + claim(of))
    assert plan(base + TRAINS + claim("{quantity: converged, rule: learned, split: train}")).claims
    assert plan(base + TRAINS + claim("{quantity: converged, rule: learned}", over="split")).claims


def test_a_quantity_that_a_probe_measures_too_need_not_name_a_split(plan, base, registries):
    @registries["probe"].register("loss", passes=lambda params: 1.0, table="sites", quantities=("loss",))
    def loss(state): ...

    text = base.replace("kind: gradient_norm", "kind: loss") + TRAINS
    assert plan(text + claim("{quantity: loss, split: null}")).claims
    assert plan(text + claim("{quantity: loss}", over="split")).claims


def test_runs_that_differ_in_the_rate_alone_have_one_number(plan, base, golden):
    text = base.replace("placement: post\n", "") + TRAINS + RATES
    assert plan(text + claim("{quantity: best_lr, placement: post}")).claims
    assert plan(text + claim("{quantity: best_lr}", over="placement")).claims
    golden(only_refusal(plan, text + claim("{quantity: best_lr}")))
    golden(only_refusal(plan, text + claim("{quantity: final_nll, placement: post}")))


def test_a_grid_of_rates_is_compared_with_another_without_naming_the_rate(plan, base):
    rates = "model.layers: [{layers}], placement: [post, pre], train.steps: [9], optimizer.lr: [1e-4, 1e-3]"
    grids = "".join(f"  {name}: {{{rates.replace('{layers}', name[-1])}}}\n" for name in ("n2", "n4"))
    text = base.replace("placement: post\n", "") + TRAINS + "sweep:\n" + grids
    text += "  other: {model.layers: [2], placement: [post], train.steps: [5], optimizer.lr: [1e-4]}\n"
    ratio = claim("{quantity: best_lr, grid: n4, placement: post}", to="{grid: n2, placement: post}")
    (compiled,) = plan(text + ratio.replace("bound", "ratio").replace("at_most", "at_least")).claims
    assert compiled["to"] == {"model.layers": 2, "placement": "post", "train.steps": 9}


@pytest.mark.parametrize(
    ("of", "more", "what"),
    [
        ("{quantity: best_lr, placement: post, optimizer.lr: [1e-4, 1e-3]}", {}, "'best_lr' is taken over it"),
        ("{quantity: best_lr, placement: post}", {"over": "optimizer.lr"}, "it is taken over optimizer.lr, and so is"),
    ],
)
def test_the_rate_is_not_named_beside_what_is_taken_over_it(plan, base, of, more, what):
    text = base.replace("placement: post\n", "") + TRAINS + RATES
    assert what in only_refusal(plan, text + claim(of, **more))


def test_a_rate_that_an_override_pins_makes_no_mistake_of_the_spec(plan, base):
    text = base.replace("placement: post\n", "") + TRAINS + RATES + claim("{quantity: best_lr, placement: post}")
    assert plan(text, overrides=["optimizer.lr=1e-3"]).claims


def test_a_grid_in_which_only_other_runs_have_several_rates_does_not_help(plan, base, golden):
    text = base.replace("placement: post\n", "") + TRAINS
    text += "sweep: [{placement: [post], optimizer.lr: [1e-4, 1e-3]}, {placement: [pre]}]\n"
    assert plan(text + claim("{quantity: best_lr, placement: post}")).claims
    golden(only_refusal(plan, text + claim("{quantity: best_lr, placement: pre}")))


@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_a_requirement_may_be_said_in_words(plan, base, checked_by_schema, document, form, golden):
    needs = form.format("{kind: bound, says: It is small., of: {quantity: gradient_norm}, at_most: 2}")
    text = base + claim("{quantity: gradient_norm}", requires=needs)
    assert plan(text).claims
    assert checked_by_schema(document(text).data) == []
    golden(only_refusal(plan, text.replace("quantity: gradient_norm}, at_most: 2", "quantity: nll}, at_most: 2")))
