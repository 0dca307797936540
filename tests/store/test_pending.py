"""What is missing, and the reason of each miss in words."""

import pytest

from lnlab.store.records.layout import trajectory_folder
from tests.support.store_toys import PROBES, outcome_of, plan_of, record, record_all


def test_a_fresh_store_lacks_everything_and_a_full_one_nothing(store, full, plan):
    fresh = type(store)(store.root / "fresh")
    assert [each for each, _ in fresh.pending(plan)] == list(plan.trajectories)
    assert full.pending(plan) == []
    assert full.lacks(full.last()) == {}
    assert full.held() == {each.key for unit in plan.trajectories for each in unit.measurements}


def test_more_seeds_and_a_new_probe_cost_only_what_is_new(full, golden):
    more = full.pending(plan_of(variants=2, seeds=3))
    assert [unit.seed for unit, _ in more] == [3, 3]
    probe = {"kind": "rank", "batches": 1}
    grown = full.pending(plan_of(probes=(*PROBES, probe)))
    assert [[each.probe for each in unit.measurements] for unit, _ in grown] == [[probe]] * 4
    golden([reason for _, reason in grown])


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("failed", "no"),
        ("out_of_memory", None),
        ("timed_out", "stopped after 3 s"),
        ("interrupted", "stopped by Ctrl-C"),
    ],
)
def test_the_last_attempt_is_the_reason_until_one_finishes(store, plan, status, reason, golden):
    unit = plan.trajectories[0]
    record(store, unit, "failed", "an older reason")
    record(store, unit, status, reason)
    ((found, said), *_) = store.pending(plan)
    assert found == unit
    golden(said)
    record(store, unit)
    assert unit.key not in {each.key for each, _ in store.pending(plan)}


def test_the_failure_of_another_probe_is_no_reason(store, plan, golden):
    unit = plan.trajectories[0]
    opened = store.open_unit(unit.key)
    opened.missing([unit.measurements[0].key])
    opened.commit([], outcome_of(unit, "failed", "that probe"))
    only = plan_of(probes=PROBES[1:])
    golden(store.pending(only)[0][1])


def test_a_damaged_file_is_named_and_measured_again(full, root, plan):
    unit = plan.trajectories[2]
    (path,) = trajectory_folder(root, unit.key).rglob("sites.parquet")
    path.write_bytes(path.read_bytes()[:-1])
    ((found, said),) = full.pending(plan)
    assert (found, str(path) in said) == (unit, True)
    record(full, unit)
    assert full.pending(plan) == []


def test_a_trajectory_without_measurements_is_pending_until_it_finished(store, golden):
    plan = plan_of(variants=1, seeds=1, probes=())
    golden([reason for _, reason in store.pending(plan)])
    record(store, plan.trajectories[0], "failed", "no")
    golden([reason for _, reason in store.pending(plan)])
    record_all(store, plan)
    assert store.pending(plan) == []
