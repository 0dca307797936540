"""A large finished plan is read from a few files; a copy that is not whole is as if it were not there."""

import shutil

import pytest
from polars.testing import assert_frame_equal
from store_toys import plan_of, record, record_all

from lnlab.store import compact


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(compact, "MIN_COMPACTED_TRAJECTORIES", 2)


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
    compact.write_compacted(root, grown.digest, found)
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
    (whole(root)[0] / "sites.parquet").write_bytes(b"")
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
