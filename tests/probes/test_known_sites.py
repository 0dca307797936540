"""The places that a probe states beforehand are those at which it has numbers, in every placement and model."""

from itertools import product

import pytest

from lnlab.errors import LabError
from lnlab.nn.placements import placements
from lnlab.probes.probe import probes

STATING = [entry for entry in probes if entry.facts.sites is not None and not entry.facts.translates]
COLUMNS = ("stack", "layer", "sublayer", "tensor", "index", "x")
SOME = {
    "activation_moments",  # a branch's share of what it is added to
    "adaptive_rate",  # rounding decides which biases have a rate
    "displacement",  # what began at 0 has no relative distance
    "gradient_recursion",  # a stack without a gradient
    "norm_jacobian",  # tokens above a size
    "output_perturbation",  # an output that did not change
    "psi_variance",  # of early steps
    "residual_dependency",  # a branch that is zero
    "root_sum_norm",  # a norm that a placement does not apply
    "stream_gradient",
    "update_size",
}
"""Probes that lack numbers at some of the places that they state, where the numbers decide."""


def places(rows, quantity):
    return sorted(
        (tuple(row.get(column) for column in COLUMNS) for row in rows if row["quantity"] == quantity), key=str
    )


def refuse_difference(entry, state, **given):
    """Every quantity that states its places has a row at each of them and at no other."""
    choice = probes.resolve({"kind": entry.name, **given})
    stated = entry.facts.sites(state.model, choice)
    try:
        rows = list(probes.builder(choice)(state))
    except LabError as error:
        if error.issues[0].code != "unsupported":  # there is nothing to measure in such a model
            raise
        return stated
    assert set(stated) <= set(entry.facts.quantities)
    for quantity, at in stated.items():
        expected = places([{"quantity": quantity, **place} for place in at], quantity)
        if entry.facts.table == "histograms":
            assert sorted(set(places(rows, quantity)), key=str) == expected
        elif entry.name in SOME or given.get("biases"):
            assert set(places(rows, quantity)) <= set(expected)
        else:
            assert places(rows, quantity) == expected
    unstated = set(entry.facts.quantities) - set(stated)
    assert entry.name in ("bleu", "io_jacobian") or not {row["quantity"] for row in rows} & unstated
    return stated


def ready(entry, state, trained):
    needs_training = entry.facts.trained or entry.facts.update or entry.facts.initial or entry.name == "along_step"
    return trained(state) if needs_training else state


PLACEMENTS = [entry.name for entry in placements]
IN_EACH = [(name, kind) for kind in ("hidden_norm", "stream_gradient", "norm_jacobian") for name in PLACEMENTS]
CASES = [
    pytest.param(*at, marks=[] if at[0] == "post" or at in IN_EACH else [pytest.mark.torture])
    for at in product(PLACEMENTS, [entry.name for entry in STATING])
]


@pytest.mark.parametrize(("placement", "name"), CASES)
def test_stated_places_are_the_measured_ones(state, trained, name, placement):
    entry = probes[name]
    given = {"batches": 2} if "batches" in entry.keywords else {}
    given |= {"trajectories": 1000, "steps": 100} if entry.name == "psi_variance" else {}
    assert refuse_difference(entry, ready(entry, state(placement), trained), **given)


@pytest.mark.nightly
@pytest.mark.parametrize("entry", STATING, ids=lambda entry: entry.name)
def test_also_in_a_model_of_one_stack_and_with_three_tables(state, classifier, trained, entry):
    if entry.name != "psi_variance":
        refuse_difference(entry, ready(entry, classifier(), trained))
        refuse_difference(entry, ready(entry, state("pre", tied="none", norm="rms"), trained))


def test_every_probe_of_numbers_states_its_places():
    others = {entry.name for entry in probes if entry.facts.sites is None and entry.facts.quantities}
    assert others == {"batch_evaluation", "evaluation", "translations"}  # along the curve, and texts


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("gradient_norm", {"batches": 1}),
        ("gradient_norm", {"biases": True}),
        ("gradient_histogram", {"of": "sites"}),
        ("gradient_histogram", {"of": "input"}),
        ("output_perturbation", {"stack": "decoder", "first_order": False, "random": None}),
        ("residual_dependency", {"matrix": False}),
        ("sharpness", {"coordinates": "adam_at_rest", "moments": 2}),
        ("norm_jacobian", {}),
    ],
)
def test_parameters_decide_what_there_is(state, name, given):
    stated = refuse_difference(probes[name], state("post"), **given)
    if given == {"batches": 1}:  # of which no noise can be estimated
        assert set(stated) == {"gradient_norm", "gradient_norm_mean", "gradient_rms"}


def test_the_gradient_of_the_next_update_has_two_numbers_a_matrix(state, trained):
    stated = refuse_difference(probes["gradient_norm"], trained(state("post")), batches="step")
    assert set(stated) == {"gradient_norm", "gradient_rms"}


def test_batch_norms_alone_have_a_discrepancy(state, trained):
    stated = refuse_difference(probes["statistics_discrepancy"], trained(state("post", norm="batch")), batches=1)
    assert stated["mean_discrepancy"]
