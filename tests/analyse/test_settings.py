"""Paths of a setting: long, short, absent."""

from lnlab.analyse.select.settings import (
    meets_condition,
    path_labels,
    setting_value,
    setting_values,
    short_axis_labels,
    variant_settings,
)
from lnlab.setting import Setting
from lnlab.specfile.values import value_label


def test_a_long_path_reaches_parameters_of_choices(setting):
    assert setting_value(setting(), "decoder.norm.eps") == 1e-05
    assert setting_value(setting(), "task.corpus.kind") == "toy"


def test_a_short_form_has_a_value_only_where_stacks_agree(setting):
    assert setting_value(setting(encoder=3, decoder=3), "model.layers") == 3
    assert setting_value(setting(encoder=3, decoder=4), "model.layers") is None
    assert setting_values(setting(encoder=3, decoder=4), "model.layers") == [3, 4]


def test_a_short_form_below_a_choice_and_one_that_a_single_stack_has(setting):
    assert setting_value(setting(), "norm.eps") == 1e-05
    assert setting_value(setting(cross=False), "cross_attention") is False


def test_disagreeing_stacks_are_not_null(setting):
    assert not meets_condition(setting(encoder=3, decoder=4), "model.layers", None)
    assert meets_condition(setting(), "optimizer", None)
    assert meets_condition(setting(), "optimizer.lr", None)


def test_paths_name_long_and_short_forms(setting):
    known = Setting(setting()).paths()
    assert {"encoder.layers", "model.layers", "placement", "cross_attention", "decoder.norm.eps"} <= set(known)
    assert "layers" not in known


def test_words_are_numbers_kinds_or_labels(profiles):
    assert path_labels(profiles, "decoder.layers") == {"post2": 2, "post3": 3, "pre2": 2, "pre3": 3, "mixed": 3}
    assert path_labels(profiles, "placement")["pre3"] == "pre"
    assert path_labels(profiles, "model.layers")["mixed"] is None
    assert path_labels(profiles, "decoder.cross_attention")["mixed"] == "false"


def test_kinds_alike_are_told_apart_by_their_label_or_whole(setting, experiment):
    variants = {"a": setting(norm={"kind": "layer", "eps": 0.1}), "b": setting(norm={"kind": "layer", "eps": 0.2})}
    bare = experiment(variants, (1,), lambda v, s: [])
    assert path_labels(bare, "norm") == {"a": '{"eps":0.1,"kind":"layer"}', "b": '{"eps":0.2,"kind":"layer"}'}
    labelled = experiment(variants, (1,), lambda v, s: [], axes=[("norm", lambda s: s["encoder"]["norm"]["eps"])])
    assert path_labels(labelled, "norm") == {"a": "0.1", "b": "0.2"}


def test_a_label_names_the_parameters_alone_in_which_another_of_its_kind_differs(setting, experiment):
    plain = {"kind": "batch", "eps": 1e-5, "momentum": 0.1, "naive": False}
    norms = {
        "a": plain,
        "b": {**plain, "naive": True},
        "c": {"kind": "layer", "eps": 1e-5},
        "d": {"kind": "rms", "eps": 0.5},
    }
    said = {"a": "batch", "b": value_label(norms["b"]), "c": "layer", "d": value_label(norms["d"])}
    assert said["b"] == "batch (eps 1e-05, momentum 0.1, naive true)"
    called = {norm["kind"] + str(norm.get("naive")): said[name] for name, norm in norms.items()}
    axes = [("norm", lambda s: called[s["encoder"]["norm"]["kind"] + str(s["encoder"]["norm"].get("naive"))])]
    found = experiment({name: setting(norm=norm) for name, norm in norms.items()}, (1,), lambda v, s: [], axes=axes)
    short = {"a": "batch", "b": "batch (naive true)", "c": "layer", "d": "rms (eps 0.5)"}
    assert path_labels(found, "norm") == short
    assert short_axis_labels(found, "norm") == {said[name]: word for name, word in short.items()}


def test_a_default_is_told_by_its_numbers_where_others_of_its_kind_have_others(setting, experiment):
    laws = {"a": {"kind": "uniform", "a": -0.1, "b": 0.1}, "b": {"kind": "uniform", "a": -1.0, "b": 0.1}}
    said = {-0.1: "uniform", -1.0: value_label(laws["b"])}
    variants = {name: setting() | {"init": law} for name, law in laws.items()}
    found = experiment(variants, (1,), lambda v, s: [], axes=[("init", lambda s: said[s["init"]["a"]])])
    assert path_labels(found, "init") == {"a": "uniform (a -0.1)", "b": "uniform (a -1.0)"}


def test_a_mapping_that_is_no_choice_keeps_its_label(setting, experiment):
    """When to evaluate is swept beside how long to train."""
    moments = {"a": {"every": 57}, "b": {"every": 9}}
    variants = {name: setting() | {"train": {"steps": 0, "evaluate": at}} for name, at in moments.items()}
    axes = [("train.evaluate", lambda s: value_label(s["train"]["evaluate"]))]
    found = experiment(variants, (1,), lambda v, s: [], axes=axes)
    assert short_axis_labels(found, "train.evaluate") == {value_label(at): value_label(at) for at in moments.values()}


def test_a_name_that_the_spec_gives_is_a_path_of_the_setting(setting, experiment):
    variants = {"a": setting("post"), "b": setting("pre")}
    names = {"post": "Post-LN", "pre": "Pre-LN"}
    axes = [("method", lambda given: names[given["encoder"]["placement"]["kind"]])]
    found = experiment(variants, [1, 2], lambda variant, seed: [], axes=axes)
    assert path_labels(found, "method") == {"a": "Post-LN", "b": "Pre-LN"}
    assert variant_settings(found) == {
        v: {**given, "method": path_labels(found, "method")[v]} for v, given in variants.items()
    }
    assert variant_settings(experiment(variants, [1], lambda variant, seed: [])) == variants


def test_settings_stand_in_the_order_of_the_plan(setting, experiment):
    variants = {f"v{n * 7919 % 211}": setting("post", n + 1, n + 1) for n in range(200)}
    found = experiment(variants, [1, 2], lambda variant, seed: [])
    assert list(variant_settings(found)) == list(variants)
    assert list(path_labels(found, "model.layers").values()) == [float(n + 1) for n in range(200)]
