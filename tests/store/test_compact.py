"""A large finished plan is read from a few files; a copy that is not whole is as if it were not there."""

import shutil

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from store_toys import plan_of, record, record_all

from lnlab.errors import StoreError
from lnlab.report.tidy import tidy_rows
from lnlab.select.select import select_measured_rows
from lnlab.store import compact, join
from lnlab.tables import Results


@pytest.fixture
def small(monkeypatch):
    """Plans of three trajectories are large, and a slice holds one run."""
    monkeypatch.setattr(compact, "MIN_COMPACTED_TRAJECTORIES", 2)
    monkeypatch.setattr(join, "SLICE_BYTES", 1)


def whole(root):
    return sorted((root / "plans").rglob("whole-*"))


def equal(one, two):
    assert_frame_equal(one.runs, two.runs)
    assert_frame_equal(one.axes, two.axes)
    assert set(one.tables) == set(two.tables)
    for table, rows in one.tables.items():
        assert_frame_equal(rows, two.tables[table])


def test_a_finished_plan_is_compacted_when_read_and_then_needs_its_records_no_more(small, full, root, plan):
    loose = full.results(plan.digest)
    assert len(whole(root)) == 1
    equal(full.results(plan.digest), loose)
    shutil.rmtree(root / "trajectories")
    equal(full.results(plan.digest), loose)
    assert full.pending(plan) == []
    assert full.lacks(full.last()) == {}


def test_a_table_that_is_too_large_for_memory_is_read_as_far_as_it_is_asked_for(small, full, plan, monkeypatch):
    held = full.results(plan.digest)
    monkeypatch.setattr(compact, "LARGEST_TABLE_IN_MEMORY", 0)
    scanned = full.results(plan.digest)
    assert set(scanned.scans) == set(scanned.tables)
    equal(scanned, held)
    variant = plan.runs[0].variant
    condition = pl.col("variant") == variant
    assert_frame_equal(scanned.rows("sites", condition), held.tables["sites"].filter(condition))
    for table, rows in held.tables.items():
        assert scanned.lazy(table).collect_schema() == rows.schema
    selection = {"quantity": "norm", "seed": 2, "model.layers": 2}
    assert_frame_equal(select_measured_rows(scanned, selection), select_measured_rows(held, selection))


ASKED_OF_FILES = [{"seed": 2}, {"model.layers": 2}, {"model.layers": 2, "seed": 1, "step": 0}]
CONDITIONS = [
    *ASKED_OF_FILES,
    {},
    {"split": "train"},
    {"seed": [1, 2.0]},
    {"step": "last"},
    {"step": ["last", 0], "seed": 2},
    {"step": "last", "model.layers": 2},
    {"split": "train", "step": [0, 1]},
    {"split": [None, "validation"]},
    {"layer": "last", "seed": 1},
    {"layer": ["first", None], "step": "last"},
    {"status": "finished", "model.layers": [2, 4]},
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_of_files_no_rows_are_held_but_those_that_a_selection_takes(small, full, plan, monkeypatch, condition):
    held = full.results(plan.digest)
    monkeypatch.setattr(compact, "LARGEST_TABLE_IN_MEMORY", 0)
    scanned, heights = full.results(plan.digest), []
    rows_of = Results.rows

    def counted(results, table, wanted):
        rows = rows_of(results, table, wanted)
        heights.append(rows.height)
        return rows

    monkeypatch.setattr(Results, "rows", counted)
    quantities = {word for name in ("sites", "curves") for word in held.tables[name]["quantity"].unique()}
    for quantity in sorted(quantities):
        selection = {"quantity": quantity, **condition}
        expected = select_measured_rows(held, selection)
        heights.clear()
        selected = select_measured_rows(scanned, selection)
        assert_frame_equal(selected, expected, check_row_order=False)
        if condition in ASKED_OF_FILES:
            assert sum(heights) == expected.height


def test_a_table_that_is_read_from_files_has_the_axes_beside_it_like_one_that_is_held(small, full, plan, monkeypatch):
    held = tidy_rows(full.results(plan.digest)).collect()
    monkeypatch.setattr(compact, "LARGEST_TABLE_IN_MEMORY", 0)
    scanned = full.results(plan.digest)
    assert scanned.scans
    assert "model.layers" in held.columns
    assert_frame_equal(tidy_rows(scanned).collect(), held)


def test_a_copy_that_is_removed_while_it_is_read_says_so(small, full, root, plan):
    results = full.results(plan.digest)
    shutil.rmtree(whole(root)[0])
    with pytest.raises(StoreError, match="a copy of these results was removed while it was read"):
        results.tables["sites"]


def test_small_plans_and_unfinished_ones_are_left_as_they_are(small, full, root, tmp_path, plan):
    grown = plan_of(seeds=3)
    full.save_plan(grown, tmp_path / "toy.yaml")
    record(full, grown.trajectories[2], "failed", "no")
    full.results(grown.digest)
    assert whole(root) == []


def test_runs_that_have_not_been_computed_yet_are_not_finished(small, full, root, tmp_path):
    grown = plan_of(seeds=3)
    full.save_plan(grown, tmp_path / "toy.yaml")
    found = full.results(grown.digest)
    assert found.runs["status"].has_nulls()
    assert whole(root) == []
    assert full.pending(grown)
    assert not compact.write_compacted(root, grown.digest, found.axes, [found])
    assert compact.read_compacted(root, grown.digest) is None
    assert full.pending(grown)


def test_a_flipped_bit_in_the_copy_sends_readers_back_to_the_records(small, full, root, plan):
    loose = full.results(plan.digest)
    for path in sorted(whole(root)[0].iterdir()):
        content = path.read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert compact.read_compacted(root, plan.digest) is None
        path.write_bytes(content)
    equal(compact.read_compacted(root, plan.digest), loose)
    (whole(root)[0] / "sites-00000.parquet").write_bytes(b"")
    equal(full.results(plan.digest), loose)
    assert len(whole(root)) == 1
    assert compact.read_compacted(root, plan.digest)


def test_a_disk_that_is_full_keeps_results_readable_and_no_half_copy(small, full, root, plan, failing):
    done = failing(OSError(28, "No space left on device"), n=10**9)
    full.results(plan.digest)
    shutil.rmtree(whole(root)[0])
    for n in range(1, len(done) + 1):
        failing(OSError(28, "No space left on device"), n)
        assert full.results(plan.digest).tables["sites"].height == 24
        held = whole(root)
        assert not held or compact.read_compacted(root, plan.digest)
        for folder in held:
            shutil.rmtree(folder)


def test_a_plan_at_the_threshold_is_not_copied(full, root, plan, monkeypatch):
    monkeypatch.setattr(compact, "MIN_COMPACTED_TRAJECTORIES", 4)
    full.results(plan.digest)
    assert whole(root) == []
    record_all(full, plan)


def test_a_copy_of_another_plan_does_not_count(small, full, root, plan):
    full.results(plan.digest)
    other = root / "plans" / "0" / whole(root)[0].name
    other.parent.mkdir()
    whole(root)[0].rename(other)
    assert compact.read_compacted(root, "0") is None
