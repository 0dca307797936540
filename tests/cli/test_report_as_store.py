"""A report is asked as a store: a margin, a claim and a seed are changed, and what is missing alone is computed."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lnlab.report.folder import read_folder
from tests.report_rows import change_results
from tests.support.folders import contents

WIDER = ("at_least: 1.1\n", "at_least: 1.05\n")
"""Another margin of the first claim."""
FURTHER = ("seeds: 3\n", "seeds: 4\n")
CLAIM = """\
claims:
  - id: flat
    says: Without a norm behind the sum the gradient is flat.
    kind: bound
    of: {quantity: gradient_norm, stack: encoder, tensor: w1, layer: 1, placement: pre}
    at_most: 1000000
"""


@pytest.fixture
def report(committed, workdir):
    """The report of the tiny spec, copied with its spec into a folder without a store."""
    shutil.copy(committed / "specs/tiny.yaml", workdir)
    shutil.copytree(committed / "reports/tiny", workdir / "copy")
    return workdir / "copy"


def change(old, new):
    path = Path("tiny.yaml")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def looks_in(folder):
    return {
        claim: [(look["look"], look["seeds"]) for look in entries]
        for claim, entries in read_folder(folder)[0].looks.items()
    }


@pytest.mark.parametrize("changed", [WIDER, ("claims:\n", CLAIM)])
def test_another_margin_and_another_claim_are_judged_and_nothing_is_computed(lnlab, report, changed):
    before = contents(report)
    change(*changed)
    assert lnlab("plan", "tiny.yaml", "--store", "copy", "--json").json["units"] == {"all": 6, "missing": 0}
    ran = lnlab("run", "tiny.yaml", "--store", "copy", "--json").json
    assert (ran["computed"], ran["reused"]) == (0, 6)
    assert lnlab("report", "tiny.yaml", "--store", "copy", "--out", "page", "-q").code == 0
    assert contents(report) == before
    assert [verdict.verdict for verdict in read_folder(Path("page"))[2]] == [v["verdict"] for v in ran["verdicts"]]


def test_a_margin_that_was_changed_on_the_rows_of_a_report_is_a_further_look(lnlab, report):
    assert looks_in(report)["post_above_pre"] == [(1, [1, 2, 3])]
    change(*WIDER)
    assert lnlab("report", "tiny.yaml", "--store", "copy", "--out", "page", "-q").code == 0
    assert looks_in(Path("page"))["post_above_pre"] == [(1, [1, 2, 3]), (2, [1, 2, 3])]
    assert [look for look, _ in looks_in(Path("page"))["far_above"]] == [1]


def test_of_a_further_seed_that_alone_is_computed_in_a_store_of_ones_own(lnlab, console, report):
    change(*FURTHER)
    assert lnlab("plan", "tiny.yaml", "--store", "copy", "--json").json["units"] == {"all": 8, "missing": 2}
    assert f"lnlab pull SPEC {report}" in console.refused("run", "tiny.yaml", "--store", "copy")
    console("pull", "tiny.yaml", "copy")
    ran = lnlab("run", "tiny.yaml", "--json").json
    assert (ran["computed"], ran["reused"]) == (2, 6)
    assert lnlab("report", "tiny.yaml", "--out", "page", "-q").code == 0
    assert looks_in(Path("page"))["post_above_pre"] == [(1, [1, 2, 3]), (2, [1, 2, 3, 4])]
    console("pull", "tiny.yaml", "copy")


def test_a_report_of_something_else_gives_nothing(console, report):
    console.refused("pull", "tiny.yaml", "copy", "-s", "model.d_ff=64")


def test_what_is_thinned_stays_so_on_its_way_to_another_store(lnlab, report):
    """By a place or from the report itself, a claim that reads it is not judged on what is left."""
    change_results(
        report, lambda whole: replace(whole, thinned={run: frozenset({"gradient_norm"}) for run in whole.runs["run"]})
    )
    assert lnlab("push", "tiny.yaml", "there", "--store", "copy").code == 0
    for place in ("there", "copy"):
        assert lnlab("pull", "tiny.yaml", place, "--store", f"from_{place}").code == 0
        ran = lnlab("run", "tiny.yaml", "--store", f"from_{place}", "--json").json
        assert [verdict["verdict"] for verdict in ran["verdicts"]] == ["not testable here"] * 2
        assert "gradient_norm" in ran["verdicts"][0]["reason"]
