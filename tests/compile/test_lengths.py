"""The length of a run in training tokens for each parameter, and warm-up as a share of it."""

import json
from math import ceil
from pathlib import Path

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.plan import compile_plan
from lnlab.errors import LabError
from lnlab.specfile.load import parse_spec
from tests.support.keys_moved import keys_moved_by
from tests.support.pieces import state_of

SPEC = {
    "lnlab": 2,
    "title": "Lengths",
    "question": "How long?",
    "task": {"kind": "language_modeling", "corpus": "toy_english", "vocabulary": 100, "length": 8, "windows": 4},
    "model": {"kind": "language_model", "layers": 2, "d_model": 16, "heads": 2, "d_ff": 32, "tied": "input"},
    "placement": "pre",
    "init": "xavier_normal",
    "optimizer": {"kind": "adam", "lr": 0.01},
    "train": {"tokens_per_parameter": 2.5},
    "schedule": {"kind": "linear", "warmup_steps": 0.1},
    "seeds": 1,
    "probes": [{"kind": "gradient_norm", "at": "init"}],
}


def planned(**changes):
    return compile_plan(parse_spec(json.dumps(SPEC | changes), Path("a.yaml")), REGISTRIES, ())


def settings(**changes):
    return list(planned(**changes).settings.values())


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("share", [2.5, 0.7])
def test_steps_are_the_fewest_with_so_many_tokens_for_each_parameter_of_the_built_model(accumulate, share):
    (setting,) = settings(train={"tokens_per_parameter": share, "accumulate": accumulate})
    parameters = sum(p.numel() for p in state_of(setting).model.parameters())
    tokens = SPEC["task"]["length"] * SPEC["task"]["windows"] * accumulate
    assert setting["train"]["steps"] == ceil(share * parameters / tokens)


def test_a_share_of_warm_up_is_that_share_of_each_length():
    found = settings(sweep=[{"train.tokens_per_parameter": [1, 8]}])
    assert len(found) == 2
    for setting in found:
        assert setting["schedule"]["warmup_steps"] == round(0.1 * setting["train"]["steps"]) > 0


def test_a_share_has_the_keys_of_the_updates_that_it_comes_to():
    (shared,) = settings()
    steps, warmup = shared["train"]["steps"], shared["schedule"]["warmup_steps"]
    stated = planned(train={"steps": steps}, schedule={"kind": "linear", "warmup_steps": warmup})
    assert keys_moved_by(planned(), stated) == set()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"train": {"tokens_per_parameter": 2, "steps": 5}}, "train.tokens_per_parameter"),
        ({"train": {"tokens_per_parameter": 2, "epochs": 5}}, "train.tokens_per_parameter"),
        ({"train": {"tokens_per_parameter": 0}}, "train.tokens_per_parameter"),
        ({"train": {"steps": 0}}, "schedule.warmup_steps"),
        ({"schedule": {"kind": "linear", "warmup_steps": 1.5}}, "schedule.warmup_steps"),
    ],
)
def test_a_length_that_cannot_be_is_refused_at_its_place(changes, path):
    with pytest.raises(LabError) as refused:
        settings(**changes)
    assert [issue.what.split(":")[0] for issue in refused.value.issues] == [path]
