"""What ``check`` and ``plan`` say before a run: seeds too few for any verdict are noted, unequal grids are refused."""

import pytest

from tests.support.toy_specs import SMALLEST, toy_spec

REST = """\
probes:
  - {kind: gradient_norm, at: [0, 4], batches: 1}
  - {kind: hidden_norm, at: init, batches: 1}
claims:
  - {id: end, says: E., kind: bound, of: {quantity: final_nll}, at_most: 3}
  - {id: begin, says: B., kind: bound, of: {quantity: gradient_norm, step: 0, WEIGHT}, at_most: 3}
  - {id: last, says: L., kind: bound, of: {quantity: gradient_norm, step: last, WEIGHT}, at_most: 3}
  - {id: hidden, says: H., kind: bound, of: {quantity: hidden_norm, layer: 1, stack: decoder, tensor: out,
     sublayer: feed_forward}, at_most: 3}
  - {id: ends, says: S., kind: status, of: {quantity: final_nll, placement: post}, at_most: 9}
  - {id: exact, says: X., kind: bound, of: {quantity: gradient_norm, step: 0}, exact: true, at_least: 0}
"""
SPEC = toy_spec(rest=REST, model={"layers": 2}, optimizer={"lr": 0.001}, train={"steps": 4}, seeds=4)


@pytest.fixture
def spec(workdir):
    path = workdir / "few.yaml"
    path.write_text(SPEC.replace("WEIGHT", "layer: 1, stack: decoder, tensor: w2, sublayer: feed_forward"))
    return path


@pytest.mark.parametrize(("seeds", "told"), [(2, "5 of 6"), (4, "3 of 6"), (5, "1 of 6"), (6, "")])
def test_claims_that_no_numbers_could_decide_are_counted(lnlab, console, spec, seeds, told):
    checked = console("check", "few.yaml", "-s", f"seeds={seeds}")
    assert checked.code == 0
    notes = [line.partition("note: ")[2] for line in checked.out.splitlines() if "note: " in line]
    assert [told in note for note in notes] == [True] * bool(told)
    plan = lnlab("plan", "few.yaml", "-s", f"seeds={seeds}").out.splitlines()
    assert [line.removeprefix("note: ") for line in plan if line.startswith("note: ")] == notes


def test_an_absent_profile_is_refused_and_never_named_in_a_remedy(console, spec, tiny):
    for verb in ("run", "report", "status", "check", "plan"):
        console.refused(verb, "few.yaml", "-p", "real")
    console.refused("report", "tiny.yaml", "-p", "rael")
    console.refused("report", "tiny.yaml", "-p", "real")


CLAIMS = """\
methods: {A: {}, B: {norm: rms}}
sweep:
  - {method: [A], optimizer.lr: [1e-3, 1e-2, 1e-1]}
  - {method: [B], optimizer.lr: [1e-3, RATES]}
train: {steps: 20, evaluate: {every: 10}}
claims:
  - {id: better, says: A is better., kind: difference, of: {quantity: best_lr_nll, method: A}, to: {method: B},
     at_most: 0}
  - {id: least, says: A is better., kind: difference, of: {quantity: final_nll, method: A}, to: {method: B},
     over: optimizer.lr, reduce: min, at_most: 0}
"""


def checked(console, workdir, rates):
    (workdir / "grids.yaml").write_text(toy_spec(SMALLEST, CLAIMS.replace("RATES", rates), seeds=6))
    return console("check", "grids.yaml")


def test_bests_of_unequal_grids_are_refused_where_they_are_taken(console, workdir):
    refused = checked(console, workdir, "1e-2")
    assert refused.code == 2
    places = [line.split(": ")[1] for line in refused.err.splitlines()]
    assert places == ["claims.better.of.quantity", "claims.least.reduce"]


def test_bests_of_equal_grids_are_compared(console, workdir):
    assert checked(console, workdir, "1e-2, 1e-1").code == 0
