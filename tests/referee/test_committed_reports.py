"""The review of committed reports: what a careful reader found there by hand, and how many lines a page shows."""

from pathlib import Path

import pytest

from lnlab.app.judging import claims_as_judged
from lnlab.committed.registries import load_registries
from lnlab.referee.review import SCALE, SHOWN, review_report
from lnlab.report.folder import read_folder
from lnlab.report.referee import neighbours_of, study_of_report

REPORTS = Path(__file__).parents[2] / "reports"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("four_tricks", {("R1", "no_norm"), ("R2", "no_adam"), ("R15", "no_adam"), ("R34", "no_adam")}),
        ("zhang_mackey_hessian", {("R13", "sharper"), ("R13", "sharper_relative")}),
        ("depths_apart", {("R3c", "post_decoder_depth_counts")}),
    ],
)
def test_what_was_found_by_hand_is_found(name, expected):
    folder = REPORTS / name / "real"
    facts, results, verdicts = read_folder(folder)
    claims = list(claims_as_judged(facts, load_registries([])).values())
    lines = review_report(study_of_report(facts, results, verdicts, claims, neighbours_of(folder, facts)))
    assert expected <= {(line.rule, claim) for line in lines for claim in line.claims}
    if name != "zhang_mackey_hessian":  # whose models are not trained
        assert [line.rule for line in lines[:SHOWN]].count(SCALE) == 1
