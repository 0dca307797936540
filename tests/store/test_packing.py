"""Finished trajectories in packs: the same to every reader, whatever happens while they are put there."""

import shutil
import subprocess
import sys
import threading
import time

import pytest
from polars.testing import assert_frame_equal

from lnlab.app.stores.pushing import push_units
from lnlab.store import files, packing
from lnlab.store.packs import Packs
from lnlab.store.records.coverage import superseded_records
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.records import StoreReader, read_trajectory
from lnlab.store.records.states import latest_state, save_state
from lnlab.store.remote import open_remote
from lnlab.store.store import Store
from lnlab.tables import SavedState
from tests.support.results_digest import results_digest
from tests.support.store_toys import outcome_of, plan_of, record, record_all, trajectory_of

GROUP_STRETCHES = packing.GROUP_STRETCHES


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Packs of two trajectories and more, groups of two."""
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 2)
    monkeypatch.setattr(packing, "GROUP_STRETCHES", 2)


def loose(root):
    return sorted((root / "trajectories").glob("*/*"))


def packs(root):
    return [pack.folder for pack in Packs(root).current()]


def same(one, two):
    assert_frame_equal(one.runs, two.runs)
    assert_frame_equal(one.axes, two.axes)
    assert set(one.tables) == set(two.tables)
    for table, rows in one.tables.items():
        assert_frame_equal(rows, two.tables[table])


def held(root, plan):
    """Records and verified tables of every trajectory, as a reader sees them."""
    found = [read_trajectory(root, each.key) for each in plan.trajectories]
    return [(each.records, [stretch.tables() for stretch in each.stretches], each.damaged) for each in found]


def test_packed_and_loose_are_the_same_to_every_reader(full, root, plan):
    before, seen, keys = held(root, plan), full.results(plan.digest), full.held()
    full.pack()
    assert loose(root) == []
    assert len(packs(root)) == 1
    assert len(Packs(root).current()[0].tables["sites"].groups) == 2
    for (records, tables, damaged), known in zip(held(root, plan), before, strict=True):
        assert (records, damaged) == (known[0], known[2])
        assert [each.keys() for each in tables] == [each.keys() for each in known[1]]
        for one, other in zip(tables, known[1], strict=True):
            for name, rows in one.items():
                assert_frame_equal(rows, other[name])
    same(full.results(plan.digest), seen)
    assert full.held() == keys
    assert full.pending(plan) == []
    assert full.lacks(full.last()) == {}
    assert record(full, plan.trajectories[0]) == []
    full.pack()
    assert len(packs(root)) == 1


def test_a_packed_run_costs_bytes_and_no_files(store, root, monkeypatch):
    """In folders eighty runs of two measurements are 241 files of 7.8 kB a run; 5,000 of them may take 10 MB."""
    monkeypatch.setattr(packing, "GROUP_STRETCHES", GROUP_STRETCHES)
    record_all(store, plan_of(variants=8, seeds=10))
    store.pack()
    files_in_all, size = store.size()
    assert files_in_all < 10
    assert size / 80 < 10e6 / 5000


def test_what_is_new_is_added_and_a_longer_plan_goes_on(full, root, plan, tmp_path):
    full.pack()
    more = plan_of(variants=2, seeds=4)
    full.save_plan(more, tmp_path / "toy.yaml")
    assert [unit.seed for unit, _ in full.pending(more)] == [3, 4, 3, 4]
    record_all(full, more)
    seen = full.results(more.digest)
    full.pack()
    assert (len(packs(root)), loose(root)) == (2, [])
    same(full.results(more.digest), seen)
    grown = plan_of(probes=(*plan_of().needs[0][2:3], {"kind": "rank", "batches": 1}))
    assert [len(unit.measurements) for unit, _ in full.pending(grown)] == [1] * 4
    record_all(full, grown)
    full.pack()
    assert full.pending(grown) == full.pending(more) == []


def test_few_and_unfinished_trajectories_stay_in_folders(store, root, monkeypatch):
    plan = plan_of(variants=1, seeds=3)
    record(store, plan.trajectories[0], "interrupted", "stopped by Ctrl-C")
    record(store, plan.trajectories[1])
    unit = store.open_unit(plan.trajectories[2].key)
    store.pack()
    assert (packs(root), len(loose(root))) == ([], 3)
    unit.commit([], outcome_of(plan.trajectories[2]))
    store.pack()
    assert (len(packs(root)), len(loose(root))) == (1, 1)


def test_many_small_packs_become_one_and_readers_see_no_difference(store, root, monkeypatch, tmp_path):
    monkeypatch.setattr(packing, "MAX_SMALL_PACKS", 3)
    plan = plan_of(variants=2, seeds=4)
    (tmp_path / "toy.yaml").write_text("")
    store.save_plan(plan, tmp_path / "toy.yaml")
    reader = Packs(root)
    for n in range(0, 8, 2):
        for unit in plan.trajectories[n : n + 2]:
            record(store, unit)
        store.pack()
        assert reader.trajectories() == {unit.key for unit in plan.trajectories[: n + 2]}
        assert all(reader.read([unit.key])[0] for unit in plan.trajectories[: n + 2])
    assert len(packs(root)) == 1
    assert sorted(path.name for path in (root / "packs").iterdir()) == [".lock", packs(root)[0].name]
    assert store.results(plan.digest).tables["sites"].height == 48


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)


def test_without_either_index_a_pack_is_damaged_as_a_whole_and_computed_again(full, root, plan):
    whole = results_digest(full.results(plan.digest))
    full.pack()
    (folder,) = packs(root)
    for name in ("index.json", "copy.json"):
        flip(folder / name, 99)
    assert len(full.pending(plan)) == 4
    assert [line.split(" is ")[0] for line in full.damage()] == [f"{folder}/copy.json"]
    record_all(full, plan)
    assert results_digest(full.results(plan.digest)) == whole


def test_states_stay_where_they_are_and_training_goes_on_from_them(store, root):
    unit, other = trajectory_of(1, 1), trajectory_of(1, 2)
    for each in (unit, other):
        opened = store.open_unit(each.key)
        opened.write(
            "curves", [{"trajectory": each.key, "step": 0, "split": "train", "quantity": "loss", "value": 2.0}]
        )
        opened.save(5, b"state", {"step": 5})
        opened.commit([], outcome_of(each) | {"steps": 5})
    store.pack()
    assert [sorted(path.name for path in folder.iterdir()) for folder in loose(root)] == [["states"]] * 2
    opened = store.open_unit(unit.key)
    assert opened.settled(5)
    resumed = opened.resume(9)
    assert (resumed.step, resumed.content, [row["value"] for row in resumed.curves]) == (5, b"state", [2.0])
    opened.commit([], outcome_of(unit) | {"steps": 9})
    assert [(r.first_step, r.steps) for r in read_trajectory(root, unit.key).records] == [(0, 5), (5, 9)]
    assert latest_state(trajectory_folder(root, unit.key), 9) == SavedState(5, b"state", {"step": 5})


def train(store, unit, stops, keep=True):
    """Stretches that end at these steps, one after another."""
    opened = store.open_unit(unit.key)
    resumed = opened.resume(stops[-1]) if keep else None
    at = resumed.step if resumed else 0
    for stop in [stop for stop in stops if stop > at]:
        curve = [{"trajectory": unit.key, "step": n, "split": "train", "quantity": "loss"} for n in range(at, stop)]
        opened.write("curves", [row | {"value": row["step"] / 7} for row in curve])
        if stop != stops[-1]:
            save_state(opened.folder.parent, SavedState(stop, b"state", {}))
            opened.go_on([], outcome_of(unit, "interrupted", "kept") | {"steps": stop})
        at = stop
    opened.commit([], outcome_of(unit) | {"steps": stops[-1]})


def test_stretches_that_overlap_after_damage_and_a_rerun_are_dropped(store, root):
    unit = trajectory_of(1, 1)
    train(store, unit, [3, 6, 9, 12])
    damaged = read_trajectory(root, unit.key).records[1].folder
    flip(damaged / "curves.parquet", 800)
    shutil.rmtree(trajectory_folder(root, unit.key) / "states")
    train(store, unit, [4, 8, 12])
    assert len(list(trajectory_folder(root, unit.key).glob("*-*"))) == 7
    store.pack()
    found = read_trajectory(root, unit.key)
    assert found.damaged == []
    assert not damaged.exists()
    assert [(r.first_step, r.steps) for r in found.records] == [(0, 4), (4, 8), (8, 12)]
    assert {step for each in found.stretches for step in each.tables()["curves"]["step"]} == set(range(12))
    again = store.open_unit(unit.key)
    assert again.settled(12)
    again.abandon()


def test_a_stretch_that_alone_holds_something_is_never_dropped(store, root):
    unit = trajectory_of(1, 1)
    record(store, unit, only=unit.measurements[:1])
    record(store, unit, "failed", "no luck")
    record(store, unit)
    assert superseded_records(read_trajectory(root, unit.key).records) == []
    other = Store(root.parent / "other")
    record(other, unit)
    (twice,) = read_trajectory(other.root, unit.key).records
    shutil.copytree(twice.folder, trajectory_folder(root, unit.key) / twice.folder.name)
    records = read_trajectory(root, unit.key).records
    assert [each.folder.name for each in superseded_records(records)] == [twice.folder.name]


def test_a_damaged_stretch_whose_measurement_nobody_took_again_stays_as_the_reason(store, root):
    unit = trajectory_of(1, 1)
    for only in (unit.measurements[:1], unit.measurements[1:]):
        record(store, unit, only=only)
    first, second = read_trajectory(root, unit.key).records
    flip(second.folder / "sites.parquet", 800)
    assert superseded_records([first], [second]) == []
    record(store, unit)
    (_, again) = read_trajectory(root, unit.key).records
    assert superseded_records([first, again], [second]) == [second]


def test_what_is_packed_while_it_is_read_is_seen(full, root, plan, monkeypatch):
    """Folders are read before packs: what moves meanwhile is in one of them."""
    reader = StoreReader(root)
    read = reader.packs.read

    def packed_behind(trajectories):
        found = read(trajectories)
        packing.pack_store(root)
        return found

    monkeypatch.setattr(reader.packs, "read", packed_behind)
    contents = dict(reader.read_all([unit.key for unit in plan.trajectories]))
    assert loose(root) == []
    assert [len(each.records) for each in contents.values()] == [1] * 4


PACKER = """
import sys, time
from pathlib import Path
from lnlab.store import packing
packing.MIN_LOOSE_TRAJECTORIES, packing.GROUP_STRETCHES, packing.MAX_SMALL_PACKS = 1, 2, 2
while not Path(sys.argv[2]).exists():
    packing.pack_store(Path(sys.argv[1]))
    time.sleep(0.002)
"""


def test_two_packers_beside_a_writer_and_a_reader(store, root, tmp_path):
    plan, stop = plan_of(variants=4, seeds=10), tmp_path / "stop"
    (tmp_path / "toy.yaml").write_text("")
    store.save_plan(plan, tmp_path / "toy.yaml")
    packers = [subprocess.Popen([sys.executable, "-c", PACKER, str(root), str(stop)]) for _ in range(2)]
    writer = threading.Thread(target=record_all, args=(store, plan))
    writer.start()
    finished = 0
    try:
        while writer.is_alive():
            results = store.results(plan.digest)
            done = results.runs.filter(status="finished")["run"].to_list()
            assert dict(results.tables["sites"].group_by("run").len().iter_rows()) == dict.fromkeys(done, 6)
            assert results.runs["reason"].null_count() == 40
            assert len(done) >= finished
            finished = len(done)
    finally:
        writer.join()
        time.sleep(0.3)
        stop.write_text("")
    assert [packer.wait() for packer in packers] == [0, 0]
    assert all(len(read_trajectory(root, unit.key).records) == 1 for unit in plan.trajectories)
    assert store.pending(plan) == []
    assert packs(root)


def test_a_folder_that_vanishes_under_a_worker_is_made_again(store, root, monkeypatch):
    unit = trajectory_of(1, 1)
    left = [2]

    def before(operation, path):
        if operation == "create" and path.name == "lease" and left[0]:
            left[0] -= 1
            path.parent.rmdir()

    monkeypatch.setattr(files, "before", before)
    assert record(store, unit)
    left[0] = 99
    assert store.open_unit(trajectory_of(1, 2).key) is None


def test_what_a_worker_printed_is_packed_and_an_empty_store_is_left_empty(store, root):
    store.pack()
    assert not root.exists()
    assert store.size() == (0, 0)
    record(store, trajectory_of(1, 1))
    found = [path.stat().st_size for path in root.rglob("*") if path.is_file()]
    assert store.size() == (len(found), sum(found))
    for seed in (1, 2):
        unit = store.open_unit(trajectory_of(1, seed).key)
        unit.output.write_text(f"seed {seed}\n")
        unit.commit([], outcome_of(trajectory_of(1, seed), "failed", "no"))
    store.pack()
    (stretch,), _ = Packs(root).read([trajectory_of(1, 2).key])
    assert stretch.output == b"seed 2\n"


def test_what_was_pushed_is_not_pushed_again_once_it_is_packed(full, root, plan, tmp_path):
    (tmp_path / "toy.yaml").write_text("title: toy\n")
    stored, place = full.save_plan(plan, tmp_path / "toy.yaml"), open_remote(str(tmp_path / "there"))
    first = push_units(full, stored, place, lambda _: None)
    assert (first.units, first.sent) == (len(plan.trajectories), 1)
    full.pack()
    assert loose(root) == []
    assert push_units(full, stored, place, lambda _: None).sent == 0
