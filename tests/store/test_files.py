"""One door to the disk: whole files or none, and every refusal names path, cause and remedy."""

import errno
import gc
import os

import pytest

from lnlab.errors import StoreError
from lnlab.store import files


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_failed_replacement_leaves_the_old_file_and_no_other(tmp_path, failing, code, n):
    path = tmp_path / "kept.json"
    path.write_bytes(b"old")
    failing(OSError(code, os.strerror(code)), n)
    with pytest.raises(StoreError) as caught:
        files.replace(path, b"new")
    (problem,) = caught.value.issues
    assert str(tmp_path) in problem.where
    assert os.strerror(code).lower() in problem.what
    assert problem.remedy
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replacement_is_synced_before_its_rename_and_its_folder_after(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(
        files, "before", lambda operation, path: done.append((operation, path.name.lstrip(".").split(".")[0]))
    )
    files.replace(tmp_path / "record.json", b"x")
    assert done == [("write", "record"), ("sync", "record"), ("rename", "record"), ("sync", tmp_path.name)]


def test_each_new_folder_is_synced_into_the_one_above(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(files, "before", lambda operation, path: done.append((operation, path.name)))
    files.make_folder(tmp_path / "a" / "b")
    files.make_folder(tmp_path / "a" / "b")
    assert done == [("make a folder", "a"), ("sync", tmp_path.name), ("make a folder", "b"), ("sync", "a")]


def test_a_file_in_place_of_a_folder_is_a_problem_in_words(tmp_path, golden):
    (tmp_path / "store").write_text("")
    with golden.raises(StoreError):
        files.make_folder(tmp_path / "store" / "trajectories")


def test_creation_is_exclusive_and_removal_is_patient(tmp_path):
    path = tmp_path / "lease"
    assert files.create(path, b"mine")
    assert not files.create(path, b"yours")
    assert path.read_bytes() == b"mine"
    files.remove(path)
    files.remove(path)
    (tmp_path / "full" / "inner").mkdir(parents=True)
    files.remove(tmp_path / "full")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_synced_is_no_error_and_a_disk_that_cannot_is(tmp_path, monkeypatch):
    def refuse(code):
        def fsync(handle):
            raise OSError(code, os.strerror(code))

        return fsync

    monkeypatch.setattr(os, "fsync", refuse(errno.EINVAL))
    files.sync_folder(tmp_path)
    monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
    with pytest.raises(StoreError, match="check the disk"):
        files.sync_folder(tmp_path)


def test_a_lock_that_cannot_be_given_back_is_no_error_and_free_soon_after(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    flock, failed = fcntl.flock, []

    def fails_once(handle, operation):
        if operation == fcntl.LOCK_UN and not failed:
            failed.append(handle)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", fails_once)
    with files.locked(tmp_path / "lock") as mine:
        assert mine
    assert failed
    gc.collect()
    with files.locked(tmp_path / "lock", wait=False) as mine:
        assert mine
