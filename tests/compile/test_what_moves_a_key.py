"""Which parameter moves which key: of variants, runs, trajectories, and of what is measured at the start and later.

A key that does not move where it should gives a run the rows of another; one that moves where it need not computes what
is there. Every parameter of a resolved setting has a line, so that a new one has to say what it moves.
"""

import json
from pathlib import Path

import pytest

from lnlab.compile.plan import Plan, compile_plan
from lnlab.specfile.load import parse_spec
from tests.support.keys_moved import keys_moved_by

STACK = {"layers": 2, "placement": {"kind": "deep", "alpha": 0.5}, "norm": "rms", "attention": "softmax"}
SPEC = {
    "lnlab": 2,
    "title": "A title",
    "task": {"kind": "translation", "corpus": {"kind": "toy", "pairs": 10}},
    "model": {"kind": "encoder_decoder", "heads": 2},
    "encoder": STACK,
    "decoder": STACK,
    "init": "xavier_normal",
    "optimizer": {"kind": "adam", "lr": 0.1},
    "schedule": "constant",
    "train": {"steps": 3},
    "seeds": [3, 4],
    "probes": [{"kind": "gradient_norm", "at": [0, 2]}],
}
EVERYTHING = {"variant", "run", "trajectory", "at init", "later"}
MOVEMENT = EVERYTHING - {"at init"}
LENGTH = {"variant", "run"}
"""A run and a longer one share their trajectory, and what is measured where both have been."""
ON_EVALUATIONS = {"train.stop": "patience", "train.evaluate": [1, 3]}
LINEAR = {"schedule": "linear"}
LINES = [  # (what the spec has beside SPEC, parameter, value, the keys that move)
    ({}, "task.corpus.pairs", 11, EVERYTHING),
    ({}, "task.corpus", "multi30k", EVERYTHING),
    ({}, "task.vocabulary", 999, EVERYTHING),
    ({}, "task.batch_tokens", 256, EVERYTHING),
    ({}, "task.label_smoothing", 0.2, EVERYTHING),
    ({}, "model.d_model", 32, EVERYTHING),
    ({}, "model.heads", 4, EVERYTHING),
    ({}, "model.d_ff", 64, EVERYTHING),
    ({}, "model.dropout", 0.1, EVERYTHING),
    ({}, "model.tied", "none", EVERYTHING),
    ({}, "encoder.layers", 3, EVERYTHING),
    ({}, "decoder.layers", 3, EVERYTHING),
    ({}, "decoder.cross_attention", False, EVERYTHING),
    ({}, "encoder.placement.alpha", 0.6, EVERYTHING),
    ({}, "decoder.placement.alpha", 0.6, EVERYTHING),
    ({}, "encoder.norm.eps", 1e-3, EVERYTHING),
    ({}, "decoder.norm.eps", 1e-3, EVERYTHING),
    ({}, "encoder.norm", "layer", EVERYTHING),
    ({}, "encoder.attention.dropout", 0.1, EVERYTHING),
    ({}, "decoder.attention.dropout", 0.1, EVERYTHING),
    ({}, "init.gain", 2.0, EVERYTHING),
    ({}, "interventions", [{"kind": "rescale", "where": {}}], EVERYTHING),
    ({}, "train.precision", "float64", EVERYTHING),
    ({}, "train.device", "cuda", EVERYTHING),
    ({}, "seeds", [5, 6], {"run", "trajectory", "at init", "later"}),
    ({}, "interventions", ["freeze"], MOVEMENT),
    ({}, "optimizer.lr", 0.2, MOVEMENT),
    ({}, "optimizer.betas", [0.9, 0.99], MOVEMENT),
    ({}, "schedule.warmup_steps", 1, MOVEMENT),
    ({}, "schedule", "linear", MOVEMENT),
    ({}, "train.accumulate", 2, MOVEMENT),
    ({}, "train.clip", 1.0, MOVEMENT),
    ({}, "train.stop", "patience", MOVEMENT),
    (ON_EVALUATIONS, "train.stop.looks", 4, MOVEMENT),
    # What a rule reads is part of what ends a run; and so is the last step, at which evaluations are made.
    (ON_EVALUATIONS, "train.evaluate", [2, 3], MOVEMENT),
    (ON_EVALUATIONS, "train.steps", 4, MOVEMENT),
    ({}, "train.evaluate", [2, 3], set()),
    (LINEAR, "train.steps", 4, MOVEMENT),
    ({}, "train.steps", 4, LENGTH),
    ({}, "probes", [{"kind": "gradient_norm", "at": [0, 2], "batches": 7}], {"at init", "later"}),
    ({}, "title", "Another title", set()),
    ({}, "question", "why?", set()),
    ({}, "source", {"cite": "x"}, set()),
    ({}, "differs", ["x"], set()),
    ({}, "dropped", [{"why": "x", "claims": [{"id": "a", "says": "x", "was": "supported"}]}], set()),
    ({}, "report", [{"kind": "depth_profile", "quantity": "gradient_norm"}], set()),
    ({}, "profiles", {"a": {"seeds": 1}}, set()),
]
ONE_VALUE = {"train.threads", "train.epochs", "train.tokens_per_parameter"}
"""The first has a single value, and the others become steps: test_identity, test_plan and test_lengths have their keys.
"""


def planned(laboratory, *changes: dict) -> Plan:
    data = json.loads(json.dumps(SPEC))
    for path, value in (item for change in changes for item in change.items()):
        *above, last = path.split(".")
        inner = data
        for word in above:
            named = inner.get(word, {})
            inner[word] = inner = {"kind": named} if isinstance(named, str) else named
        inner[last] = value
    return compile_plan(parse_spec(json.dumps(data), Path("a.yaml")), laboratory, ())


@pytest.mark.parametrize(("given", "path", "value", "moved"), LINES, ids=lambda part: json.dumps(part, default=sorted))
def test_a_parameter_moves_these_keys_and_no_others(laboratory, given, path, value, moved):
    assert keys_moved_by(planned(laboratory, given), planned(laboratory, given, {path: value})) == moved


def leaves(value, path=()):
    """The paths of a resolved setting that hold no mapping; a kind goes with its parameters."""
    if isinstance(value, dict):
        for word, inner in value.items():
            if word != "kind":
                yield from leaves(inner, (*path, word))
    else:
        yield ".".join(path)


def test_every_parameter_of_a_setting_has_its_line(laboratory):
    plan = planned(laboratory, ON_EVALUATIONS)
    parameters = {leaf for setting in plan.settings.values() for leaf in leaves(setting)}
    stated = {path for _, path, *_ in LINES}
    assert {leaf for leaf in parameters - ONE_VALUE if not any(leaf.startswith(path) for path in stated)} == set()
