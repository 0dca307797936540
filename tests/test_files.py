"""A file appears whole or not at all, and nothing is left beside it."""

import errno
import os
from contextlib import contextmanager

import pytest

from lnlab import files

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_new_content_has_the_name_alone_and_is_as_readable_as_any_other_file(tmp_path):
    path = tmp_path / "a"
    for content in (b"old", b"new and longer", b""):
        with files.replacing(path) as file:
            file.write(content)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]
    with files.replacing(tmp_path / "a"):
        pass
    (tmp_path / "b").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("content", [None, b"old"])
@pytest.mark.parametrize("failing", ["write", "sync", "rename"])
def test_a_failed_operation_leaves_the_folder_as_it_was(tmp_path, failing, content):
    path = tmp_path / "a"
    if content is not None:
        path.write_bytes(content)

    @contextmanager
    def step(operation, _):
        if operation == failing:
            raise FULL
        yield

    with pytest.raises(OSError, match="space"), files.replacing(path, step) as file:
        file.write(b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == ({} if content is None else {"a": content})


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_block_leaves_the_folder_as_it_was(tmp_path, error):
    def interrupted():
        with files.replacing(tmp_path / "a") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_every_byte_is_on_the_disk_before_it_has_the_name_and_the_name_before_the_call_returns(tmp_path, monkeypatch):
    """What the system is asked, not what is said of it: a power cut keeps the old file or leaves the whole new one."""
    path, asked, fsync = tmp_path / "a", [], os.fsync
    path.write_bytes(b"old")

    def recorded(handle):
        facts = os.fstat(handle)
        asked.append((facts.st_ino, facts.st_size, path.read_bytes()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    with files.replacing(path) as file:
        file.write(b"new and longer")
    new, folder = path.stat().st_ino, tmp_path.stat()
    assert asked[0] == (new, len(b"new and longer"), b"old")
    assert [(inode, content) for inode, _, content in asked[1:]] == [(folder.st_ino, b"new and longer")]
