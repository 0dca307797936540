"""A unit never raises: it answers, and what it found is in the store."""

import os
from dataclasses import replace

import polars as pl
import pytest

from lnlab.errors import LabError, StoreError
from lnlab.execute.unit import Assignment
from lnlab.execute.worker import prepare, work
from lnlab.issues import Issue
from lnlab.store.records.records import read_trajectory
from tests.support import toy_pieces
from tests.support.toy_pieces import load


def do(store, unit, open_unit=None):
    return work(Assignment(unit, open_unit or store.open_unit, load))


def only(store, unit):
    (record,) = read_trajectory(store.root, unit.key).records
    return record


def test_what_was_measured_is_in_the_store(store, unit_of):
    unit = unit_of(1, {"kind": "norm", "batches": 2}, "sleep")
    answer = do(store, unit)
    assert (answer.key, answer.status, answer.text) == (unit.key, "finished", "")
    record = only(store, unit)
    assert record.measurements == tuple(each.key for each in unit.measurements)
    assert (record.outcome["parameters"], record.outcome["steps"]) == (19, 0)
    assert answer.seconds >= record.outcome["seconds"] > 0.01
    assert set(record.outcome["versions"].split('"')) >= {"python", "torch", "lnlab", "platform"}
    assert {path.name for path in record.folder.iterdir()} == {"outcomes.parquet", "record.json", "sites.parquet"}


def test_the_same_unit_again_is_the_same_bytes(store, unit_of, tmp_path):
    unit = unit_of(1, {"kind": "norm", "batches": 3}, {"kind": "norm", "batches": 1})
    other = type(store)(tmp_path / "other")
    do(store, unit)
    do(other, unit_of(2, "norm"))
    do(other, unit)
    assert only(store, unit).files["sites.parquet"] == only(other, unit).files["sites.parquet"]


def test_only_what_is_missing_is_measured(store, unit_of, golden):
    unit = unit_of(1, "norm", "sleep")
    do(store, replace(unit, measurements=unit.measurements[:1]))
    do(store, unit)
    one, two = read_trajectory(store.root, unit.key).records
    assert (one.measurements, two.measurements) == ((unit.measurements[0].key,), (unit.measurements[1].key,))
    golden(do(store, unit).text)
    assert len(read_trajectory(store.root, unit.key).records) == 2


def test_a_unit_that_somebody_holds_is_left_alone(store, unit_of):
    unit = unit_of(1, "norm")
    held = store.open_unit(unit.key)
    assert do(store, unit).status == "busy"
    held.abandon()
    assert do(store, unit).status == "finished"


@pytest.mark.parametrize(
    ("how", "status", "text"),
    [
        ("value", "failed", "fail: ValueError: two lines"),
        ("memory", "out_of_memory", "fail: MemoryError"),
        ("torch_memory", "out_of_memory", "fail: RuntimeError: [enforce fail at alloc_cpu.cpp:117]"),
        ("exit", "failed", "fail: SystemExit: 4"),
        (
            "column",
            "failed",
            "fail: the probe 'fail' yields a row that does not fit its table: table 'sites' has no column",
        ),
        ("batches", "failed", "fail: a probe asks for 99 batches, and the split 'train' has 3; ask for at most 3"),
    ],
)
def test_a_probe_that_fails_costs_itself_and_leaves_its_last_words(store, unit_of, how, status, text):
    unit = unit_of(1, {"kind": "fail", "how": how}, "norm")
    answer = do(store, unit)
    assert answer.status == status
    assert answer.text.startswith(text)
    assert "\n" not in answer.text
    record = only(store, unit)
    assert record.measurements == (unit.measurements[1].key,)
    assert set(record.asked) == {each.key for each in unit.measurements}
    assert record.outcome["reason"] == answer.text
    lines = (record.folder / "output.txt").read_text().splitlines()
    assert len(lines) <= 50
    assert "line 79" in lines


def test_a_model_that_cannot_be_built_and_pieces_that_cannot_be_loaded_fail_their_unit(store, unit_of, golden):
    unit = unit_of(1, "norm", model={"flaw": "no such model"})
    golden(do(store, unit).text)
    assert only(store, unit).outcome["parameters"] is None

    def refuse():
        raise LabError(Issue("failed", "mine.py", "fails while it loads", "fix the plugin"))

    unit = unit_of(1, "norm")
    answer = work(Assignment(unit, store.open_unit, refuse))
    assert answer.status == "failed"
    golden(answer.text)


def test_a_trajectory_without_measurements_is_run_once(store, unit_of, golden):
    unit = unit_of(1)
    assert do(store, unit).status == "finished"
    golden(do(store, unit).text)
    assert only(store, unit).measurements == ()


@pytest.mark.parametrize("probe", [{"kind": "fail", "how": "corpus"}])
def test_an_absent_corpus_is_no_failed_run(store, unit_of, probe):
    for unit in (unit_of(1, probe), unit_of(1, "norm", task={"absent": True})):
        answer = do(store, unit)
        assert answer.status == "corpus"
        assert answer.problems[0].where.startswith("corpus")
        assert read_trajectory(store.root, unit.key).records == []
        assert store.open_unit(unit.key)


def test_a_store_that_refuses_is_no_failed_run(store, unit_of, golden):
    def full(key):
        raise StoreError(Issue("wrong-value", str(store.root), "cannot write: no space left on device"))

    def broken(key):
        raise ZeroDivisionError("a bug")

    golden(do(store, unit_of(1, "norm"), full).problems[0].what)
    answer = do(store, unit_of(1, "norm"), broken)
    assert answer.status == "store"
    golden(answer.problems[0].what)


def test_output_goes_to_the_record_and_not_to_the_terminal(store, unit_of, capfd):
    do(store, unit_of(1, "fail"))
    assert capfd.readouterr() == ("", "")


def test_preparing_reads_the_corpus_and_nothing_else(store, unit_of):
    def told(unit):
        answer = prepare(Assignment(unit, store.open_unit, load))
        return answer.status, [problem.remedy for problem in answer.problems], answer.text

    assert told(unit_of(1, "norm")) == ("finished", [], "")
    assert told(unit_of(1, task={"absent": True})) == ("corpus", ["fetch it with 'lnlab data fetch toy'"], "")
    assert told(unit_of(1, task={"wrong": True})) == ("failed", [], "ValueError: this corpus is no corpus")
    assert not store.root.exists()


def test_the_rows_are_those_of_the_probe(store, unit_of):
    unit = unit_of(1, {"kind": "norm", "batches": 2})
    do(store, unit)
    rows = read_trajectory(store.root, unit.key).stretches[0].tables()["sites"]
    assert rows["quantity"].to_list() == ["norm", "norm", "extra"]
    assert toy_pieces.PROBES["norm"].facts.table == "sites"


def test_probes_see_the_function_with_its_interventions(store, unit_of):
    plain, doubled = unit_of(1, "norm"), unit_of(1, "norm", interventions=[{"kind": "times", "factor": 2}])
    values = []
    for unit in (plain, doubled):
        assert do(store, unit).status == "finished"
        rows = pl.read_parquet(only(store, unit).folder / "sites.parquet")
        values.append(rows.filter(quantity="norm")["value"].item())
    assert values[1] == pytest.approx(2 * values[0])


def test_an_intervention_that_finds_nothing_is_the_units_end(store, unit_of, golden):
    answer = do(store, unit_of(1, "norm", interventions=[{"kind": "times", "reaches": False}]))
    assert answer.status == "failed"
    golden(answer.text)


def test_what_is_printed_before_any_work_goes_where_the_system_keeps_nothing(store, unit_of, tmp_path, monkeypatch):
    """Windows calls it otherwise than Unix, and what cannot be opened would hide an absent corpus."""
    monkeypatch.setattr(os, "devnull", str(tmp_path / "nothing"))
    assert prepare(Assignment(unit_of(1, "norm"), store.open_unit, load)).status == "finished"
    assert (tmp_path / "nothing").exists()
