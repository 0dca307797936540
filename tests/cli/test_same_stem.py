"""Two specs of one name write to one folder: the second report does not replace the first unasked."""

import json
import shutil
from pathlib import Path

import pytest

from lnlab.cli import main
from tests.cli.conftest import TINY
from tests.support.folders import contents

OTHER = TINY.replace("Does it run?", "Does it run differently?").replace("seeds: 3", "seeds: 2", 1)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """``v1/tiny.yaml``, run and reported, and ``v2/tiny.yaml``, run; this folder must not change."""
    root = tmp_path_factory.mktemp("both")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for folder, text in (("v1", TINY), ("v2", OTHER)):
            Path(folder).mkdir()
            Path(folder, "tiny.yaml").write_text(text)
            assert main(["run", f"{folder}/tiny.yaml", "-w", "1", "-q"]) == 0
        assert main(["report", "v1/tiny.yaml", "-q"]) == 0
    return root


@pytest.fixture
def two(both, workdir):
    """A copy of it as the working folder."""
    shutil.copytree(both, workdir, dirs_exist_ok=True)
    return workdir


def facts(folder):
    return json.loads(Path(folder, "data/experiment.json").read_text())


def test_the_report_of_another_spec_of_the_same_name_is_left_alone(two, console):
    before = contents("reports/tiny")
    console.refused("report", "v2/tiny.yaml")
    assert contents("reports/tiny") == before


def test_what_was_asked_for_is_replaced_or_written_elsewhere(two, lnlab):
    assert lnlab("report", "v2/tiny.yaml", "--out", "reports/second").code == 0
    assert facts("reports/tiny")["path"] == "v1/tiny.yaml"
    assert lnlab("report", "v2/tiny.yaml", "--replace").code == 0
    assert facts("reports/tiny")["path"] == "v2/tiny.yaml"
    assert lnlab("report", "v1/tiny.yaml").code == 2  # it is the other's now


def test_the_same_question_replaces_itself_when_its_claims_and_its_title_are_edited(two, lnlab):
    spec = two / "v1/tiny.yaml"
    spec.write_text(TINY.replace("A tiny experiment", "Another title").replace("at_least: 1.1", "at_least: 1.2"))
    assert lnlab("run", "v1/tiny.yaml", "-w", 1, "-q").code == 0
    assert lnlab("report", "v1/tiny.yaml").code == 0
    assert facts("reports/tiny")["title"] == "Another title"


@pytest.mark.parametrize(
    "name", ["v1/../v1", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("v1", "./v1"))]
)
def test_a_report_written_from_the_folder_of_its_spec_knows_its_spec(two, lnlab, monkeypatch, name):
    shutil.rmtree(two / "reports")
    monkeypatch.chdir(two / name)
    assert lnlab("report", "tiny.yaml", "--store", "../.lnlab", "--out", "../reports/tiny").code == 0
    monkeypatch.chdir(two)
    assert lnlab("report", "v2/tiny.yaml").code == 2
    assert lnlab("report", "v1/tiny.yaml").code == 0


def test_a_spec_that_moved_is_told_by_its_title(two, lnlab):
    Path("v1").rename("moved")
    assert lnlab("run", "moved/tiny.yaml", "-w", 1, "-q").code == 0
    assert lnlab("report", "moved/tiny.yaml").code == 0


@pytest.mark.nightly
def test_a_report_made_again_into_a_folder_of_another_question_is_refused(two, lnlab):
    assert lnlab("report", "v2/tiny.yaml", "--out", "reports/second").code == 0
    said = lnlab("report", "--from", "reports/second", "--out", "reports/tiny")
    assert said.code == 2
    assert "another question" in said.err
    assert facts("reports/tiny")["path"] == "v1/tiny.yaml"
    assert lnlab("report", "--from", "reports/second", "--out", "reports/tiny", "--replace").code == 0
    assert facts("reports/tiny")["path"] == "v2/tiny.yaml"


def test_a_report_that_cannot_be_read_is_nobodys(two, lnlab):
    (two / "reports/tiny/data/experiment.json").write_text("{")
    assert lnlab("report", "v2/tiny.yaml").code == 0


def test_of_python_a_function_refuses_and_replaces_as_well(two):
    import lnlab as library

    with pytest.raises(library.LabError, match="another question"):
        library.report("v2/tiny.yaml")
    assert library.report("v2/tiny.yaml", replace=True).files


def test_committed_reports_that_their_path_finds_say_nothing_more(two):
    """``origin`` is written only where it is needed: a report moves with its repository."""
    assert "origin" not in facts("reports/tiny")


def test_a_copy_of_a_spec_is_the_same_question(two, lnlab):
    shutil.copytree(two / "v1", two / "copy")
    assert lnlab("report", "copy/tiny.yaml").code == 0
