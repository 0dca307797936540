"""A plan is kept so that the same call finds it without compiling."""

import json
import os
from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lnlab.compile.decisions import Decision, TuningCandidate, Undecided, decision_from_json, decisions_to_json
from lnlab.compile.digests import input_of
from lnlab.keys import canonical
from lnlab.specfile.values import value_label
from lnlab.store import plans
from lnlab.store.plans import load_plan
from lnlab.store.records.checksummed import CorruptFile
from tests.support.store_toys import plan_of


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text("title: toy\n")
    return path


def test_its_tables_say_what_the_plan_says(store, root, plan, spec):
    held = plans.plan_tables(root, store.save_plan(plan, spec))
    runs, axes, needs = held["runs"], held["axes"], held["needs"]
    assert runs["run"].to_list() == [run.key for run in plan.runs]
    assert [json.loads(text) for text in runs["setting"]] == [plan.settings[run.variant] for run in plan.runs]
    first = axes.filter(run=plan.runs[0].key)
    assert first.rows() == [
        (plan.runs[0].key, "model.layers", "1", 1.0, "1"),
        (plan.runs[0].key, "norm", '{"eps":1e-06,"kind":"rms"}', None, "rms (eps 1e-06)"),
        (plan.runs[0].key, "placement", '"post"', None, "post"),
    ]
    assert needs.rows() == [(run, step, canonical(probe), key) for run, step, probe, key in plan.needs]


def test_what_the_command_line_hands_over_comes_back(store, root, plan, spec):
    stored = store.save_plan(plan, spec, {"claims": [{"id": "a", "between": [0.5, None]}]})
    again = plans.load_plan(root, plan.digest)
    assert again == stored
    assert again.facts == {"claims": [{"id": "a", "between": [0.5, None]}]}
    assert (again.spec, again.name, again.overrides) == (str(spec), "toy", ())


def test_a_plan_is_found_by_its_quick_name_while_its_inputs_are_what_they_were(store, plan, spec, tmp_path):
    corpus = tmp_path / "corpus.de"
    corpus.write_text("ein Haus")
    object.__setattr__(plan, "inputs", (input_of(corpus),))
    stored = store.save_plan(plan, spec)
    assert store.remembered("quick") == stored
    assert store.remembered("other") is None
    os.utime(corpus, (1, 1))
    assert store.remembered("quick") == stored
    corpus.write_text("zwei Haus")
    assert store.remembered("quick") is None


@pytest.mark.parametrize("name", ["plan.json", "runs.parquet", "axes.parquet", "needs.parquet"])
def test_a_damaged_plan_is_not_remembered(store, root, plan, spec, name):
    store.save_plan(plan, spec)
    path = root / "plans" / plan.digest / name
    path.write_bytes(path.read_bytes()[:-1])
    assert store.remembered("quick") is None
    store.save_plan(plan, spec)
    assert store.remembered("quick")


def test_tables_have_their_declared_types_also_of_a_plan_without_runs(store, root, plan, spec):
    held = plans.plan_tables(root, store.save_plan(plan, spec))
    assert_frame_equal(held["runs"].select("seed"), pl.DataFrame({"seed": [1, 2, 1, 2]}))
    held = plans.plan_tables(root, store.save_plan(plan_of(variants=0), spec))
    assert [rows.height for rows in held.values()] == [0, 0, 0]
    assert held["axes"].schema["number"] == pl.Float64


def test_the_plan_used_last_comes_first(store, root, spec):
    one, two = plan_of(name="one"), plan_of(name="two")
    assert store.last() is None
    kept = store.save_plan(one, spec)
    os.utime(root / "plans" / one.digest / "plan.json", (1, 1))
    store.save_plan(two, spec)
    assert store.last().name == "two"
    os.utime(root / "plans" / two.digest / "plan.json", (2, 2))
    store.used(kept)
    assert store.last().name == "one"
    (root / "plans" / one.digest / "plan.json").write_text("{")
    assert store.last().name == "two"


def test_a_store_that_cannot_be_written_still_remembers(store, plan, spec, failing):
    stored = store.save_plan(plan, spec)
    failing(OSError(30, "Read-only file system"))
    store.used(stored)
    assert store.remembered("quick") == stored


def test_the_same_plan_twice_is_the_same_bytes(store, root, plan, spec):
    def content():
        return {path.name: path.read_bytes() for path in (root / "plans" / plan.digest).iterdir()}

    store.save_plan(plan, spec)
    before = content()
    store.save_plan(plan, spec)
    assert content() == before


@pytest.mark.parametrize(
    ("value", "seen"),
    [("post", "post"), (12, "12"), (1e-4, "0.0001"), (True, "true"), (None, "null"), ({"kind": "rms"}, "rms"),
     ({"kind": "bpe", "vocabulary": 10}, "bpe (vocabulary 10)"), ([1, 2], "[1, 2]"), ([], "none"),
     ([{"kind": "rescale", "where": {"stack": None, "tensor": ["sum"]}, "factor": 2.0}, {"kind": "clamp"}],
      "rescale (sum, factor 2.0) and clamp")],
)  # fmt: skip
def test_a_value_as_a_reader_sees_it(value, seen):
    assert value_label(value) == seen


def test_a_plan_that_was_never_kept_or_moved_to_another_name_does_not_count(store, root, plan, spec, golden):
    with pytest.raises(CorruptFile, match="is missing"):
        plans.load_plan(root, "0" * 64)
    store.save_plan(plan, spec)
    (root / "plans" / plan.digest).rename(root / "plans" / "0")
    with golden.raises(CorruptFile):
        plans.load_plan(root, "0")


def test_decisions_are_kept_with_their_evidence(store, plan, spec):
    tried = (TuningCandidate(0.1, 2.5, (2.0, 3.0)), TuningCandidate(0.2, None, (None, None)))
    grounds = {"met": True, "statistic": "NLL", "reason": "the best"}
    made = Decision("k", "lr", {"norm": "rms"}, {"kind": "best"}, (7, 8), 0.1, tried, "rows", **grounds)
    kept = store.save_plan(replace(plan, decisions=(made,)), spec, {"decisions": decisions_to_json([made])})
    for facts in (kept.facts, load_plan(store.root, plan.digest).facts):
        (again,) = facts["decisions"]
        assert decision_from_json(again) == made
    assert not kept.undecided
    question = Undecided("k", "lr", {}, {"kind": "best"}, (7, 8), ((0.1, "variant"),))
    assert store.save_plan(replace(plan, undecided=(question,)), spec).undecided


def test_what_is_found_of_a_plan_need_not_be_kept(full, plan):
    found, kept = full.found(plan), full.results(plan.digest)
    assert_frame_equal(found.runs, kept.runs)
    assert_frame_equal(found.tables["sites"], kept.tables["sites"])
    elsewhere = full.found(plan_of(name="another question"))
    assert elsewhere.runs["status"].to_list() == ["finished"] * 4
