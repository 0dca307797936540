"""Whatever happens to a committed file is found, named, and costs that one stretch of work only."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lnlab.errors import StoreError
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.packing import remove_stretch
from lnlab.store.records.checksummed import CorruptFile, to_checksummed_json
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.record import Record, read_record
from lnlab.store.records.records import read_trajectory
from tests.support.store_toys import record, trajectory_of

UNIT, OTHER = trajectory_of(1, 1), trajectory_of(1, 2)


def committed(root, unit):
    return sorted(path for path in trajectory_folder(root, unit.key).rglob("*") if path.is_file())


def test_cut_short_at_every_byte_a_file_is_named_and_the_others_are_served(store, root, golden):
    record(store, UNIT)
    record(store, OTHER)
    (whole,) = read_trajectory(root, UNIT.key).records
    for path in committed(root, UNIT):
        content = path.read_bytes()
        for length in reversed(range(len(content))):
            os.truncate(path, length)
            with pytest.raises(CorruptFile):
                read_record(whole.folder) if path.name == "record.json" else whole.read(path.name)
        found = read_trajectory(root, UNIT.key)
        assert found.records == []
        golden([sentence.replace(str(path), path.name) for sentence in found.damaged])
        path.write_bytes(content)
    assert len(read_trajectory(root, OTHER.key).records) == len(read_trajectory(root, UNIT.key).records) == 1


@pytest.mark.parametrize("value", [{"digest": "x"}, [1], "text", None, {"trajectory": UNIT.key}])
def test_an_intact_file_of_another_kind_in_place_of_a_record_is_named(store, root, value):
    record(store, UNIT)
    (path,) = (each for each in committed(root, UNIT) if each.name == "record.json")
    path.write_bytes(to_checksummed_json(value))
    (reason,) = read_trajectory(root, UNIT.key).damaged
    assert reason.startswith(f"{path} ")
    assert record(store, UNIT)


def test_a_missing_table_is_named_and_a_record_moved_to_another_trajectory_does_not_count_there(store, root):
    record(store, UNIT)
    (folder,) = {path.parent for path in committed(root, UNIT)}
    path = folder / "sites.parquet"
    content = path.read_bytes()
    path.unlink()
    assert read_trajectory(root, UNIT.key).damaged == [f"{path} is missing"]
    path.write_bytes(content)
    stolen = trajectory_folder(root, OTHER.key) / folder.name
    stolen.parent.mkdir(parents=True)
    folder.rename(stolen)
    assert read_trajectory(root, OTHER.key).records == []
    assert "another trajectory" in read_trajectory(root, OTHER.key).damaged[0]


def test_the_same_measurement_twice_counts_once_first_by_name(store, root, tmp_path):
    record(store, UNIT)
    record(type(store)(tmp_path / "other"), UNIT)
    (folder,) = {path.parent for path in committed(tmp_path / "other", UNIT)}
    folder.rename(trajectory_folder(root, UNIT.key) / "0-0")
    found = read_trajectory(root, UNIT.key)
    assert found.records[0].folder.name == "0-0"
    assert len(found.records) == 2
    assert set(found.first_holders().values()) == {0}


def test_a_file_that_may_not_be_read_is_an_error_and_not_a_reason_to_compute_again(store, root, monkeypatch):
    record(store, UNIT)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(root), "read_bytes", refuse)
    with pytest.raises(StoreError, match="permission denied"):
        read_trajectory(root, UNIT.key)


def test_a_record_cannot_name_a_file_outside_its_folder(store, root):
    record(store, UNIT)
    (found,) = read_trajectory(root, UNIT.key).records
    outside = root / "outside.parquet"
    outside.write_bytes(b"secret")
    names = {"../../../../outside.parquet": digest_bytes(b"secret")}
    (found.folder / "record.json").write_bytes(replace(found, files=names).content())
    assert read_trajectory(root, UNIT.key).records == []
    assert "is missing" in read_trajectory(root, UNIT.key).damaged[0]


def stretch(first, steps, status="finished", measurements=()):
    outcome = {"status": status, "reason": None}
    return Record(Path(f"{first}"), UNIT.key, first, steps, (), tuple(measurements), outcome, {})


@pytest.mark.parametrize(
    ("stretches", "covered"),
    [
        ([(0, 10), (2, 6)], 10),  # a shorter one that begins later hides nothing
        ([(0, 10), (10, 10)], 10),
        ([(0, 4), (4, 10)], 10),
        ([(0, 4), (2, 10)], 10),
        ([(0, 10), (2, 12), (3, 5)], 12),
        ([(0, 4), (5, 10)], 4),  # nobody has update 5
        ([(2, 10)], 0),
        ([], 0),
    ],
)
def test_what_overlapping_stretches_reach_is_their_union_from_the_first_update(stretches, covered):
    assert coverage_of([stretch(*each) for each in stretches]).covered == covered
    reached = set().union(*(range(*each) for each in stretches)) if stretches else set()
    assert covered == next(n for n in range(13) if n not in reached)
    assert coverage_of([stretch(0, 4), stretch(4, 10, "failed")]).covered == 4


def test_what_is_made_ends_where_the_trajectory_does():
    made = coverage_of([stretch(0, 4, "interrupted"), stretch(4, 7, "diverged"), stretch(9, 12, "diverged")])
    assert (made.covered, made.end.steps, made.ended(8), made.ended(7)) == (7, 7, made.end, None)
    assert coverage_of([stretch(3, 7, "diverged")]).end is None


def test_a_stretch_that_is_removed_halfway_is_not_reported_as_damaged(store, root, monkeypatch):
    """Whatever file goes first of the rest: without its record a stretch is what a killed worker leaves."""
    record(store, UNIT)
    (folder,) = {path.parent for path in committed(root, UNIT)}

    def halfway(path):
        (path / "sites.parquet").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(files.shutil, "rmtree", halfway)
    with pytest.raises(KeyboardInterrupt):
        remove_stretch(folder)
    assert folder.exists()
    found = read_trajectory(root, UNIT.key)
    assert (found.records, found.damaged) == ([], [])
    assert store.damage() == []
