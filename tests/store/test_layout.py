"""Where the store is, and how its folders are named."""

from lnlab.errors import StoreError
from lnlab.store.records.layout import store_root, stretch_name, stretches, trajectory_folder


def test_the_store_is_what_was_given_else_the_environment_else_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LNLAB_STORE", raising=False)
    assert store_root() == tmp_path / ".lnlab"
    monkeypatch.setenv("LNLAB_STORE", "from environment")
    assert store_root() == tmp_path / "from environment"
    assert store_root(tmp_path / "given") == tmp_path / "given"


def test_a_file_is_no_store(tmp_path, golden):
    (tmp_path / "file").write_text("")
    with golden.raises(StoreError):
        store_root(tmp_path / "file")


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
