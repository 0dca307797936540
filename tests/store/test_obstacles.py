"""A file where a folder belongs, or a folder where a file does: one line names it, and it stays as it is."""

import pytest

from lnlab.errors import StoreError
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.states import save_state
from lnlab.tables import SavedState
from tests.support.store_toys import record, trajectory_of

UNIT = trajectory_of(1, 1)


def error_of(call):
    with pytest.raises(StoreError) as caught:
        call()
    (issue,) = caught.value.issues
    assert "\n" not in issue.what
    return str(issue.where), f"{issue.what}; {issue.remedy}"


@pytest.mark.parametrize("above", [0, 1, 2], ids=["a trajectory", "what holds it", "all trajectories"])
def test_a_file_in_place_of_a_folder_is_named(store, root, above, golden):
    path = [trajectory_folder(root, UNIT.key), *trajectory_folder(root, UNIT.key).parents][above]
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    where, text = error_of(lambda: record(store, UNIT))
    assert where.startswith(str(path))
    golden(text)
    assert path.read_text() == "mine"


def test_a_folder_in_place_of_a_lease_is_named_and_nothing_in_it_is_removed(store, root, golden):
    lease = trajectory_folder(root, UNIT.key) / "lease"
    lease.mkdir(parents=True)
    (lease / "notes").write_text("mine")
    where, text = error_of(lambda: record(store, UNIT))
    assert where == str(lease)
    golden(text)
    assert (lease / "notes").read_text() == "mine"


@pytest.mark.parametrize("name", ["plan.json", "runs.parquet"])
def test_a_folder_in_place_of_a_file_of_a_plan_is_named(full, root, plan, tmp_path, name, golden):
    path = root / "plans" / plan.digest / name
    path.unlink()
    path.mkdir()
    (path / "notes").write_text("mine")
    if name == "plan.json":
        assert [line.split(" cannot ")[0] for line in full.damage()] == [str(path)]
    assert full.remembered("quick") is None
    where, text = error_of(lambda: full.save_plan(plan, tmp_path / "toy.yaml"))
    assert where == str(path)
    golden(text)
    assert (path / "notes").read_text() == "mine"


def test_a_file_in_place_of_a_plan_or_of_the_states_is_named(full, root, plan, tmp_path):
    folder = root / "plans" / plan.digest
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("mine")
    assert len(full.damage()) == 1
    assert error_of(lambda: full.save_plan(plan, tmp_path / "toy.yaml"))[0] == str(folder)
    trajectory = trajectory_folder(root, UNIT.key)
    (trajectory / "states").write_text("mine too")
    assert error_of(lambda: save_state(trajectory, SavedState(3, b"state", {})))[0] == str(trajectory / "states")
