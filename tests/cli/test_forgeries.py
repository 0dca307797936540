"""Forged reports are found by the level of ``lnlab verify`` that has to find them: docs/verification_power.md."""

from collections import Counter
from pathlib import Path

import pytest

from lnlab.committed.locks.verify import verify_reports
from tests.support.forgeries import DOCUMENT, FORGERIES, KINDS, SPECS, caught, forged, lowest_level, write_repository

QUICK = {
    "one number of one run doubled",
    "the rows of seeds 1 and 2 of a variant",
    "the seed whose number is the smallest",
    "the accepted range of a claim, in file and report",
    "the answer on the page",
    "a document beside the figures",
    "the labels of two variants exchanged, with their settings",
}
"""One of each kind, on the report that takes the least time; all others are forged by night."""


def marks_of(one):
    """Of what is rewritten with everything, one is computed again."""
    quick = one.what in QUICK and (one.kind != KINDS[-1] or one.what.startswith("the labels"))
    return () if quick else pytest.mark.nightly


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    """By experiment a function that makes its repository once."""
    made: dict[str, Path] = {}

    def repository(of):
        if of not in made:
            made[of] = tmp_path_factory.mktemp(of) / "repository"
            write_repository(made[of], of)
        return made[of]

    return repository


def test_there_are_forty_forgeries_and_several_of_each_kind():
    counts = Counter(one.kind for one in FORGERIES)
    assert len(FORGERIES) >= 40
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 5
    assert len({one.name for one in FORGERIES}) == len(FORGERIES)


OTHERS = [pytest.param(of, marks=() if of == "untrained" else pytest.mark.nightly) for of in SPECS]


@pytest.mark.parametrize("of", OTHERS)
def test_a_report_that_nobody_forged_passes_every_level(repositories, monkeypatch, of):
    monkeypatch.chdir(repositories(of))
    assert lowest_level(3) is None


@pytest.mark.parametrize("one", [pytest.param(one, marks=marks_of(one), id=one.name) for one in FORGERIES])
def test_a_forgery_is_found(repositories, one):
    """With the lock as it was at level 0, with another lock at level 1, and rewritten with everything at level 3."""
    found = caught(repositories(one.of), one, 3)
    if one.kind == KINDS[-1]:
        assert found.again in (2, 3)
    else:
        assert found.as_was == 0
        assert found.again in (0, 1, "refused")


def test_a_forged_report_without_a_lock_is_found_at_level_1(repositories):
    one = next(one for one in FORGERIES if one.what == "the answer on the page")
    with forged(repositories("untrained"), one):
        folder = Path("reports/untrained").rename("mailed")
        assert verify_reports([folder]).passed, "only the lock has its digest"
        (report,) = verify_reports([folder], 1).reports
        assert [difference.where for difference in report.differences] == ["mailed/index.html"]


def test_the_guide_has_the_forgeries_of_today_and_none_that_is_not_found():
    rows = [line.split("|")[1:-1] for line in DOCUMENT.read_text(encoding="utf-8").splitlines()]
    cells = [[cell.strip() for cell in row] for row in rows]
    told = {(row[0], row[1]): row[3] for row in cells if row and row[0] in KINDS}
    assert told.keys() == {(one.kind, one.what) for one in FORGERIES}
    assert "no level" not in told.values()
