"""Packs hold one Parquet file a table, which any reader of Parquet reads; large ones are never held whole."""

import shutil
from itertools import product

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lnlab import tables
from lnlab.app.stores.pushing import push_units
from lnlab.errors import StoreError
from lnlab.report.tidy import tidy_rows
from lnlab.select.seeds import results_of_seeds
from lnlab.select.select import select_measured_rows
from lnlab.store import join, packing
from lnlab.store.garbage import remove_garbage
from lnlab.store.packs import PackedTable, Packs
from lnlab.store.records.layout import stretch_name, trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.store.remote import open_remote
from lnlab.store.store import Store
from lnlab.tables import Results, table_schema
from tests.support.store_toys import outcome_of, plan_of, record, record_all, rows_of, trajectory_of


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Packs of two trajectories and more, groups of one stretch."""
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 2)
    monkeypatch.setattr(packing, "GROUP_STRETCHES", 1)


@pytest.fixture
def packed(full):
    full.pack()
    return full


@pytest.fixture
def scanned(packed, plan, monkeypatch):
    """The results of a plan none of whose tables is held."""
    monkeypatch.setattr(join, "LARGEST_TABLE_IN_MEMORY", 0)
    results = packed.results(plan.digest)
    assert set(results.scans) == {"sites"}  # the tables that have rows
    return results


def test_a_pack_is_a_parquet_file_a_table_that_any_reader_reads(packed, root, plan):
    (pack,) = Packs(root).current()
    assert sorted(path.name for path in pack.folder.glob("*.parquet")) == [
        "outcomes.parquet",
        "records.parquet",
        "sites.parquet",
    ]
    sites = pl.read_parquet(pack.folder / "sites.parquet")
    assert sites.columns == ["trajectory", "stretch", *table_schema("sites")]
    for unit in plan.trajectories:
        expected = [row["value"] for each in unit.measurements for row in rows_of(each)]
        found = sites.filter(trajectory=unit.key)
        assert [repr(value) for value in found["value"]] == [repr(value) for value in expected]
    records = pl.read_parquet(pack.folder / "records.parquet")
    assert records["trajectory"].to_list() == [unit.key for unit in plan.trajectories]
    assert records["measurements"].to_list() == [[m.key for m in unit.measurements] for unit in plan.trajectories]


def test_a_table_that_is_too_large_for_memory_is_read_as_far_as_it_is_asked_for(packed, scanned, plan, monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "LARGEST_TABLE_IN_MEMORY", 1 << 30)
        held = packed.results(plan.digest)
    assert not held.scans
    assert_frame_equal(scanned.runs, held.runs)
    for table, rows in held.tables.items():
        assert scanned.lazy(table).collect_schema() == rows.schema
        assert_frame_equal(scanned.tables[table], rows)
    condition = pl.col("variant") == plan.runs[0].variant
    assert_frame_equal(scanned.rows("sites", condition), held.tables["sites"].filter(condition))
    one, other = (results_of_seeds(results, [2]) for results in (scanned, held))
    assert_frame_equal(one.rows("sites", pl.col("layer") > 1), other.rows("sites", pl.col("layer") > 1))


ASKED_OF_FILES = [{"seed": 2}, {"model.layers": 2}, {"model.layers": 2, "seed": 1, "step": 0}]
CONDITIONS = [
    *ASKED_OF_FILES, {}, {"split": "train"}, {"seed": [1, 2.0]}, {"step": "last"}, {"step": ["last", 0], "seed": 2},
    {"step": "last", "model.layers": 2}, {"split": "train", "step": [0, 1]}, {"split": [None, "validation"]},
    {"layer": "last", "seed": 1}, {"layer": ["first", None], "step": "last"},
    {"status": "finished", "model.layers": [2, 4]},
]  # fmt: skip


def test_of_files_no_rows_are_held_but_those_that_a_selection_takes(store, tmp_path, monkeypatch):
    """Of runs that are measured, and have curves."""
    plan = plan_of(variants=2, seeds=2)
    (tmp_path / "toy.yaml").write_text("title: toy\n")
    store.save_plan(plan, tmp_path / "toy.yaml")
    for unit in plan.trajectories:
        opened = store.open_unit(unit.key)
        for each in unit.measurements:
            opened.write("sites", rows_of(each))
        loss = {"trajectory": unit.key, "step": 0, "split": "train", "quantity": "tokens", "value": 1.0}
        opened.write("curves", [loss, loss | {"quantity": "unigram_entropy", "value": float(unit.seed)}])
        opened.commit([each.key for each in unit.measurements], outcome_of(unit))
    store.pack()
    held = store.results(plan.digest)
    monkeypatch.setattr(join, "LARGEST_TABLE_IN_MEMORY", 0)
    scanned, heights = store.results(plan.digest), []
    assert set(scanned.scans) == {"sites", "curves"}
    rows_of_results = Results.rows

    def counted(results, table, *wanted):
        rows = rows_of_results(results, table, *wanted)
        heights.append(rows.height)
        return rows

    monkeypatch.setattr(Results, "rows", counted)
    quantities = {word for name in ("sites", "curves") for word in held.tables[name]["quantity"].unique()}
    for quantity, condition in product(sorted(quantities), CONDITIONS):
        selection = {"quantity": quantity, **condition}
        expected = select_measured_rows(held, selection)
        heights.clear()
        selected = select_measured_rows(scanned, selection)
        assert_frame_equal(selected, expected, check_row_order=False)
        if condition in ASKED_OF_FILES:
            assert sum(heights) == expected.height, selection


def test_groups_without_rows_that_are_wanted_are_not_read(scanned, root, plan):
    """They may be damaged: nobody notices."""
    (pack,) = Packs(root).current()
    table = pack.tables["sites"]
    content = bytearray(table.path.read_bytes())
    for offset, length, _, _ in table.groups[1:]:
        content[offset : offset + length] = bytes(length)
    table.path.write_bytes(content)
    wanted = pl.col("seed") == 1, pl.col("variant") == plan.runs[0].variant
    assert scanned.rows("sites", *wanted).height == 6


def test_a_pack_that_is_removed_while_it_is_read_says_so(scanned, root, golden):
    (pack,) = Packs(root).current()
    shutil.rmtree(pack.folder)
    with golden.raises(StoreError):
        assert scanned.tables["sites"]


def test_packs_that_are_joined_while_results_are_read_change_nothing(packed, root, plan, monkeypatch):
    before = packed.results(plan.digest)
    source = PackedTable.source
    left = [3]

    def replaced(table):
        if left[0]:
            left[0] -= 1
            (pack,) = Packs(root).current()
            pack.folder.rename(pack.folder.with_name(f"{pack.folder.name}{left[0]}"))
        return source(table)

    monkeypatch.setattr(PackedTable, "source", replaced)
    results = packed.results(plan.digest)
    assert_frame_equal(results.runs, before.runs)
    assert_frame_equal(results.tables["sites"], before.tables["sites"])


def test_a_file_of_a_pack_that_goes_while_it_is_read_is_told_as_damage(packed, root, plan, monkeypatch):
    (pack,) = Packs(root).current()
    source = PackedTable.source
    first = [True]

    def gone(table):
        if first.pop() if first else False:
            table.path.unlink()
        return source(table)

    monkeypatch.setattr(PackedTable, "source", gone)
    reasons = {why for _, why in packed.pending(plan)}
    assert reasons == {f"file damaged: {pack.tables['records'].path} is missing"}


def test_each_file_of_a_pack_may_be_missing_or_empty(packed, root, plan):
    """Without a table its runs are computed again; one of the two indices is enough."""
    (pack,) = Packs(root).current()
    for path in sorted(pack.folder.iterdir()):
        content = path.read_bytes()
        for change in (path.unlink, lambda path=path: path.write_bytes(b"")):
            change()
            lacking = packed.pending(plan)
            assert [len(lacking), all("damaged" in why for _, why in lacking)] == [
                4 * (path.suffix == ".parquet"),
                True,
            ]
            assert packed.results(plan.digest).runs["status"].null_count() == len(lacking)
            path.write_bytes(content)
    assert packed.pending(plan) == []


def test_what_the_system_says_of_a_read_is_one_line(packed, plan, monkeypatch, golden):
    def refused(table):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(PackedTable, "source", refused)
    with golden.raises(StoreError):
        packed.results(plan.digest)


def test_what_a_newer_version_wrote_stays_in_its_folder(store, root, plan):
    """A column, and a table, that this version does not know."""
    column, table, known = plan.trajectories[:3]
    for unit in (column, table, known):
        opened = store.open_unit(unit.key)
        opened.write("sites", rows_of(unit.measurements[0]))
        if unit is column:
            opened._frames["sites"] = [rows.with_columns(colour=pl.lit("red")) for rows in opened._frames["sites"]]
        if unit is table:
            opened._frames["sounds"] = opened._frames["sites"]
        opened.commit([unit.measurements[0].key], outcome_of(unit))
    store.pack()
    assert Packs(root).trajectories() == {known.key}
    assert all(len(read_trajectory(root, unit.key).records) == 1 for unit in (column, table, known))


@pytest.mark.parametrize("what", ["column", "table", "type"])
def test_a_pack_of_a_newer_version_is_read_and_never_written_again(
    store, root, plan, tmp_path, monkeypatch, what, golden
):
    """Not to join it with others, not by ``lnlab gc``, not to send it elsewhere: its columns would be lost."""
    monkeypatch.setattr(packing, "MAX_SMALL_PACKS", 1)
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 1)
    newer, other = plan.trajectories[:2]
    with pytest.MonkeyPatch.context() as patch:
        columns = tables.TABLES["sites"]
        more = {"column": {"colour": (pl.String, "")}, "type": {"index": (pl.Int64, "")}, "table": {}}[what]
        table = "sounds" if what == "table" else "sites"
        patch.setitem(tables.TABLES, table, columns | more)
        patch.setitem(tables.WRITTEN_BY_WORKERS, table, columns | more)
        opened = store.open_unit(newer.key)
        opened.write(
            table, [row | ({"colour": "red"} if what == "column" else {}) for row in rows_of(newer.measurements[0])]
        )
        opened.commit([newer.measurements[0].key], outcome_of(newer))
        store.pack()
    (pack,) = Packs(root).current()
    record(store, other)
    store.pack()
    assert len(Packs(root).current()) == 2
    (stretch,) = read_trajectory(root, newer.key).stretches
    if what != "type":
        known = {"outcomes"} | ({"sites"} if what == "column" else set())
        assert stretch.tables().keys() == known
    (tmp_path / "toy.yaml").write_text("title: toy\n")
    stored = store.save_plan(plan, tmp_path / "toy.yaml")
    with golden.raises(StoreError):
        push_units(store, stored, open_remote(str(tmp_path / "there")), print)
    (sentence,) = remove_garbage(root, [], [newer.key]).damaged
    golden(sentence)
    assert pack.folder.is_dir()


def test_a_measurement_that_two_packs_hold_counts_once(store, root, plan, tmp_path):
    (tmp_path / "toy.yaml").write_text("title: toy\n")
    store.save_plan(plan, tmp_path / "toy.yaml")
    other = Store(tmp_path / "other")
    for each in (store, other):
        record_all(each, plan)
    expected = store.results(plan.digest).tables["sites"]
    store.pack()
    other.pack()
    (pack,) = Packs(other.root).current()
    shutil.copytree(pack.folder, root / "packs" / pack.folder.name)
    assert_frame_equal(store.results(plan.digest).tables["sites"], expected)
    assert [len(read_trajectory(root, unit.key).records) for unit in plan.trajectories] == [2] * 4


def test_curves_of_a_trajectory_in_a_pack_and_a_folder_have_each_step_once_the_first_by_name(store, root):
    units = [trajectory_of(1, seed, probes=()) for seed in (1, 2)]

    def train(unit, first, last, value):
        opened = store.open_unit(unit.key)
        row = {"trajectory": unit.key, "split": "train", "quantity": "loss", "value": value}
        opened.write("curves", [row | {"step": step} for step in range(first, last)])
        opened.commit([], outcome_of(unit) | {"steps": last})

    for unit in units:
        train(unit, 0, 4, 1.0)
    store.pack()
    for unit in units:
        train(unit, 2, 6, 2.0)
    runs = [
        {"run": f"r{unit.seed}", "trajectory": unit.key, "steps": 6, "variant": "v", "seed": unit.seed}
        for unit in units
    ]
    plan = {"runs": join.frame("runs", runs), "axes": join.frame("axes", []), "needs": join.frame("needs", [])}
    for unit in units:
        assert len(list(trajectory_folder(root, unit.key).glob("*-*"))) == 1
        values = join.join_results(root, plan).tables["curves"].filter(seed=unit.seed)
        assert values.select("step", "value").rows() == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 2.0)]
    record(store, trajectory_of(2, 1))
    record(store, trajectory_of(2, 2))
    store.pack()
    assert join.join_results(root, plan).runs["last_finite_loss"].to_list() == [2.0, 2.0]


def test_packs_that_are_joined_leave_a_step_recorded_twice_to_the_same_stretch(store, root, monkeypatch):
    """The stretch that comes later in the joined pack may come first by its name."""
    monkeypatch.setattr(packing, "MAX_SMALL_PACKS", 1)
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 1)
    monkeypatch.setattr(packing, "superseded_records", lambda *_: [])
    unit = trajectory_of(1, 1, probes=())

    def train(first, last, value):
        opened = store.open_unit(unit.key)
        opened.folder.rmdir()
        opened.folder, opened.first_step = opened.folder.with_name(stretch_name(first)), first
        opened.folder.mkdir()
        row = {"trajectory": unit.key, "split": "train", "quantity": "loss", "value": value}
        opened.write("curves", [row | {"step": step} for step in range(first, last)])
        opened.commit([], outcome_of(unit) | {"steps": last})

    run = {"run": "r", "trajectory": unit.key, "steps": 8, "variant": "v", "seed": 1}
    plan = {"runs": join.frame("runs", [run]), "axes": join.frame("axes", []), "needs": join.frame("needs", [])}
    train(0, 4, 1.0)
    train(4, 8, 1.0)
    store.pack()
    train(0, 6, 2.0)
    for _ in range(2):  # in a pack and a folder, then in one pack
        assert len(Packs(root).current()) == 1
        curves = join.join_results(root, plan).tables["curves"]
        assert curves["value"].to_list() == [1.0] * 4 + [2.0] * 2 + [1.0] * 2
        store.pack()
    assert len(read_trajectory(root, unit.key).records) == 3


def test_a_table_that_is_read_from_files_has_the_axes_beside_it_like_one_that_is_held(
    packed, scanned, plan, monkeypatch
):
    monkeypatch.setattr(join, "LARGEST_TABLE_IN_MEMORY", 1 << 30)
    held = tidy_rows(packed.results(plan.digest)).collect()
    assert "model.layers" in held.columns
    assert_frame_equal(tidy_rows(scanned).collect(), held)
