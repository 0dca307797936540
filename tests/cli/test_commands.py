"""What the commands that compute nothing say of a run."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lnlab.cli.check import distinct
from lnlab.cli.terminal import quantity


@pytest.fixture(autouse=True)
def folder(ran, monkeypatch):
    monkeypatch.chdir(ran)
    return ran


def test_check_says_ok_once_a_profile(lnlab):
    said = lnlab("check", "tiny.yaml", "--all-profiles")
    assert said.code == 0
    assert said.out.splitlines() == [
        "tiny.yaml: default: ok: 4 runs, 2 models, 1 claim",
        "tiny.yaml: real: ok: 4 runs, 2 models, 1 claim",
    ]
    assert lnlab("check", "tiny.yaml", "--json").json == [{"profile": None, "runs": 4, "models": 2, "claims": 1}]


def test_a_profile_that_is_wrong_is_told_once(lnlab, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(Path("tiny.yaml").read_text() + "  odd: {model.heads: 3}\n  good: {seeds: 7}\n")
    said = lnlab("check", path, "--all-profiles")
    assert said.code == 2
    (line,) = said.err.splitlines()
    assert line.startswith(f"{path}:{len(path.read_text().splitlines()) - 1}:")


def test_models_that_differ_only_in_what_is_asked_of_them_are_built_once(lnlab, tmp_path):
    from lnlab.cli.request import Request, compiled, registries

    path = tmp_path / "x.yaml"
    path.write_text(
        Path("tiny.yaml")
        .read_text()
        .replace("d_ff: 32}", "d_ff: 32}\ninit: xavier_normal")
        .replace("  - {placement: [post, pre]}", "  - {placement: [post, pre], train.accumulate: [1, 2]}")
    )
    plan, _ = compiled(Request(path), registries([]))
    assert len(plan.settings) == 4
    assert len(distinct(plan)) == 2


def test_plan_explains_what_is_there_and_what_is_missing(lnlab):
    whole = lnlab("plan", "tiny.yaml").out
    assert "holds everything; a run would compute nothing" in whole
    assert "time: none" in whole
    more = lnlab("plan", "tiny.yaml", "-s", "seeds=5", "--workers", "2").out
    for words in (
        "10 runs: 2 variants x 5 seeds (1-5)",
        "axis placement: post (5), pre (5)",
        "holds 4 of 10 measurements; 6 units to do",
        "6 units: never measured",
        "1 claim judged on 5 seeds",
        "on 2 workers, from the 4 units that this store already holds",
    ):
        assert words in more


def test_plan_in_json_agrees_with_the_closed_form(lnlab):
    plan = lnlab("plan", "tiny.yaml", "-s", "seeds=5", "--json").json
    assert plan["runs"] == plan["units"]["all"] == 10
    assert plan["measurements"] == {"needed": 10, "distinct": 10, "missing": 6}
    assert plan["flops"]["missing"] == pytest.approx(0.6 * plan["flops"]["all"])
    assert plan["claims"] == [{"id": "post_above_pre", "kind": "ratio", "primary": False, "n": 5}]
    assert plan["seconds"] > 0
    assert plan["pins"] == []


def test_plan_is_honest_about_a_machine_it_does_not_know(lnlab, tmp_path):
    said = lnlab("plan", "tiny.yaml", "--store", tmp_path / "empty")
    assert "time: unknown" in said.out
    assert not (tmp_path / "empty").exists()


def test_plan_calibrates_when_asked_and_keeps_what_it_measured(lnlab, tiny):
    said = lnlab("plan", "tiny.yaml", "--calibrate", "--json")
    assert said.code == 0, said.err
    assert said.json["units"] == {"all": 4, "missing": 3}
    assert said.json["seconds"] > 0
    assert said.json["seconds_known"] == "from one unit measured just now"


def test_status_counts_by_experiment_and_says_why_something_is_missing(lnlab):
    assert "tiny: 4 runs: 4 finished" in lnlab("status").out.splitlines()
    (found,) = lnlab("status", "tiny.yaml", "--json").json
    assert found["runs"] == {"finished": 4}
    assert found["missing"] == {}


def test_status_tells_of_damage(lnlab, tiny):
    lnlab("run", "tiny.yaml", "-w", 1)
    victim = sorted((tiny.parent / ".lnlab" / "trajectories").glob("*/*/*/sites.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-9])
    said = lnlab("status")
    assert said.code == 0
    assert "3 finished, 1 missing" in said.out
    assert "damaged" in said.out
    assert lnlab("run", "tiny.yaml", "-w", 1, "--json").json["computed"] == 1


def test_an_empty_store_says_so(lnlab, tmp_path):
    assert lnlab("status", "--store", tmp_path).out == f"{tmp_path}: empty\n"
    assert lnlab("status", "--store", tmp_path, "--json").json == []


def test_report_writes_page_notebook_figures_tables_of_the_last_run(lnlab, tmp_path):
    said = lnlab("report", "--out", tmp_path / "out")
    assert said.code == 0, said.err
    assert said.out == f"{tmp_path}/out/index.html\n"
    assert {"index.html", "notebook.ipynb", "figures", "tables", "data"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }
    named = lnlab("report", "tiny.yaml", "--out", tmp_path / "other", "--json")
    assert f"{tmp_path}/other/index.html" in named.json
    page = (tmp_path / "out" / "index.html").read_text()
    assert "A tiny experiment" in page
    assert page == (tmp_path / "other" / "index.html").read_text()


def test_report_goes_to_a_folder_of_spec_and_profile(lnlab, tiny):
    tiny.write_text(tiny.read_text() + "  one: {seeds: 1}\n")
    assert lnlab("run", "tiny.yaml", "-w", 1, "--profile", "one").code == 0
    assert lnlab("report").out == "reports/tiny/one/index.html\n"
    assert (tiny.parent / "reports/tiny/one/index.html").exists()


def test_a_spec_that_was_changed_is_not_reported_by_its_old_run(lnlab, tiny):
    lnlab("run", "tiny.yaml", "-w", 1)
    tiny.write_text(tiny.read_text().replace("A tiny", "Another"))
    said = lnlab("report", "tiny.yaml")
    assert said.code == 2
    assert "was changed since" in said.err
    assert "lnlab run tiny.yaml" in said.err


def test_list_shows_every_kind_with_parameters_and_formula(lnlab):
    entries = lnlab("list", "--json").json
    assert {"norm", "placement", "probe", "claim", "section", "corpus"} <= {entry["kind"] for entry in entries}
    assert all(entry["summary"] for entry in entries)
    (rms,) = [entry for entry in entries if (entry["kind"], entry["name"]) == ("norm", "rms")]
    assert rms["parameters"] == [{"name": "eps", "required": False, "default": 1e-06}]
    line = next(line for line in lnlab("list", "norm").out.splitlines() if " rms " in line)
    assert "eps=1e-06" in line


def test_list_prints_schema_and_reference(lnlab):
    schema = lnlab("list", "--schema").json
    Draft202012Validator.check_schema(schema)
    assert lnlab("list", "--reference").out.startswith("# ")


def test_an_unknown_kind_names_the_nearest(lnlab):
    said = lnlab("list", "nrom")
    assert said.code == 2
    assert "did you mean 'norm'" in said.err


def test_data_list_says_what_is_generated_and_what_is_absent(lnlab, here):
    rows = {row["name"]: row for row in lnlab("data", "list", "--json").json}
    assert rows["toy_german_english"]["state"] == "generated"
    assert rows["multi30k"]["state"] == "absent"
    assert rows["multi30k"]["fetchable"]
    table = lnlab("data", "list").out
    assert "absent, can be fetched" in table
    assert quantity(rows["multi30k"]["size"], "B") in table


def test_data_fetch_refuses_what_it_cannot_get(lnlab, here):
    said = lnlab("data", "fetch", "toy_german_english")
    assert (said.code, said.out) == (2, "")
    assert "multi30k" in said.err


def test_json_listings_are_json(lnlab):
    for arguments in (["list"], ["data", "list"], ["status"], ["check", "tiny.yaml"], ["plan", "tiny.yaml"]):
        assert json.loads(lnlab(*arguments, "--json").out)
