"""The table of resolved settings, against a walk over parsed JSON; paths long, short, absent."""

import random

import polars as pl
import pytest

from lnlab.keys import canonical
from lnlab.select.settings import NothingSelected, settings_of
from lnlab.specfile.values import matches, value_label


def labels(results, path):
    """What each variant has at a path, as rows read it."""
    return dict(settings_of(results).labels(path).iter_rows())


def parts(results):
    return {variant: setting.parts for variant, setting in settings_of(results).by_variant.items()}


def test_kinds_alike_are_told_apart_by_their_label_or_whole(setting, experiment):
    variants = {"a": setting(norm={"kind": "layer", "eps": 0.1}), "b": setting(norm={"kind": "layer", "eps": 0.2})}
    bare = experiment(variants, (1,), lambda v, s: [])
    assert labels(bare, "norm") == {"a": '{"eps":0.1,"kind":"layer"}', "b": '{"eps":0.2,"kind":"layer"}'}
    labelled = experiment(variants, (1,), lambda v, s: [], axes=[("norm", lambda s: s["encoder"]["norm"]["eps"])])
    assert labels(labelled, "norm") == {"a": "0.1", "b": "0.2"}


def test_a_label_names_the_parameters_alone_in_which_another_of_its_kind_differs(setting, experiment):
    plain = {"kind": "batch", "eps": 1e-5, "momentum": 0.1, "naive": False}
    norms = {"a": plain, "b": {**plain, "naive": True}}
    norms |= {"c": {"kind": "layer", "eps": 1e-5}, "d": {"kind": "rms", "eps": 0.5}}
    said = {"a": "batch", "b": value_label(norms["b"]), "c": "layer", "d": value_label(norms["d"])}
    assert said["b"] == "batch (eps 1e-05, momentum 0.1, naive true)"
    called = {norm["kind"] + str(norm.get("naive")): said[name] for name, norm in norms.items()}
    axes = [("norm", lambda s: called[s["encoder"]["norm"]["kind"] + str(s["encoder"]["norm"].get("naive"))])]
    found = experiment({name: setting(norm=norm) for name, norm in norms.items()}, (1,), lambda v, s: [], axes=axes)
    short = {"a": "batch", "b": "batch (naive true)", "c": "layer", "d": "rms (eps 0.5)"}
    assert labels(found, "norm") == short
    assert settings_of(found).short_labels("norm") == {said[name]: word for name, word in short.items()}


def test_a_name_that_the_spec_gives_is_a_path_and_settings_stand_in_the_order_of_the_plan(setting, experiment):
    variants = {"a": setting("post"), "b": setting("pre")}
    names = {"post": "Post-LN", "pre": "Pre-LN"}
    axes = [("method", lambda given: names[given["encoder"]["placement"]["kind"]])]
    found = experiment(variants, [1, 2], lambda variant, seed: [], axes=axes)
    assert labels(found, "method") == {"a": "Post-LN", "b": "Pre-LN"}
    assert parts(found) == {v: {**given, "method": labels(found, "method")[v]} for v, given in variants.items()}
    assert parts(experiment(variants, [1], lambda variant, seed: [])) == variants
    variants = {f"v{n * 7919 % 211}": setting("post", n + 1, n + 1) for n in range(200)}
    found = experiment(variants, [1, 2], lambda variant, seed: [])
    assert list(settings_of(found).by_variant) == list(variants)
    assert list(labels(found, "model.layers").values()) == [float(n + 1) for n in range(200)]


STACKS_IN_TURN = ("encoder", "decoder")
CHOICES = [{"kind": "layer", "eps": 0.1}, {"kind": "layer", "eps": 1}, {"kind": "rms"}, None, "layer", True, 1, 2.5]
PATHS = ("norm", "norm.kind", "norm.eps", "model.layers", "encoder.norm", "task.length", "task", "optimizer.lr", "init")
CONDITIONS = (None, "layer", True, 1, 1.0, 0.1, ["rms", None], [1, 2], {"kind": "layer"}, {"eps": 0.1}, "none", [])


def random_setting(draw):
    """Keys are there or not, and values of every type; a stack may be missing."""
    stacks = {s: {"layers": draw.choice([1, 2]), "norm": draw.choice(CHOICES)} for s in STACKS_IN_TURN}
    setting = {s: stack for s, stack in stacks.items() if draw.random() < 0.8}
    if draw.random() < 0.7:
        setting["task"] = {"kind": "copy", "length": draw.choice([4, 4.5, None])}
    return setting | {
        "optimizer": draw.choice([None, {"kind": "sgd", "lr": 0.5}]),
        "init": draw.choice([[], CHOICES[:2]]),
    }


def walked(value, words):
    """What stands at the words in parsed JSON, in a list of one; an empty list where nothing does."""
    for word in words:
        if not isinstance(value, dict) or word not in value:
            return []
        value = value[word]
    return [value]


def values_at(setting, path):
    """The distinct values at a path of parsed JSON: what a short form stands for is spelled out by hand."""
    below = {"norm": "norm", "norm.kind": "norm.kind", "norm.eps": "norm.eps", "model.layers": "layers"}.get(path)
    paths = [path] if below is None else [f"{stack}.{below}" for stack in STACKS_IN_TURN]
    values = [value for long in paths for value in walked(setting, long.split("."))]
    return [value for i, value in enumerate(values) if canonical(value) not in map(canonical, values[:i])]


@pytest.mark.parametrize("path", PATHS)
def test_the_table_has_what_a_walk_over_the_parsed_settings_finds(path, experiment):
    draw = random.Random(path)
    variants = {f"v{number}": random_setting(draw) for number in range(60)}
    table = settings_of(experiment(variants, (2, 1), lambda variant, seed: []))
    values = {variant: values_at(setting, path) for variant, setting in variants.items()}
    alone = [(variant, those[0]) for variant, those in values.items() if len(those) == 1 and those[0] is not None]
    assert table.values(path).rows() == [(variant, canonical(value)) for variant, value in alone]
    assert table.unknown_paths([path, "nowhere"]) == ["nowhere"]
    single = {variant: those[0] if those else None for variant, those in values.items() if len(those) < 2}
    for condition in CONDITIONS:
        meeting = [variant for variant, value in single.items() if matches(value, condition)]
        assert table.where({path: condition})["variant"].to_list() == meeting, condition
    numbers = {v: value for v, value in single.items() if isinstance(value, int | float) and value is not True}
    assert dict(table.numbers(path).iter_rows()) == numbers
    present = {variant: value for variant, value in single.items() if value is not None}
    labels = dict(table.labels(path).iter_rows())
    assert list(labels) == list(variants)
    assert {variant for variant, label in labels.items() if label is not None} == set(present)
    if len(numbers) == len(present):
        assert {variant: label for variant, label in labels.items() if label is not None} == numbers


def test_several_conditions_join_and_stacks_are_selected_each_by_its_own_value(setting, experiment, golden):
    variants = {"a": setting("post", 2, 2), "b": setting("pre", 2, 2), "c": setting("post", 2, 3)}
    table = settings_of(experiment(variants, (1,), lambda variant, seed: []))
    assert table.select({"placement": "post", "model.layers": 2})["variant"].to_list() == ["a"]
    assert table.select({})["variant"].to_list() == ["a", "b", "c"]
    with golden.raises(NothingSelected):
        table.select({"placement": "post", "model.depth": 2})
    assert table.where({"model.depth": 2}).is_empty()
    table = settings_of(experiment({"a": setting("post"), "b": setting("pre")}, (1,), lambda variant, seed: []))
    assert table.stacks_where("placement.kind", "post").rows() == [("a", "encoder"), ("a", "decoder")]
    assert table.stacks_where("norm.eps", 2).rows() == []


def test_variants_of_one_group_differ_at_one_path_alone(setting, experiment):
    variants = {"a": setting("post"), "b": setting("pre"), "c": setting("post", 5, 5), "d": setting("pre", 5, 5)}
    groups = settings_of(experiment(variants, (1,), lambda variant, seed: [])).groups("placement")
    assert groups["variant"].to_list() == list(variants)
    a, b, c, d = groups["group"]
    assert a == b != c == d
    assert "placement" not in a


def test_a_name_and_a_multiple_do_not_tell_groups_apart_where_they_follow_from_the_path(setting, experiment):
    """A method may be named after its placement; ``times`` is how often a chosen rate, which is in the setting."""
    rates = {"a": 1, "b": 2}
    variants = {v: setting() | {"optimizer": {"kind": "sgd", "lr": rate}} for v, rate in rates.items()}
    axes = [("times", lambda setting: setting["optimizer"]["lr"])]
    groups = settings_of(experiment(variants, (1,), lambda variant, seed: [], axes=axes)).groups("optimizer.lr")
    assert groups["group"].n_unique() == 1
    variants = {"a": setting("post"), "b": setting("pre")}
    axes = [("method", lambda setting: setting["encoder"]["placement"]["kind"])]
    named = settings_of(experiment(variants, (1,), lambda variant, seed: [], axes=axes))
    assert named.groups("placement")["group"].n_unique() == 1
    assert named.groups("encoder.placement")["group"].n_unique() == 2


def test_rows_take_the_columns_of_paths_in_their_own_order(setting, experiment):
    table = settings_of(experiment({"a": setting("post"), "b": setting("pre")}, (1,), lambda variant, seed: []))
    rows = pl.DataFrame({"variant": ["b", "a", "b"], "value": [1.0, 2.0, 3.0]})
    columns = table.with_columns(rows, ["placement", "value", "encoder.layers"])
    assert columns["placement"].to_list() == ["pre", "post", "pre"]
    assert columns["encoder.layers"].to_list() == [2.0, 2.0, 2.0]
    assert columns.drop("placement", "encoder.layers").equals(rows)
