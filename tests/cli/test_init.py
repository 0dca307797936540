"""A stranger in an empty folder gets a spec to start from, and never loses one."""

from pathlib import Path

import pytest

from lnlab.cli import main
from lnlab.specfile.citations import shipped_specs


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_name_the_shipped_specs_are_listed_and_nothing_is_written(empty, capsys):
    assert main(["init"]) == 0
    assert capsys.readouterr().out.split() == list(shipped_specs())
    assert "xiong_fig3" in shipped_specs()
    assert list(empty.iterdir()) == []


def test_a_spec_is_copied_byte_for_byte_with_its_schema(empty, capsys):
    assert main(["init", "xiong_fig3"]) == 0
    shipped = shipped_specs()["xiong_fig3"]
    assert (empty / "xiong_fig3.yaml").read_bytes() == shipped.read_bytes()
    assert (empty / "experiment.schema.json").is_file()
    assert "lnlab run xiong_fig3.yaml" in capsys.readouterr().err
    assert main(["check", "xiong_fig3.yaml", "--profile", "smoke"]) == 0


def test_what_is_there_already_is_never_overwritten(empty, capsys):
    (empty / "xiong_fig3.yaml").write_text("mine")
    assert main(["init", "xiong_fig3"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (empty / "xiong_fig3.yaml").read_text() == "mine"


def test_a_name_that_is_not_shipped_gets_the_nearest_one(empty, console):
    console.refused("init", "xiong_fig33")
