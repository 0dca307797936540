"""A stretch of work is there whole, or it is not there."""

import errno
import os
import pickle
from pathlib import Path

import pytest

from lnlab.errors import StoreError
from lnlab.store.records.layout import stretch_name, stretches, trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.store.unit import MAX_OUTPUT_BYTES
from tests.support.store_toys import outcome_of, plan_of, record, rows_of, trajectory_of

UNIT = trajectory_of(1, 1)


def files_of(root):
    return sorted(path.name for path in root.rglob("*") if path.is_file() and path.name != "lock")


def test_a_commit_leaves_tables_and_a_record_and_nothing_else(store, root):
    record(store, UNIT)
    assert files_of(root) == ["outcomes.parquet", "record.json", "sites.parquet"]
    (found,) = read_trajectory(root, UNIT.key).records
    assert found.measurements == tuple(each.key for each in UNIT.measurements)
    assert found.folder.name.startswith("0-")
    assert found.outcome["status"] == "finished"


def test_a_unit_is_opened_by_one_at_a_time_and_nothing_is_visible_before_the_commit_or_when_abandoned(store, root):
    unit = pickle.loads(pickle.dumps(store.open_unit))(UNIT.key)
    unit.write("sites", rows_of(UNIT.measurements[0]))
    unit.abandon()
    assert files_of(root) == []
    assert list(trajectory_folder(root, UNIT.key).iterdir()) == []
    unit = store.open_unit(UNIT.key)
    assert store.open_unit(UNIT.key) is None
    unit.write("sites", rows_of(UNIT.measurements[0]))
    assert read_trajectory(root, UNIT.key).records == []
    unit.commit([UNIT.measurements[0].key], outcome_of(UNIT))
    assert len(read_trajectory(root, UNIT.key).records) == 1
    assert store.open_unit(UNIT.key)


def test_only_what_nobody_has_taken_is_missing(store):
    keys = [each.key for each in UNIT.measurements]
    assert record(store, UNIT, only=UNIT.measurements[:1]) == keys[:1]
    unit = store.open_unit(UNIT.key)
    assert unit.missing(keys) == keys[1:]
    assert unit.settled()
    unit.abandon()
    assert record(store, UNIT) == keys[1:]
    assert record(store, UNIT) == []


def test_same_rows_same_bytes_but_for_the_outcome(store, root, tmp_path):
    record(store, UNIT)
    record(type(store)(tmp_path / "other"), UNIT)
    (one,), (two,) = read_trajectory(root, UNIT.key).records, read_trajectory(tmp_path / "other", UNIT.key).records
    assert one.files["sites.parquet"] == two.files["sites.parquet"]
    assert one.outcome["seconds"] != two.outcome["seconds"]


def test_nan_null_and_the_smallest_numbers_survive_and_an_outcome_that_is_not_finite_is_null(store, root):
    record(store, UNIT)
    (stretch,) = read_trajectory(root, UNIT.key).stretches
    rows = stretch.tables()["sites"]
    expected = [row["value"] for each in UNIT.measurements for row in rows_of(each)]
    assert [repr(value) for value in rows["value"]] == [repr(value) for value in expected]
    assert rows["stack"].null_count() == rows.height
    other = trajectory_of(1, 2)
    store.open_unit(other.key).commit([], outcome_of(other, "diverged") | {"last_finite_loss": float("inf")})
    assert read_trajectory(root, other.key).records[0].outcome["last_finite_loss"] is None


def test_output_that_cannot_be_read_costs_no_rows(store, root, monkeypatch):
    unit = store.open_unit(UNIT.key)
    unit.output.write_text("words")
    opens = Path.open

    def refuse(path, *arguments, **options):
        if path.name == "output.txt":
            raise PermissionError(13, "Permission denied")
        return opens(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    unit.commit([], outcome_of(UNIT))
    assert len(read_trajectory(root, UNIT.key).records) == 1


def test_the_last_lines_of_the_output_are_kept_and_no_file_where_there_are_none(store, root):
    def kept(seed, text):
        unit = trajectory_of(1, seed)
        opened = store.open_unit(unit.key)
        opened.output.write_text(text)
        opened.commit([], outcome_of(unit, "failed"))
        file = read_trajectory(root, unit.key).records[0].folder / "output.txt"
        return file.read_text() if file.exists() else None

    assert kept(1, "".join(f"line {n}\n" for n in range(120))).splitlines() == [f"line {n}" for n in range(70, 120)]
    assert kept(2, "") is None
    endless = kept(3, "x" * 10**6 + "end")
    assert (len(endless), endless[-4:]) == (MAX_OUTPUT_BYTES, "xend")


def test_what_a_dead_worker_left_is_cleared_and_its_last_words_are_handed_on(store, root):
    dead = trajectory_folder(root, UNIT.key) / "0-dead"
    dead.mkdir(parents=True)
    (dead / "sites.parquet").write_bytes(b"half")
    (dead / "output.txt").write_text("segmentation fault\n")
    unit = store.open_unit(UNIT.key)
    assert not dead.exists()
    unit.commit([], outcome_of(UNIT, "failed"))
    assert (read_trajectory(root, UNIT.key).records[0].folder / "output.txt").read_text() == "segmentation fault\n"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_an_error_at_any_operation_is_named_leaves_nothing_half_and_work_goes_on_afterwards(
    store, root, failing, monkeypatch, code
):
    done = failing(OSError(0, "none"), n=10**9)
    record(store, trajectory_of(9, 9))
    for n in range(1, len(done) + 1):
        unit = trajectory_of(1, n)
        failing(OSError(code, os.strerror(code)), n)
        refused = []
        try:
            record(store, unit)
        except StoreError as error:
            refused = list(error.issues)
        monkeypatch.undo()
        assert all(str(root) in each.where and os.strerror(code).lower() in each.what for each in refused)
        found = read_trajectory(root, unit.key)
        assert not found.damaged
        assert len(found.records) <= 1
        record(store, unit)
        assert len(read_trajectory(root, unit.key).records) == 1, f"operation {n}"
    assert len(read_trajectory(root, trajectory_of(9, 9).key).records) == 1


def test_a_record_is_renamed_only_when_every_byte_it_names_is_on_the_disk(store, monkeypatch):
    """What a power cut can lose is what was not synced: replay the operations and see what the record relies on."""
    from lnlab.store import files

    safe, written, made = set(), set(), set()

    def before(operation, path):
        if operation == "write":
            written.add(path)
        if operation == "make a folder":
            made.add(path)
        if operation == "sync":
            safe.add(path)
        if operation == "rename" and path.name == "record.json":
            parts = {each for each in written if each.parent == path.parent}
            assert parts <= safe
            assert path.parent in safe
            assert {folder.parent for folder in made} <= safe

    monkeypatch.setattr(files, "before", before)
    record(store, plan_of().trajectories[0])
    assert any(path.name == "sites.parquet" for path in safe)


def test_stretches_sort_by_first_step_as_a_number_and_a_trajectory_lies_under_two_digits_of_its_key(tmp_path):
    names = [stretch_name(step) for step in (100, 20, 0, 0, 0)]
    assert len(set(names)) == 5
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "states").mkdir()
    found = [path.name for path in stretches(tmp_path)]
    assert found == [*names[2:], names[1], names[0]]
    assert stretches(tmp_path / "gone") == []
    assert trajectory_folder(tmp_path, "abcdef").relative_to(tmp_path).as_posix() == "trajectories/ab/abcdef"


def test_leftovers_of_the_dead_heal_and_harm_nobody(store, tmp_path, golden):
    (tmp_path / "toy.yaml").write_text("title: toy\n")
    plan = plan_of(variants=1, seeds=1)
    store.save_plan(plan, tmp_path / "toy.yaml")
    folder = trajectory_folder(store.root, plan.trajectories[0].key)
    (folder / "0-half").mkdir(parents=True)
    (folder / "0-half" / "sites.parquet").write_bytes(b"PAR1")
    (folder / "0-half" / "record.json.12.ab.part").write_bytes(b"{")
    (store.root / "plans" / plan.digest / "runs.parquet.12.ab.part").write_bytes(b"PAR1")
    golden([reason for _, reason in store.pending(plan)])
    assert record(store, plan.trajectories[0])
    assert not (folder / "0-half").exists()
    assert store.results(plan.digest).runs["status"].to_list() == ["finished"]
