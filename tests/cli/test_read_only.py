"""Somebody else's store, which this user may read: what lies there is judged and reported, and nothing is written."""

import errno
import os
import shutil

import pytest

from lnlab.store import files
from tests.cli.conftest import TINY


@pytest.fixture
def theirs(once, tmp_path, monkeypatch):
    """A store in which a spec was run, and an own folder beside it with the spec."""
    shutil.copytree(once / ".lnlab", tmp_path / "theirs")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(mine)
    return tmp_path / "theirs"


def contents(folder):
    return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in folder.rglob("*")}


@pytest.fixture
def command(theirs, lnlab, monkeypatch):
    """Run a command while no operation of the store on files succeeds."""

    def refuse(operation, path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(files, "before", refuse)
    return lambda *words: lnlab(*words, "--store", theirs)


def test_a_run_with_nothing_to_compute_and_its_report_work_and_write_nothing(command, theirs):
    before = contents(theirs)
    ran = command("run", "tiny.yaml", "--json")
    assert ran.code == 0, ran.err
    assert '"computed": 0' in ran.out
    assert '"reused": 6' in ran.out
    assert '"verdict": "supported"' in ran.out
    reported = command("report", "tiny.yaml")
    assert (reported.code, reported.out) == (0, "reports/tiny/index.html\n"), reported.err
    assert contents(theirs) == before


def test_claims_that_were_edited_and_a_spec_that_was_renamed_are_judged_on_their_rows(command, theirs, tmp_path):
    edited = TINY.replace("at_least: 1.1", "at_least: 100").replace("A tiny experiment", "Mine")
    (tmp_path / "mine" / "own.yaml").write_text(edited)
    before = contents(theirs)
    ran = command("run", "own.yaml", "--json")
    assert ran.code == 0, ran.err
    assert '"computed": 0' in ran.out
    assert ran.out.count('"verdict": "contradicted"') == 2
    assert command("report", "own.yaml").code == 0
    assert (tmp_path / "mine/reports/own/index.html").is_file()
    assert contents(theirs) == before


def test_what_would_have_to_be_computed_is_refused_in_one_line(command, theirs):
    before = contents(theirs)
    ran = command("run", "tiny.yaml", "-s", "seeds=4")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == 1
    assert "read-only" in ran.err
    assert contents(theirs) == before
