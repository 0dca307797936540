"""Every fault at the size of the suite: often enough to notice a broken promise; the table of the guide is whole."""

from pathlib import Path

import pytest

from tests.torture.catalogue import FAULTS
from tests.torture.faults import suffer
from tests.torture.page import NOT_YET, page_with, rows_of

BY_NIGHT = (
    "killed after it",  # at the calls before which others are killed: a call later
    "input or output error (EIO), after half a write",  # both are refused as ENOSPC is, with another number
    "quota exceeded (EDQUOT)",
    "eight processes on one spec of 100 units",  # as four on overlapping specs do
    "SIGKILL to workers and parents that train",  # as those that measure; test_signals stops runs that train
    "one of two ranks dies",  # own_model/test_ranks has one that is killed
)
"""Faults that ``make test`` does not inject: each goes the way of another one that it does."""
PAGE = Path(__file__).parents[2] / "docs" / "faults.md"


def test_the_page_has_a_row_of_every_fault_and_no_other():
    assert list(rows_of(PAGE.read_text())) == list(FAULTS)
    assert page_with(PAGE.read_text(), FAULTS, []) == PAGE.read_text()


@pytest.mark.parametrize("name", FAULTS)
def test_the_page_says_of_each_that_nothing_was_lost_or_that_it_was_not_injected(name):
    injected, lost, _ = rows_of(PAGE.read_text())[name]
    outcomes = {(True, "nothing"), (False, "not injected here"), (False, NOT_YET[1])}
    assert (int(injected.replace(",", "")) > 0, lost) in outcomes


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.torture if name in BY_NIGHT else ()) for name in FAULTS]
)
def test_nothing_is_lost(name, tmp_path):
    row = suffer(FAULTS[name], tmp_path / "fault", full=False)
    if row.skipped:
        pytest.skip(row.skipped)
    assert row.tally.lost == []
    assert row.tally.injected > 0
