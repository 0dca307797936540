"""Like models are built once, and what cannot be built is told of every variant all the same."""

import pytest

import lnlab.execute.meta as meta
from lnlab.app.planning.checks import check_profiles
from lnlab.app.request import Request
from lnlab.committed.registries import load_registries
from tests.support.toy_specs import ENCODER, toy_spec

SPEC = toy_spec(
    ENCODER,
    task={"vocabulary": 30, "sentences": 4, "length": 6},
    model={"layers": 1, "heads": 4, "d_ff": 16, "tied": "none"},
    norm="layer",
    init="xavier_normal",
    seeds=2,
    probes=[{"kind": "gradient_norm", "batches": 1}],
    profiles={"smoke": {"seeds": 1}, "others": {"model.d_ff": 32}},
)


@pytest.fixture
def builds(monkeypatch):
    """The depth of every model that is built."""
    depths = []
    build = meta.initialized_on_meta

    def counted(setting, registries):
        depths.append(setting["encoder"]["layers"])
        return build(setting, registries)

    monkeypatch.setattr(meta, "initialized_on_meta", counted)
    return depths


def checked(tmp_path, sweep, more="", profile=None):
    spec = tmp_path / "toy.yaml"
    spec.write_text(f"{SPEC}sweep: [{sweep}]\n{more}")
    return check_profiles(Request(spec, profile), load_registries(()))


@pytest.mark.parametrize(
    ("sweep", "models", "whole", "shallow"),
    [
        ("{model.layers: [2, 3]}", 2, [2, 3], 1),  # the shallow one is of the profile with another d_ff
        ("{model.layers: [2, 3], model.d_model: [8, 16, 32]}", 6, [2, 3], 5),
        ("{norm: [layer, rms], model.d_model: [8, 16, 32]}", 6, [1, 1], 10),
        ("{optimizer.lr: [0.1, 0.2], optimizer.kind: [adam, sgd], train.steps: [1], model.layers: [2]}", 4, [2], 1),
        ("{init: [xavier_normal, xavier_uniform, fairseq], model.layers: [2, 3]}", 6, [2, 3], 5),
    ],
)
def test_a_structure_is_built_whole_once_and_of_its_other_sizes_one_layer(
    tmp_path, builds, sweep, models, whole, shallow
):
    summaries, problems = checked(tmp_path, sweep)
    assert problems == []
    assert [summary.models for summary in summaries] == [models] * 3
    deep = [n for n in builds if n > 1]
    assert deep == [n for n in whole if n > 1]
    assert len(builds) == len(whole) + shallow


def test_a_size_that_does_not_fit_is_told_of_every_variant_that_has_it(tmp_path, builds):
    _, problems = checked(tmp_path, "{model.layers: [2, 3], task.vocabulary: [30, 20]}")
    told = [problem.where for problem in problems if "need 25 rows" in problem.what]
    assert len(problems) == len(told) == 2
    assert all("task.vocabulary=20" in where for where in told)
    assert {n for n in (2, 3) for where in told if f"model.layers={n}" in where} == {2, 3}
    assert builds


def test_a_size_that_comes_with_another_optimizer_is_built_too(tmp_path):
    first, second = "{task.vocabulary: [30], optimizer.kind: [adam]}", "{task.vocabulary: [20], optimizer.kind: [sgd]}"
    trained = "optimizer: adam\nschedule: constant\ntrain: {steps: 1}\n"
    _, problems = checked(tmp_path, f"{first}, {second}", trained, "smoke")
    assert len(problems) == 1
    assert "need 25 rows" in problems[0].what


def test_an_optimizer_by_group_is_built_at_every_rate_on_a_model_whose_weights_have_places(tmp_path):
    trained = "optimizer: by_group\nschedule: constant\ntrain: {steps: 1}\n"
    _, problems = checked(tmp_path, "{optimizer.lr: [0.5, 1.0, 2.0], model.layers: [1, 2]}", trained)
    assert problems == []
