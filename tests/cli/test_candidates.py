"""``check`` refuses a comparison of bests of unequal grids at its place, before anything is run."""

from tests.support.toy_specs import SMALLEST, toy_spec

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
