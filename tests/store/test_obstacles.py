"""A file where a folder belongs, or a folder where a file does: told as damage, moved aside, and nothing is lost."""

import pytest
from store_toys import record, record_all, trajectory_of

from lnlab.store.files import ASIDE_PREFIX
from lnlab.store.records.layout import stretch_name, trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.store.records.states import SavedState, latest_state, save_state

UNIT = trajectory_of(1, 1)


def aside(root):
    return list(root.rglob(f"{ASIDE_PREFIX}*"))


def test_a_file_in_place_of_a_stretch(store, root):
    path = trajectory_folder(root, UNIT.key) / stretch_name(0)
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert read_trajectory(root, UNIT.key).damaged == [f"{path} is a file where a folder belongs"]
    assert record(store, UNIT)
    assert [each.read_text() for each in aside(root)] == ["mine"]
    found = read_trajectory(root, UNIT.key)
    assert (len(found.records), found.damaged) == (1, [])


@pytest.mark.parametrize("above", [0, 1])
def test_a_file_in_place_of_a_trajectory_or_of_what_holds_it(store, root, above):
    path = [trajectory_folder(root, UNIT.key), trajectory_folder(root, UNIT.key).parent][above]
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    if not above:
        assert read_trajectory(root, UNIT.key).damaged == [f"{path} is a file where a folder belongs"]
    assert record(store, UNIT)
    assert [each.read_text() for each in aside(root)] == ["mine"]
    assert len(read_trajectory(root, UNIT.key).records) == 1


def test_a_folder_in_place_of_a_lease(store, root):
    lease = trajectory_folder(root, UNIT.key) / "lease"
    lease.mkdir(parents=True)
    (lease / "notes").write_text("mine")
    assert record(store, UNIT)
    assert [(each / "notes").read_text() for each in aside(root)] == ["mine"]
    assert len(read_trajectory(root, UNIT.key).records) == 1


@pytest.mark.parametrize("name", ["plan.json", "runs.parquet"])
def test_a_folder_in_place_of_a_file_of_a_plan(full, root, plan, tmp_path, name):
    path = root / "plans" / plan.digest / name
    path.unlink()
    path.mkdir()
    (path / "notes").write_text("mine")
    if name == "plan.json":
        assert full.damage() == [f"{path} cannot be read: is a directory"]
    assert full.remembered("quick") is None
    full.save_plan(plan, tmp_path / "toy.yaml")
    assert full.damage() == []
    assert full.results(plan.digest).ended
    assert [(each / "notes").read_text() for each in aside(root)] == ["mine"]


def test_a_file_in_place_of_a_plan_or_of_the_states(full, root, plan, tmp_path):
    folder = root / "plans" / plan.digest
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("mine")
    assert len(full.damage()) == 1
    full.save_plan(plan, tmp_path / "toy.yaml")
    assert full.results(plan.digest).ended
    trajectory = trajectory_folder(root, UNIT.key)
    (trajectory / "states").write_text("mine too")
    save_state(trajectory, SavedState(3, b"state", {}))
    assert latest_state(trajectory, 3).content == b"state"
    assert sorted(each.read_text() for each in aside(root)) == ["mine", "mine too"]
    record_all(full, plan)
