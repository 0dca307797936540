"""``lnlab verify FOLDER``: a report without a lock is held against itself, and what only a lock can tell is said."""

import shutil
from pathlib import Path

import pytest

from tests.report_rows import change_rows, packed

MAILED = Path("mailed")


@pytest.fixture
def mailed(committed, tmp_path, monkeypatch):
    """The folder of a report alone, outside of any project."""
    shutil.copytree(committed / "reports/tiny", tmp_path / MAILED)
    monkeypatch.chdir(tmp_path)
    return MAILED


@pytest.mark.parametrize(("level", "looked"), [(0, 1), (1, 3), (3, 4)])
def test_it_says_what_was_looked_at_what_was_not_and_what_cannot_be_told(console, mailed, level, looked):
    """At level 3 its runs are computed again from the spec inside it."""
    verified = console("verify", mailed, "--level", level, "-w", 1)
    assert verified.code == 0, verified.out
    assert [line.count(": looked at: ") for line in verified.err.splitlines()].count(1) == looked


def test_the_script_of_the_page_may_lie_elsewhere_and_has_to_be_the_one_that_is_drawn(lnlab, committed, mailed):
    Path("assets").mkdir()
    (script,) = (committed / "reports/assets").glob("*.js")
    shutil.copy(script, "assets")
    Path("deeper").mkdir()
    mailed.rename("deeper/real")  # as if it had been drawn at another depth
    assert lnlab("verify", "deeper/real", "--level", 1, "-w", 1, "-q").code == 0
    Path("assets", script.name).write_text("alert(1)")
    forged = lnlab("verify", "deeper/real", "--level", 1, "-w", 1, "-q")
    assert (forged.code, forged.out.count("\n")) == (1, 2), forged.out


def test_another_spec_of_its_name_is_not_taken_for_its_own(lnlab, mailed):
    text = (mailed / "data/experiment.json").read_text()
    assert '"path":"tiny.yaml"' in text.replace('": "', '":"')
    Path("tiny.yaml").write_text("title: something else\n")
    assert lnlab("verify", mailed, "--level", 1, "-w", 1, "-q").code == 0


def test_rows_and_verdicts_that_do_not_belong_together_are_found(lnlab, mailed):
    change_rows(mailed, lambda rows: rows.with_columns(value=rows["value"] * 1.5))
    assert lnlab("verify", mailed, "-q").code == 0, "its digests are those of the changed rows"
    verified = lnlab("verify", mailed, "--level", 1, "-w", 1, "-q")
    assert verified.code == 1
    assert "mailed/tables/figure-1.csv: " in verified.out


def test_a_damaged_pack_is_found_at_level_0(lnlab, mailed):
    path = packed(mailed, "sites")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    verified = lnlab("verify", mailed, "-q")
    assert (verified.code, verified.out.count("\n"), "mailed/data/packs: " in verified.out) == (1, 2, True), (
        verified.out
    )


def test_a_folder_that_its_lock_names_is_held_against_it(lnlab, console, committed, tmp_path, monkeypatch):
    shutil.copytree(committed, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    assert console("verify", "reports/tiny").code == 0
    Path("specs/tiny.lock").write_text("no lock")
    assert lnlab("verify", "reports/tiny", "-q").code == 1, "a damaged lock is not left aside"


def test_a_folder_without_a_report_is_a_wrong_command(console, workdir):
    Path("empty").mkdir()
    console.refused("verify", "empty")
