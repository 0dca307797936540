"""A reference is named where it must be, and is there; with the laboratory's own quantities."""

import pytest

from lnlab.compile.plan import compile_plan
from lnlab.errors import SpecError
from lnlab.report.registries import FRAME_REGISTRIES
from tests.support.toy_specs import PIECES, toy_spec

BASE = toy_spec(PIECES, init="xavier_normal", optimizer={"kind": "adam", "lr": 1e-3}, train={"steps": 9}, seeds=2)
TWO = "sweep: [{placement: [post, pre], model.layers: [2, 4]}]\n"
ONE = "sweep: [{model.layers: [2, 4]}]\n"


@pytest.fixture
def problem(registries, document):
    frames = {kind: FRAME_REGISTRIES[kind] for kind in ("quantity", "section", "claim")}

    def build(text):
        try:
            compile_plan(document(text), {**registries, **frames}, ())
        except SpecError as error:
            return "; ".join(map(str, error.issues))
        return ""

    return build


def claim(of, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"claims: [{{id: a, says: b, kind: bound, of: {of}, at_most: 3{extra}}}]\n"


PHI = "quantity: learned_fraction, placement: post, model.layers: 2"


def test_no_reference_is_assumed_where_placements_differ(problem, golden):
    found = problem(BASE + TWO + claim(f"{{{PHI}}}"))
    golden(found)
    assert "reference: best" in found
    golden(
        problem(
            BASE
            + TWO.replace("model.layers", "optimizer.lr").replace("2, 4", "1e-3, 2e-3")
            + claim("{quantity: max_stable_lr, placement: post}")
        )
    )
    assert problem(BASE + ONE + claim("{quantity: learned_fraction, model.layers: 2}")) == ""
    assert problem(BASE + TWO + claim("{quantity: time_to_target, placement: post, model.layers: 2}")) == ""


def test_no_reference_is_assumed_where_inits_differ(problem, golden):
    two = "sweep: [{init.gain: [1, 2]}]\n"
    found = problem(BASE + two + claim("{quantity: learned_fraction, init.gain: 1}"))
    golden(found)
    assert problem(BASE + two + claim("{quantity: learned_fraction, init.gain: 1, reference: {init.gain: 1}}")) == ""


@pytest.mark.parametrize(
    "reference",
    ["best", "{placement: pre}", "{model.layers: 4, same: placement}", "[{placement: pre}, {model.layers: 2}]"],
)
def test_a_reference_that_is_there_passes(problem, reference):
    assert problem(BASE + TWO + claim(f"{{{PHI}, reference: {reference}}}")) == ""


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("{placement: sandwich}", "claims.a.of.reference.placement: no run has placement = sandwich"),
        ("{plcement: pre}", "did you mean 'placement'"),
        ("{seed: 1}", "claims.a.of.reference.seed: a reference is named by its setting"),
        ("{model.layers: 4, same: placemnt}", "did you mean 'placement'"),
        ("worst", "a reference is 'best', a mapping of conditions"),
        ("[]", "a reference is 'best', a mapping of conditions"),
    ],
)
def test_a_reference_that_is_not_there_is_refused(problem, reference, what):
    assert what in problem(BASE + TWO + claim(f"{{{PHI}, reference: {reference}}}"))


def test_a_number_without_reference_refuses_one(problem, golden):
    found = problem(BASE + TWO + claim("{quantity: final_nll, placement: post, model.layers: 2, reference: best}"))
    golden(found)


def test_sections_are_asked_too(problem, golden):
    report = "report: [{kind: outcomes, numbers: [learned_fraction]%s}]\n"
    golden(problem(BASE + TWO + report % ""))
    assert problem(BASE + TWO + report % ", where: {reference: best}") == ""
    assert problem(BASE + TWO + "report: [{kind: outcomes}]\n") == ""
