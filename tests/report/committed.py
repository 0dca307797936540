"""The committed pages, and the two that stand for all of them in every run of the tests."""

from pathlib import Path

import pytest

REPORTS = Path(__file__).parents[2] / "reports"
PAGES = [data.parent / "index.html" for data in sorted(REPORTS.glob("*/real/data"))]
FAILED_ONCE = {"depth_zoo", "xiong_fig3"}
"""Whose legends and notes did not fit a phone."""


def marks_of(path):
    """All others are looked at by night."""
    return () if path.parts[-3] in FAILED_ONCE else pytest.mark.nightly
