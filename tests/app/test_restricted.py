"""The runs that one claim selects: a trajectory goes no further than the longest of them."""

from lnlab.app.bisection.judge import restricted
from lnlab.app.python_request import request_of
from lnlab.app.request import compile_request, load_registries
from lnlab.report.question import claims_with_choices

SPEC = {
    "lnlab": 2,
    "title": "Does a longer run end lower?",
    "task": {
        "kind": "translation",
        "corpus": {"kind": "toy_german_english", "train": 200},
        "vocabulary": 200,
        "batch_tokens": 64,
    },
    "model": {"kind": "encoder_decoder", "layers": 1, "d_model": 16, "heads": 2, "d_ff": 32},
    "placement": "post",
    "optimizer": {"kind": "adam", "lr": 1e-3},
    "seeds": 2,
    "methods": {"Short": {"train.steps": 2}, "Longer": {"train.steps": 3}, "Longest": {"train.steps": 5}},
    "sweep": [{"method": ["Short", "Longer", "Longest"]}],
    "claims": [
        {
            "id": "longer_is_lower",
            "says": "A run of three training steps ends lower than one of two.",
            "kind": "order",
            "of": {"quantity": "final_nll", "method": ["Short", "Longer"], "split": "validation"},
            "over": "method",
            "order": "Longer < Short",
        }
    ],
}


def test_trajectories_go_no_further_than_the_longest_run_that_the_claim_selects():
    """Three lengths are one trajectory a seed, of five steps; the claim needs three of them."""
    plan, _ = compile_request(request_of(SPEC, None, (), ()), load_registries(()))
    [claim] = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
    assert [trajectory.steps for trajectory in plan.trajectories] == [5, 5]
    part = restricted(plan, claim)
    assert sorted(run.steps for run in part.runs) == [2, 2, 3, 3]
    assert [trajectory.steps for trajectory in part.trajectories] == [3, 3]
    assert {m.step for trajectory in part.trajectories for m in trajectory.measurements} <= {0, 2, 3}
