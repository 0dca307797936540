"""Seeds of single claims: which runs they add, and that no other claim's verdict moves."""

from typing import Any

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.plan import compile_plan
from lnlab.errors import SpecError
from lnlab.report.registries import FRAME_REGISTRIES
from tests.support.toy_specs import PIECES, SMALLEST, toy_spec

REST = """\
sweep: [{placement: [post, pre], model.layers: [2, 4]}]
probes: [{kind: gradient_norm, at: end}]
claims:
  - {id: post, says: b, kind: bound, of: {quantity: gradient_norm, placement: post, model.layers: 2}, at_most: 3}
  - {id: pre, says: b, kind: bound, of: {quantity: gradient_norm, placement: pre, model.layers: 2}, at_most: 3}
"""
SPEC = toy_spec(PIECES, REST, optimizer={"kind": "adam", "lr": 1}, train={"steps": 10}, seeds=3)


def runs_of(plan, *axes):
    return {(*(plan.points[run.variant].get(axis) for axis in axes), run.seed) for run in plan.runs}


def with_seeds(line):
    return SPEC.replace("seeds: 3\n", f"seeds: 3\nclaim_seeds: {line}\n")


def test_only_what_the_claim_selects_runs_on_its_further_seeds(plan):
    axes = ("placement", "model.layers")
    every = runs_of(plan(SPEC), *axes)
    assert runs_of(plan(with_seeds("{post: 1-5}")), *axes) - every == {("post", 2, 4), ("post", 2, 5)}
    assert runs_of(plan(with_seeds("{post: [2, 7], pre: 7}")), *axes) - every == {
        ("post", 2, 7),
        *(("pre", 2, seed) for seed in (4, 5, 6, 7)),
    }
    assert runs_of(plan(with_seeds("{post: 2-3}")), *axes) == every  # fewer seeds run nothing


RANKED = "  - {id: ranked, says: b, kind: ranking, of: {quantity: gradient_norm, placement: pre}, over: model.layers,\n"


@pytest.fixture
def ranking(registries):
    """A claim that names the values which it compares."""

    @registries["claim"].register("ranking", levels=lambda claim: [int(name) for name in claim["order"].split("<")])
    def ranking(results, *, of: dict[str, Any], over: str, order: str): ...


@pytest.mark.usefixtures("ranking")
def test_of_an_order_the_values_that_it_names_run_on_further_seeds(plan):
    ranked = with_seeds("{ranked: 11-12}").replace("[2, 4]}]", "[2, 4, 6]}]") + RANKED + "     order: 6 < 4}\n"
    runs = {run for run in runs_of(plan(ranked), "placement", "model.layers") if run[-1] > 3}
    assert runs == {("pre", layers, seed) for layers in (4, 6) for seed in (11, 12)}


def test_runs_that_are_there_keep_their_keys(plan):
    assert {run.key for run in plan(SPEC).runs} < {run.key for run in plan(with_seeds("{post: 1-5}")).runs}


AGAINST = """\
train: {steps: 2, evaluate: [0, 2]}
sweep: [{placement: [post, pre], optimizer.lr: [0.1, 0.2]}]
claims:
  - {id: learns, says: b, kind: bound, of: {placement: post, optimizer.lr: 0.1, OF}, at_least: 0.5}
"""
ITSELF, ALL = ("post", 0.1), {(placement, rate) for placement in ("post", "pre") for rate in (0.1, 0.2)}


@pytest.mark.parametrize(
    ("of", "points"),
    [
        ("quantity: final_nll", {ITSELF}),
        ("quantity: learned_fraction", ALL),
        ("quantity: learned_fraction, reference: best", ALL),
        ("quantity: {expr: 2 * learned_fraction, unit: ratio}", ALL),
        ("quantity: learned_fraction, reference: {placement: pre, optimizer.lr: 0.2}", {ITSELF, ("pre", 0.2)}),
        ("quantity: learned_fraction, reference: {placement: pre, same: optimizer.lr}", {ITSELF, ("pre", 0.1)}),
    ],
)
def test_what_a_quantity_is_measured_against_runs_too(document, of, points):
    text = toy_spec(SMALLEST, AGAINST.replace("OF", of), placement=None, seeds=2, claim_seeds={"learns": "1-4"})
    planned = compile_plan(document(text), {**REGISTRIES, **FRAME_REGISTRIES}, ())
    runs = runs_of(planned, "placement", "optimizer.lr")
    assert {run[:2] for run in runs if run[2] == 4} == points
    assert {run[:2] for run in runs if run[2] == 2} == ALL


PROBES = """\
train: {steps: 4, evaluate: [0, 4]}
sweep: [{placement: [post, pre]}]
probes:
  - {kind: gradient_norm, at: init, batches: 1}
  - {kind: hidden_norm, at: [0, 4], batches: 1}
  - {kind: residual_dependency, at: init}
  - {kind: hessian_spectrum, at: init, batches: 1, draws: 1, steps: 2}
claims:
"""
HIDDEN = (
    "{quantity: hidden_norm, placement: post, step: 4,"
    " stack: decoder, layer: last, sublayer: feed_forward, tensor: sum}"
)


@pytest.mark.parametrize(
    ("claim", "probes"),
    [
        ("of: {quantity: final_nll, placement: post}", set()),
        (
            "of: {quantity: gradient_norm, placement: post, step: 0, stack: decoder, layer: last, tensor: w2}",
            {"gradient_norm"},
        ),
        ("of: {quantity: total_gradient_norm, placement: post, step: 0}", {"gradient_norm"}),
        ("of: {quantity: largest_eigenvalue, placement: post}", {"hessian_spectrum"}),
        (
            "of: {quantity: {expr: final_nll * largest_eigenvalue, unit: nats}, placement: post}",
            {"hessian_spectrum"},
        ),
        (
            f"of: {{quantity: final_nll, placement: post}}, requires: {{kind: bound, of: {HIDDEN}, at_most: 9}}",
            {"hidden_norm"},
        ),
    ],
)
def test_on_further_seeds_only_what_the_claim_reads_is_measured(document, claim, probes):
    def needs(seeds):
        text = f"  - {{id: it, says: b, kind: bound, {claim}, at_least: 0}}\n"
        spec = toy_spec(SMALLEST, PROBES + text, seeds=2, claim_seeds={"it": seeds})
        planned = compile_plan(document(spec), {**REGISTRIES, **FRAME_REGISTRIES}, ())
        seed_of = {run.key: run.seed for run in planned.runs}
        return [(seed_of[run], step, str(probe["kind"]), key) for run, step, probe, key in planned.needs]

    further = needs("2-3")
    measured = {seed: {kind for of_seed, _, kind, _ in further if of_seed == seed} for seed in (1, 2, 3)}
    every = {"evaluation", "gradient_norm", "hidden_norm", "residual_dependency", "hessian_spectrum"}
    assert measured == {1: every, 2: every, 3: {"evaluation", *probes}}
    assert [need for need in further if need[0] < 3] == needs("1-2")


OTHERS = """\
  - {id: hidden, says: b, kind: bound, of: {quantity: hidden_norm, placement: post, model.layers: 2}, at_most: 3}
  - {id: own, says: b, kind: bound, of: {quantity: unexplained, placement: post, model.layers: 2}, at_most: 3}
"""


def test_what_several_claims_read_is_measured_and_all_where_one_does_not_say_what_it_reads(plan, registries):
    registries["quantity"].register("unexplained")(lambda results: results)
    seeds = "{post: 4-5, hidden: 5-6, own: [7]}"
    text = (
        with_seeds(seeds).replace("at: end}", "at: end}, {kind: hidden_norm, at: end}, {kind: mute, at: end}") + OTHERS
    )
    planned = plan(text)
    seed_of = {run.key: run.seed for run in planned.runs}
    measured = {(seed_of[run], str(probe["kind"])) for run, _, probe, _ in planned.needs}
    # Nobody knows what the probe ``mute`` measures.
    kinds = {4: {"gradient_norm", "mute"}, 5: {"gradient_norm", "hidden_norm", "mute"}, 6: {"hidden_norm", "mute"}}
    kinds[7] = kinds[5]
    assert {seed: {kind for of_seed, kind in measured if of_seed == seed} for seed in kinds} == kinds


def test_a_profile_sets_them_whole(plan):
    spec = with_seeds("{post: 1-5}") + "profiles: {real: {seeds: 11-12, claim_seeds: {pre: 11-14}}}\n"
    assert {run.seed for run in plan(spec, profile="real").runs} == {11, 12, 13, 14}
    assert runs_of(plan(spec, profile="real"), "placement") >= {("pre", 14)}
    assert ("post", 14) not in runs_of(plan(spec, profile="real"), "placement")


@pytest.mark.parametrize(
    "line",
    ["{pst: 1-5}", "{post: 0}", "{post: 5-3}"],
)
def test_what_is_wrong_with_them_is_reported_where_it_stands(plan, line, golden):
    with pytest.raises(SpecError, match=":9:") as error:
        plan(with_seeds(line))
    golden(str(error.value))


def test_seeds_that_set_a_margin_are_not_judged(plan, golden):
    spec = with_seeds("{post: 1-5}").replace("2}, at_most: 3}\n  -", "2}, at_most: 3, calibration: {seeds: 5}}\n  -")
    with golden.raises(SpecError):
        plan(spec)
    plan(spec.replace("calibration: {seeds: 5}", 'calibration: {seeds: "6-7"}'))
