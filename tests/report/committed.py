"""The committed pages, and the one that stands for all of them in every run of the tests."""

from pathlib import Path

import pytest

REPORTS = Path(__file__).parents[2] / "reports"
PAGES = [data.parent / "index.html" for data in sorted(REPORTS.glob("*/real/data"))]


def marks_of(path):
    """All others are looked at by night."""
    return () if path.parts[-3] == "xiong_fig3" else pytest.mark.nightly
