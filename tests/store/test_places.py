"""Where a store may lie, and what it may find there. What kills and failing disks leave: tests/torture."""

import pytest

from lnlab.store.records.layout import trajectory_folder
from lnlab.store.store import Store
from tests.support.store_toys import plan_of, record, record_all


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text("title: toy\n")
    return path


@pytest.mark.parametrize("name", ["with spaces", "ünïcode ≤ 日本", "x" * 200])
def test_any_path_will_do(tmp_path, spec, name):
    store, plan = Store(tmp_path / name), plan_of(variants=1, seeds=1)
    store.save_plan(plan, spec)
    record_all(store, plan)
    assert store.results(plan.digest).runs["status"].to_list() == ["finished"]


def test_leftovers_of_the_dead_heal_and_harm_nobody(store, spec, golden):
    plan = plan_of(variants=1, seeds=1)
    store.save_plan(plan, spec)
    folder = trajectory_folder(store.root, plan.trajectories[0].key)
    (folder / "0-half").mkdir(parents=True)
    (folder / "0-half" / "sites.parquet").write_bytes(b"PAR1")
    (folder / "0-half" / "record.json.12.ab.part").write_bytes(b"{")
    (store.root / "plans" / plan.digest / "runs.parquet.12.ab.part").write_bytes(b"PAR1")
    golden([reason for _, reason in store.pending(plan)])
    assert record(store, plan.trajectories[0])
    assert not (folder / "0-half").exists()
    assert store.results(plan.digest).runs["status"].to_list() == ["finished"]
