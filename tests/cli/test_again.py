"""``lnlab report --from``: the same bytes from the tables alone, and the claims and sections of the spec of today."""

import json
import shutil

import polars as pl
import pytest

from lnlab.report.folder import read_folder
from tests.support.folders import contents

EXPERIMENT = "data/experiment.json"
LINES = "    at_least: 1000000\n"


@pytest.fixture
def reported(committed):
    """A report of the tiny experiment, far from its store."""
    return committed / "reports" / "tiny"


@pytest.fixture
def copy(reported, workdir):
    """A copy of the report in an empty working folder, without store and corpora."""
    shutil.copytree(reported.parent, workdir / "reports")
    return workdir / "reports" / "tiny"


@pytest.fixture
def spec(once, workdir):
    """The spec in the working folder, where the report looks for it."""
    path = workdir / "tiny.yaml"
    path.write_text((once / "tiny.yaml").read_text())
    return path


def verdicts(folder):
    return {row["claim"]: row for row in pl.read_parquet(folder / "data" / "verdicts.parquet").iter_rows(named=True)}


def test_the_same_code_and_spec_give_the_same_bytes_from_the_tables_alone(lnlab, copy, reported):
    for name in ("index.html", "notebook.ipynb"):
        (copy / name).unlink()
    shutil.rmtree(copy / "figures")
    said = lnlab("report", "--from", "reports/tiny")
    assert (said.code, said.out) == (0, "reports/tiny/index.html\n"), said.err
    assert contents(copy.parent) == contents(reported.parent)


def test_any_working_folder_will_do(lnlab, copy, spec, reported, tmp_path, monkeypatch):
    spec.write_text(spec.read_text().replace("A tiny experiment", "Another title"))
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    assert lnlab("report", "--from", copy).code == 0
    assert "Another title" in (copy / "index.html").read_text(), "the spec lies in a folder that holds the report"
    assert list((tmp_path / "away").iterdir()) == []


def test_a_changed_claim_is_judged_again_and_the_folder_holds_the_spec_it_was_judged_by(lnlab, copy, spec):
    before = json.loads((copy / EXPERIMENT).read_text())
    estimate = verdicts(copy)["far_above"]["estimate"]
    assert verdicts(copy)["far_above"]["verdict"] == "contradicted"
    spec.write_text(spec.read_text().replace(LINES, "    at_least: 0.0001\n"))
    assert lnlab("report", "--from", "reports/tiny").code == 0
    row = verdicts(copy)["far_above"]
    assert (row["verdict"], row["estimate"]) == ("supported", estimate)
    after = json.loads((copy / EXPERIMENT).read_text())
    assert after["spec"] == spec.read_text()
    assert after["digest"] != before["digest"]
    first = contents(copy)
    assert lnlab("report", "--from", "reports/tiny").code == 0
    assert contents(copy) == first, "once more changes nothing"


def test_a_spec_may_be_named(lnlab, copy, spec):
    other = spec.with_name("other.yaml")
    other.write_text(spec.read_text().replace(LINES, "    at_least: 0.0001\n"))
    assert lnlab("report", "--from", "reports/tiny", "other.yaml").code == 0
    assert verdicts(copy)["far_above"]["verdict"] == "supported"


def test_a_claim_and_a_section_of_other_rows_of_a_kept_quantity_are_judged_and_drawn(lnlab, console, copy, spec):
    text = spec.read_text().replace(
        "claims:\n", "  - {kind: heatmap, quantity: gradient_norm, where: {tensor: w1}}\nclaims:\n", 1
    )
    text = text.replace("tensor: w2, layer: last", "tensor: w1, layer: last")
    spec.write_text(text)
    assert lnlab("report", "--from", "reports/tiny").code == 0
    (copy / "figures" / "figure-1.svg").unlink()
    row = verdicts(copy)["far_above"]
    assert (row["verdict"], row["n"]) == ("contradicted", 3)
    spec.write_text(text.replace("quantity: gradient_norm, where: {tensor: w1}", "quantity: sharpness"))
    console("report", "--from", "reports/tiny", of="section 2")


def test_runs_that_the_report_lacks_are_missing_and_their_claims_undecided(console, copy, spec):
    text = spec.read_text().replace("[post, pre]", "[post, pre, mix]")
    spec.write_text(text.replace("to: {placement: pre}\n" + LINES, "to: {placement: mix}\n" + LINES))
    before = verdicts(copy)["post_above_pre"]
    assert console("report", "--from", "reports/tiny").code == 0
    row = verdicts(copy)["far_above"]
    assert row["verdict"] == "undecided"
    assert verdicts(copy)["post_above_pre"] == before
    assert "3 not run yet" in (copy / "index.html").read_text()


def test_runs_stay_though_the_spec_no_longer_asks_for_them(lnlab, copy, spec, reported):
    packs = {name: content for name, content in contents(copy).items() if name.startswith("data/packs/")}
    spec.write_text(spec.read_text().replace("seeds: 3", "seeds: 2"))
    assert lnlab("report", "--from", "reports/tiny").code == 0
    assert verdicts(copy)["far_above"]["n"] == 2
    assert {name: content for name, content in contents(copy).items() if name.startswith("data/packs/")} == packs


def test_several_reports_are_made_again_and_one_that_cannot_keeps_no_other_back(lnlab, copy):
    shutil.copytree(copy, copy.with_name("second"))
    (copy / "index.html").unlink()
    (copy.with_name("second") / "index.html").unlink()
    said = lnlab("report", "--from", "reports/tiny", "reports/none", "reports/second")
    assert said.code == 2
    assert said.out == "reports/tiny/index.html\nreports/second/index.html\n"
    assert said.err.splitlines()[-1].startswith("reports/none/data/experiment.json: ")


def test_what_does_not_go_together_is_refused(console, copy, spec):
    for words in (
        ["reports/tiny", "-s", "seeds=2"],
        ["reports/tiny", "reports/tiny", "--out", "x"],
        ["reports/tiny", "reports/tiny", "tiny.yaml"],
    ):
        console.refused("report", "--from", *words)
    console.refused("report", "tiny.yaml", "tiny.yaml")


def test_how_long_an_epoch_is_comes_from_the_runs(lnlab, tiny):
    text = tiny.read_text().replace("train: 200}", "train: 60}").replace("seeds: 3\n", "seeds: 2\nTRAIN\n", 1)
    text = text.replace("TRAIN", "optimizer: {kind: adam, lr: 1e-2}\ntrain: {epochs: 1}")
    tiny.write_text(text)
    assert lnlab("run", "tiny.yaml", "-w", 1, "-q").code == 0
    assert lnlab("report", "tiny.yaml", "-q").code == 0
    folder = tiny.parent / "reports" / "tiny"
    steps = set(read_folder(folder)[1].runs["steps"])
    assert len(steps) == 1
    assert steps != {1000}, "what an epoch passes for where no corpus is read"
    first = contents(folder)
    said = lnlab("report", "--from", "reports/tiny")
    assert said.err.endswith("2 claims judged\n"), said.err
    assert contents(folder) == first
