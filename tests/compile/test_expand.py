"""Grids: shorter paths first, pins and exceptions, and a bound before anything is built."""

import pytest

from lnlab.compile.sweep.expand import expand_points
from lnlab.compile.sweep.grids import pinned_grids
from lnlab.compile.sweep.overlay import merge_spec
from lnlab.specfile.read import read_experiment


@pytest.fixture
def expanded(base, document):
    def expand(sweep: str, *arguments: str):
        made = merge_spec(document(base + f"sweep: {sweep}\n"), None, arguments)
        axes, found = pinned_grids(read_experiment(made.data), made)
        raw = [{key: part.raw for key, part in point.parts.items()} for point in expand_points(made.data, axes, found)]
        return raw, found

    return expand


def test_the_last_axis_is_fastest_and_what_is_not_swept_stays(expanded):
    raw, found = expanded("[{placement: [post, pre], model.layers: [1, 2]}]")
    assert [(r["placement"], r["model"]["layers"]) for r in raw] == [("post", 1), ("post", 2), ("pre", 1), ("pre", 2)]
    assert all(r["task"] == {"kind": "translation", "corpus": "toy"} for r in raw)
    assert found == []


def test_shorter_paths_are_set_first_whatever_the_order_in_the_file(expanded):
    raw, _ = expanded("[{norm.eps: [1, 2], norm: [layer, rms]}]")
    assert [r["norm"] for r in raw] == [
        {"kind": "layer", "eps": 1},
        {"kind": "rms", "eps": 1},
        {"kind": "layer", "eps": 2},
        {"kind": "rms", "eps": 2},
    ]


def test_exceptions_leave_out_partial_points_also_those_of_values_that_are_pinned_away(expanded):
    holes = "[{placement: pre, model.layers: [2]}, {model.layers: 1}]"
    sweep = f"[{{placement: [post, pre], model.layers: [1, 2], except: {holes}}}]"
    raw, found = expanded(sweep)
    assert [(r["placement"], r["model"]["layers"]) for r in raw] == [("post", 2)]
    pinned, found = expanded(sweep, "model.layers=7")
    assert [(r["placement"], r["model"]["layers"]) for r in pinned] == [("post", 7), ("pre", 7)]
    assert found == []


def test_one_is_not_true(expanded):
    raw, _ = expanded("[{model.x: [1, true], except: [{model.x: true}]}]")
    assert [r["model"]["x"] for r in raw] == [1]


def test_too_many_points_are_refused_before_they_are_built(expanded):
    values = list(range(1001))
    raw, found = expanded(f"[{{model.a: {values}, model.b: {values}}}]")
    assert found[0].code == "too-large"
    assert "1,002,001 points" in found[0].what
    assert len(raw) == 1


def test_an_axis_that_is_pinned_to_nothing_is_empty(expanded):
    _, found = expanded("[{placement: [post]}]", "placement=[]")
    assert [(issue.place, issue.code) for issue in found] == [("-s placement=[]", "wrong-length")]


def test_an_exception_may_name_a_value_that_is_a_list_or_several_values(expanded):
    cuts = "[[], [freeze], [freeze, rescale]]"
    for exception, left in (("[freeze]", [[], ["freeze", "rescale"]]), ("[[], [freeze]]", [["freeze", "rescale"]])):
        raw, found = expanded(f"[{{interventions: {cuts}, except: [{{interventions: {exception}}}]}}]")
        assert [r["interventions"] for r in raw] == left
        assert found == []
