"""Names that every system can hold: of specs, of profiles, and of what a stranger's report or lock says of itself."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lnlab.app.python_request import request_of
from lnlab.cli import main
from lnlab.committed.locks.lock_report import read_lock
from lnlab.errors import LabError, ReportError, SpecError
from lnlab.portable_names import why_unportable
from lnlab.report.facts import facts_from_json, facts_to_json
from lnlab.report.folder import read_folder
from lnlab.report.write import write_report
from lnlab.specfile.load import load_spec
from tests.support.toy_specs import ENCODER, toy_spec

ROOT = Path(__file__).parents[1]
GOOD = ["rezero", "a.b", "x-y_z", "Füße", "訓練", "-rf", "a%20b", "console", "com10", "nulls", "n" * 200]
BAD = ["", ".", "..", "../x", "a/b", "a\\b", "C:x", "a?", "con", "CON", "aux.txt", "Lpt1", "com¹", "a.", "a ", " a"]
BAD += ["caf\udce9", "a*b", "a\nb", "a\x1b[0m", "a\u202eb", "a\0b", "\ud800", "n" * 201, "ü" * 101]


@pytest.mark.parametrize("name", GOOD)
def test_names_that_every_system_holds_are_taken(name: str) -> None:
    assert why_unportable(name) is None


@pytest.mark.parametrize("name", BAD)
def test_names_that_one_system_cannot_hold_are_refused(name: str) -> None:
    assert why_unportable(name)


@pytest.mark.parametrize("name", ["con", "aux", "a:b", "what?", "tail."])
def test_a_spec_of_such_a_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.yaml").write_bytes((ROOT / "specs/rezero.yaml").read_bytes())
    with pytest.raises(SpecError) as refused:
        load_spec(tmp_path / f"{name}.yaml")
    assert [issue.code for issue in refused.value.issues] == ["wrong-value"]


@pytest.mark.parametrize("field", ["name", "profile"])
@pytest.mark.parametrize("value", ["../../outside", "/outside", "a/b", "nul", "x\x1b"])
def test_a_report_cannot_name_a_place_outside_of_its_folder(field: str, value: str) -> None:
    facts, _, _ = read_folder(ROOT / "reports/rezero/real")
    with pytest.raises(ReportError) as refused:
        facts_from_json({**facts_to_json(facts), field: value}, "experiment.json")
    assert [issue.code for issue in refused.value.issues] == ["damaged"]


@pytest.mark.parametrize("value", ["../../outside", "a/b", "nul"])
def test_a_lock_cannot_name_a_place_outside_of_its_folder(tmp_path: Path, value: str) -> None:
    text = (ROOT / "specs/rezero.lock").read_text()
    changed = re.sub(r'^profile = "real"$', f"profile = {json.dumps(value)}", text, flags=re.MULTILINE)
    assert changed != text
    (tmp_path / "rezero.lock").write_text(changed)
    with pytest.raises(LabError) as refused:
        read_lock(tmp_path / "rezero.lock")
    assert [issue.code for issue in refused.value.issues] == ["damaged"]


@pytest.mark.parametrize(
    ("title", "name"), [("Con", "spec_con"), ("AUX!", "spec_aux"), ("?", "spec"), ("A con", "a_con")]
)
def test_a_spec_in_python_is_called_by_its_title_unless_no_file_can_have_that_name(title: str, name: str) -> None:
    assert request_of({"lnlab": 2, "title": title}, None, (), ()).spec.stem == name


def test_a_report_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    facts, results, verdicts = read_folder(ROOT / "reports/rezero/real")
    with pytest.raises(ReportError) as refused:
        write_report(tmp_path / "aux", replace(facts, name="aux"), results, verdicts)
    assert [issue.code for issue in refused.value.issues] == ["wrong-value"]
    assert list(tmp_path.iterdir()) == []


def test_profiles_of_one_folder_on_systems_without_case_are_refused(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(
        toy_spec(
            ENCODER,
            "probes: [{kind: gradient_norm, at: init, batches: 1}]\nprofiles: {Real: {seeds: 2}, real: {seeds: 3}}\n",
        )
    )
    assert main(["check", "tiny.yaml"]) == 2
    told, *more = capsys.readouterr().err.splitlines()
    assert more == []
    assert told.startswith(f"tiny.yaml:{len(ENCODER) + 2}:")
    assert "'Real' and 'real'" in told
