"""Dotted paths: set without changing, read long and short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.compile.setting_paths import assign, set_path
from lnlab.registry import Flawed
from lnlab.setting import MISSING, Setting

SETTING = {
    "model": {"kind": "m", "d": 4},
    "encoder": {
        "layers": 2,
        "norm": {"kind": "rms", "eps": 1e-6},
        "placement": {"kind": "post"},
        "attention": {"kind": "a"},
    },
    "decoder": {
        "layers": 2,
        "norm": {"kind": "rms", "eps": 1e-5},
        "placement": {"kind": "post"},
        "attention": {"kind": "a"},
    },
    "optimizer": None,
}


@pytest.mark.parametrize(
    ("given_", "path", "value", "result"),
    [
        ("a", (), "b", "b"),
        ("a", ("x",), 1, {"kind": "a", "x": 1}),
        (None, ("x", "y"), 1, {"x": {"y": 1}}),
        ({"x": "a", "z": 0}, ("x", "y"), 1, {"x": {"kind": "a", "y": 1}, "z": 0}),
    ],
)
def test_assign_makes_a_new_value_and_a_word_becomes_a_mapping(given_, path, value, result):
    before = repr(given_)
    assert assign(given_, path, value) == result
    assert repr(given_) == before


@pytest.mark.parametrize("given_", [3, [1], True])
def test_nothing_is_set_inside_what_is_no_mapping(given_):
    with pytest.raises(Flawed, match="not a mapping"):
        assign({"a": given_}, ("a", "b"), 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.d", 4),
        ("encoder.norm.eps", 1e-6),
        ("placement", {"kind": "post"}),
        ("placement.kind", "post"),
        ("norm.kind", "rms"),
        ("norm", MISSING),
        ("norm.eps", MISSING),
        ("model.layers", 2),
        ("encoder.sublayers", 4),
        ("model.sublayers", 8),
        ("model.d.x", MISSING),
        ("nothing", MISSING),
        ("optimizer", None),
    ],
)
def test_a_short_form_is_there_where_the_stacks_agree(path, value):
    assert Setting(SETTING).at(path) == value


def test_every_path_of_a_setting_is_listed_and_every_listed_path_is_there():
    found = Setting(SETTING).paths()
    short = {"model.layers", "norm", "norm.eps", "placement.kind", "decoder.sublayers", "model.sublayers"}
    assert {"model.d", "decoder.layers", "optimizer", *short} <= set(found)
    agreeing = {**SETTING, "decoder": SETTING["encoder"]}
    assert all(Setting(agreeing).at(path) is not MISSING for path in Setting(agreeing).paths())


CHOICES = {"interventions": [{"kind": "rescale", "factor": 2}, "freeze", {"kind": "clamp"}, {"kind": "clamp"}]}


def test_a_list_of_choices_is_entered_by_kind():
    before = repr(CHOICES)
    assert set_path(CHOICES["interventions"], "interventions.rescale.factor", 3)[0] == {"kind": "rescale", "factor": 3}
    assert set_path(CHOICES["interventions"], "interventions.freeze.where", {})[1] == {"kind": "freeze", "where": {}}
    assert set_path({"kind": "rescale"}, "interventions.rescale.factor", 3) == {"kind": "rescale", "factor": 3}
    assert set_path("rescale", "interventions", "none") == "none"
    assert repr(CHOICES) == before
    assert Setting(CHOICES).at("interventions.rescale.factor") == 2
    assert Setting(CHOICES).at("interventions.clamp") is MISSING
    assert Setting(CHOICES).at("interventions.detach.where") is MISSING
    assert [path for path in Setting({**SETTING, **CHOICES}).paths() if path.startswith("interventions")] == [
        "interventions",
        "interventions.rescale",
        "interventions.rescale.kind",
        "interventions.rescale.factor",
    ]


@pytest.mark.parametrize(("kind", "what"), [("clamp", "more than one"), ("detach", "none")])
def test_a_kind_that_is_not_there_once_is_not_entered(kind, what, golden):
    with golden.raises(Flawed):
        set_path(CHOICES["interventions"], f"interventions.{kind}.most", 1)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.integers())
def test_what_was_assigned_is_read_back(words, value):
    assert Setting(assign({}, tuple(words), value)).at(".".join(words)) == value
