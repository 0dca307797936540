"""A file appears whole or not at all, and nothing is left beside it."""

import errno
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from lnlab import files
from lnlab.cli import main
from lnlab.store.files import as_store_error

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


def held(number):
    """As Windows refuses what another process has open, or for any other reason."""
    error = PermissionError(errno.EACCES, "The process cannot access the file")
    error.winerror = number
    return error


@pytest.mark.parametrize("number", [5, 32, 33])
def test_what_a_virus_scanner_has_open_under_windows_is_tried_again_until_it_lets_go(monkeypatch, number):
    left, slept = [held(number), held(number)], []
    monkeypatch.setattr(files.time, "sleep", slept.append)

    def change():
        if left:
            raise left.pop()

    files.persistently(change)
    assert (left, len(slept)) == ([], 2)


@pytest.mark.parametrize(("number", "again"), [(32, True), (None, False), (1224, False)])
def test_what_is_held_for_long_or_refused_for_another_reason_is_refused(monkeypatch, number, again):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    tried = []

    def change():
        tried.append(number)
        raise held(number)

    with pytest.raises(PermissionError):
        files.persistently(change)
    assert (len(tried) > 1) is again


def test_a_file_that_is_held_for_a_moment_is_replaced_all_the_same(tmp_path, monkeypatch):
    replace, left = Path.replace, [held(32)]

    def replaced(self, target):
        if left:
            raise left.pop()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replaced)
    with files.replacing(tmp_path / "a") as file:
        file.write(b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("number", "of_windows", "letters", "is_long"),
    [
        (errno.ENAMETOOLONG, None, 9, True),
        (errno.ENOENT, 206, 300, True),
        (errno.ENOENT, 3, 260, True),
        (errno.ENOENT, 3, 259, False),
        (errno.ENOENT, None, 300, False),
        (errno.EACCES, 5, 300, False),
    ],
)
def test_a_path_that_is_too_long_is_told_though_windows_calls_it_absent(number, of_windows, letters, is_long):
    error = OSError(number, "No such file or directory", "x" * letters)
    error.winerror = of_windows
    assert (files.remedy_of_name(error) is not None) is is_long
    told = as_store_error("write", Path("x" * letters), error).issues[0]
    assert (told.remedy == files.remedy_of_name(error)) is is_long


def test_a_store_whose_file_is_held_names_the_virus_scanner():
    assert "virus scanner" in as_store_error("rename", Path("a"), held(32)).issues[0].remedy


def test_a_command_on_a_path_that_is_too_long_is_one_line_with_a_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["ls", "--store", "x" * 5000]) == 2
    told = capsys.readouterr().err
    assert (told.count("\n"), "shorter" in told) == (1, True)
