"""Selection against a slow oracle in plain Python, and the messages for what is not there."""

import json
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.errors import LabError
from lnlab.select.select import Selected, runs_with, select_measured_rows
from lnlab.select.settings import NothingSelected
from lnlab.select.variants import Variants

STACK = ("encoder", "decoder")
ROW_KEYS = ("stack", "layer", "tensor", "seed")


def test_columns_paths_and_ends_together_and_last_is_counted_in_the_rows_own_stack(profiles):
    at = {"stack": "decoder", "tensor": "w2", "layer": "last", "placement": "pre", "model.layers": 3}
    rows = select_measured_rows(profiles, at)
    assert rows["variant"].unique().to_list() == ["pre3"]
    assert rows.sort("seed")["value"].to_list() == [131.5, 132.5]
    rows = select_measured_rows(profiles, {"variant": "mixed", "tensor": "w2", "layer": ["first", "last"], "seed": 1})
    ends = {("encoder", 1), ("encoder", 2), ("decoder", 1), ("decoder", 3)}
    assert set(zip(rows["stack"], rows["layer"], strict=True)) == ends


def test_layers_by_number_and_by_null_and_asked_columns_are_numbers_or_words(profiles):
    assert set(select_measured_rows(profiles, {"layer": [2, None]})["layer"]) == {2, None}
    assert set(select_measured_rows(profiles, {"layer": None})["tensor"]) == {"table"}
    assert select_measured_rows(profiles, {"layer": True}).is_empty()
    rows = select_measured_rows(profiles, {"layer": "last"}, ["decoder.layers", "placement", "stack"])
    assert (rows.schema["decoder.layers"], rows.schema["placement"]) == (pl.Float64, pl.String)
    assert rows.filter(pl.col("variant") == "mixed")["decoder.layers"].unique().to_list() == [3.0]


def test_an_unknown_path_is_refused_with_the_nearest(profiles, golden):
    with golden.raises(NothingSelected):
        select_measured_rows(profiles, {"decoder.layer": 3})
    with pytest.raises(LabError, match="placemen: neither"):
        select_measured_rows(profiles, {}, ["placemen"])


def test_why_empty_names_the_condition_and_what_there_is(profiles, golden):
    asked = [{"stack": "decoder", "tensor": "w9"}, {"placement": "rezero"}, {"step": "last", "tensor": "w9"}]
    golden([str(Selected(profiles, {"quantity": "gradient_norm", **at}).why_empty) for at in asked])
    golden(str(Selected(profiles, {"quantity": "scaled_gradient_norm"}).why_empty))
    assert "did you mean 'gradient_norm'?" in str(Selected(profiles, {"quantity": "gradient_nrom"}).why_empty)
    with golden.raises(ValueError):
        str(Selected(profiles, {"stack": "decoder"}).why_empty)


def test_runs_are_those_of_the_settings_measured_or_not(profiles):
    assert len(runs_with(profiles, {"quantity": "nothing", "tensor": "w9", "placement": "post"})) == 6
    assert len(runs_with(profiles, {"placement": "post", "seed": 2})) == 3
    assert len(runs_with(profiles, {"placement": "post"}, "model.layers")) == 4
    assert len(runs_with(profiles, {"placement": "post", "status": "diverged"})) == 0


def test_rows_by_how_their_run_ended_of_curves_and_of_no_number(setting, experiment):
    curve = [{"step": 5, "split": s, "quantity": "loss", "value": x} for s, x in (("train", 2.0), ("test", 3.0))]
    values = {"a": [{"value": 1.0}], "b": [{"index": 1, "value": math.nan}, {"index": None, "value": None}]}
    rows = lambda v, s: [{"quantity": v, **row} for row in values[v]]  # noqa: E731
    ended = lambda v, s: "finished" if s == 1 else "diverged"  # noqa: E731
    told = experiment(dict.fromkeys("ab", setting()), (1, 2), rows, status=ended, curves=curve)
    assert select_measured_rows(told, {"quantity": "a", "status": "finished"})["seed"].to_list() == [1]
    assert select_measured_rows(told, {"quantity": "loss", "split": "test"})["value"].to_list() == [3.0] * 4
    assert math.isnan(select_measured_rows(told, {"quantity": "b", "index": 1})["value"][0])
    assert select_measured_rows(told, {"quantity": "b", "index": None})["value"].to_list() == [None] * 2


def wanted(values):
    return st.one_of(st.sampled_from(values), st.lists(st.sampled_from(values), min_size=1, max_size=2))


selections = st.fixed_dictionaries(
    {},
    optional={
        "stack": wanted([*STACK, None]), "layer": wanted([1, 2, 3, "first", "last", None]),
        "tensor": wanted(["w1", "w2", "table", "q"]), "seed": wanted([1, 2, 3]), "placement": wanted(["post", "pre"]),
        "decoder.placement": wanted(["post", {"kind": "pre"}]), "model.layers": wanted([2, 3.0, 4]),
        "encoder.layers": wanted([2, 3]), "cross_attention": wanted([True, False]), "optimizer": st.none(),
        "norm.eps": wanted([1e-05, 1]),
    },
)  # fmt: skip


def slow_value(setting, path):
    """Oracle: the value at a path or, for a short form, what all stacks that have it say."""
    short = {
        "placement": ["placement"],
        "model.layers": ["layers"],
        "cross_attention": ["cross_attention"],
        "norm.eps": ["norm", "eps"],
    }
    places = [[stack, *short[path]] for stack in STACK] if path in short else [path.split(".")]
    found = []
    for place in places:
        here = setting
        for part in place:
            here = here.get(part, "absent") if isinstance(here, dict) else "absent"
        if here != "absent":
            found.append(here)
    return found[0] if found and all(f == found[0] for f in found) else "disagree"


def slow_same(value, asked):
    if isinstance(value, dict):
        value, asked = value["kind"], asked["kind"] if isinstance(asked, dict) else asked
    return (type(value) is type(asked) and value == asked) or (
        {type(value), type(asked)} == {int, float} and value == asked
    )


def slow_takes(row, setting, selection):
    for key, asked in selection.items():
        options = asked if isinstance(asked, list) else [asked]
        value = row[key] if key in row else slow_value(setting, key)
        if key == "layer":
            last = setting[row["stack"]]["layers"] if row["stack"] else "none"
            options = [{"first": 1, "last": last}.get(o, o) for o in options]
        if not any(slow_same(value, option) for option in options):
            return False
    return True


@settings(max_examples=150)
@given(selections)
def test_selection_agrees_with_a_loop_over_rows(profiles, selection):
    known = {v: json.loads(s) for v, s in profiles.runs.select("variant", "setting").iter_rows()}
    expected = [
        r for r in profiles.tables["sites"].iter_rows(named=True) if slow_takes(r, known[r["variant"]], selection)
    ]
    found = select_measured_rows(profiles, selection)
    key = ("run", "stack", "layer", "tensor", "value")
    assert sorted(map(str, found.select(key).rows())) == sorted(str(tuple(r[k] for k in key)) for r in expected)


@settings(max_examples=100)
@given(selections)
def test_a_plan_and_its_results_take_the_same_variants(profiles, selection):
    known = {v: json.loads(s) for v, s in profiles.runs.select("variant", "setting").iter_rows()}
    on_settings = {key: asked for key, asked in selection.items() if key not in ROW_KEYS}
    expected = [v for v, setting in known.items() if slow_takes({}, setting, on_settings)]
    variants = Variants(list(known.values()))
    assert [list(known)[number] for number in sorted(variants.selected(selection))] == expected
    measured = Selected(profiles, on_settings)
    assert measured.variants["variant"].to_list() == expected
    assert measured.runs["variant"].unique(maintain_order=True).to_list() == expected
