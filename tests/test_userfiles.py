"""Kind and size of a user's file are looked at before a byte is read."""

import os
import tracemalloc
from pathlib import Path

import pytest

from lnlab.errors import LabError
from lnlab.userfiles import read_user_file, user_path


@pytest.fixture
def odd(tmp_path):
    """Files that cannot be read to their end."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(50 * 2**20)
    return tmp_path


@pytest.mark.usefixtures("promptly")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("fifo", "is not a regular file"),
        ("zeros", "is not a regular file"),
        ("folder", "is a folder"),
        ("sparse", "has 52,428,800 bytes; a plugin has at most 4,194,304"),
        ("absent", "there is no such file"),
    ],
)
def test_what_cannot_be_read_to_its_end_is_refused_unread(odd, name, what):
    tracemalloc.start()
    with pytest.raises(LabError, match=what):
        read_user_file(odd / name, "plugin")
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_file_is_read_to_the_size_that_it_declares(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"lnlab: 2\n")
    assert read_user_file(path, "spec", 9) == b"lnlab: 2\n"
    with pytest.raises(LabError, match="at most 8"):
        read_user_file(path, "spec", 8)


STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not STATUS.exists(), reason="no /proc")
def test_a_special_file_that_declares_no_size_is_empty():
    assert STATUS.read_bytes()
    assert read_user_file(STATUS, "spec") == b""


def test_a_slash_behind_the_name_of_a_file_is_refused(odd):
    assert user_path(f"{odd}/") == odd
    assert user_path(f"{odd}/absent/") == odd / "absent"
    with pytest.raises(LabError, match="sparse/: is not a directory"):
        user_path(f"{odd}/sparse/")


def test_no_name_that_is_not_there_is_read_as_a_pattern(tmp_path):
    (tmp_path / "other.py").write_text("")
    for name in ("a.**", "a.[", "a.p[1]", "**", "*.?", "a.{py}"):
        with pytest.raises(LabError, match="there is no such file"):
            read_user_file(tmp_path / name, "plugin")
