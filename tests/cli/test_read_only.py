"""Somebody else's store, which this user may read: what lies there is judged and reported, and nothing is written."""

import shutil
import subprocess
import sys

import pytest

from tests.cli.conftest import TINY

READ_ONLY = """
import errno, os, sys
from pathlib import Path
from lnlab.store import files
def refuse(operation, path):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
files.before = refuse
from lnlab.cli import main
sys.exit(main(sys.argv[1:]))
"""


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
def command(theirs):
    """Run a command in a process in which no operation of the store on files succeeds."""

    def run(*words):
        line = [sys.executable, "-c", READ_ONLY, *words, "--store", str(theirs)]
        return subprocess.run(line, capture_output=True, text=True, timeout=300)

    return run


def test_a_run_with_nothing_to_compute_and_its_report_work_and_write_nothing(command, theirs):
    before = contents(theirs)
    ran = command("run", "tiny.yaml", "--json")
    assert ran.returncode == 0, ran.stderr
    assert '"computed": 0' in ran.stdout
    assert '"reused": 6' in ran.stdout
    assert '"verdict": "supported"' in ran.stdout
    reported = command("report", "tiny.yaml")
    assert (reported.returncode, reported.stdout) == (0, "reports/tiny/index.html\n"), reported.stderr
    assert contents(theirs) == before


def test_claims_that_were_edited_and_a_spec_that_was_renamed_are_judged_on_their_rows(command, theirs, tmp_path):
    edited = TINY.replace("at_least: 1.1", "at_least: 100").replace("A tiny experiment", "Mine")
    (tmp_path / "mine" / "own.yaml").write_text(edited)
    before = contents(theirs)
    ran = command("run", "own.yaml", "--json")
    assert ran.returncode == 0, ran.stderr
    assert '"computed": 0' in ran.stdout
    assert ran.stdout.count('"verdict": "contradicted"') == 2
    assert command("report", "own.yaml").returncode == 0
    assert (tmp_path / "mine/reports/own/index.html").is_file()
    assert contents(theirs) == before


def test_what_would_have_to_be_computed_is_refused_in_one_line(command, theirs):
    before = contents(theirs)
    ran = command("run", "tiny.yaml", "-s", "seeds=4")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "read-only" in ran.stderr
    assert contents(theirs) == before
