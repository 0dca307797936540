"""Seeds too few for any verdict are announced by check and plan, calmly; a time that nobody can know is not."""

import pytest

from tests.support.toy_specs import toy_spec

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
  - {id: ends, says: S., kind: status, of: {placement: post}, status: finished}
  - {id: exact, says: X., kind: bound, of: {quantity: gradient_norm, step: 0}, exact: true, at_least: 0}
"""
SPEC = toy_spec(rest=REST, model={"layers": 2}, optimizer={"lr": 0.001}, train={"steps": 4}, seeds=4)


@pytest.fixture
def spec(workdir):
    path = workdir / "few.yaml"
    path.write_text(SPEC.replace("WEIGHT", "layer: 1, stack: decoder, tensor: w2, sublayer: feed_forward"))
    return path


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        (2, "2 seeds; 5 of 6 claims stay undecided"),
        (4, "4 seeds; 3 of 6 claims stay undecided"),
        (5, "5 seeds; 1 of 6 claims stays undecided"),
        (6, ""),
    ],
)
def test_claims_that_no_numbers_could_decide_are_counted(lnlab, spec, seeds, said):
    checked = lnlab("check", "few.yaml", "-s", f"seeds={seeds}")
    assert checked.code == 0
    rule = (
        "a verdict needs at least 3 seeds at initialization, 5 after training and for an order, a fit or a table, and "
    )
    rule += "6 for a share or a median"
    assert checked.out.count("note:") == bool(said)
    assert (f"few.yaml: default: note: {said}: {rule}" in checked.out) == bool(said)
    plan = lnlab("plan", "few.yaml", "-s", f"seeds={seeds}")
    assert (f"note: {said}: {rule}" in plan.out.splitlines()) == bool(said)


def test_a_spec_without_profiles_says_so(lnlab, spec):
    for verb in ("run", "report", "status", "check", "plan"):
        said = lnlab(verb, "few.yaml", "-p", "real")
        assert (said.code, said.err) == (2, "--profile real: this spec defines no profiles; leave out --profile\n")


def test_an_absent_profile_is_never_named_in_a_remedy(lnlab, tiny):
    said = lnlab("report", "tiny.yaml", "-p", "rael")
    assert (said.code, said.err.partition(" (")[0]) == (
        2,
        "--profile rael: this spec has no profile 'rael'; did you mean 'real'?",
    )
    said = lnlab("report", "tiny.yaml", "-p", "real")
    assert "lnlab run tiny.yaml --profile real" in said.err
