"""The committed pages, and the few that stand for all of them in every run of the tests."""

import json
import re
from pathlib import Path

import pytest

REPORTS = Path(__file__).parents[2] / "reports"
PAGES = [data.parent / "index.html" for data in sorted(REPORTS.glob("*/real/data"))]
FAILED_ONCE = {"depth_zoo", "xiong_fig3"}
"""Whose legends and notes did not fit a phone."""


def parts(path):
    """What a page is made of: the kinds of its sections, and the classes of its elements, as of verdicts and rows."""
    facts = json.loads((path.parent / "data/experiment.json").read_text())
    classes = {name for names in re.findall(r'class="([^"]*)"', path.read_text()) for name in names.split()}
    return {f"section {section['kind']}" for section in facts["sections"]} | classes


def covering(pages):
    """Few of the pages that have together every part that one of them has, and those that failed once."""
    made_of = {path: parts(path) for path in pages}
    chosen = {path for path in pages if path.parts[-3] in FAILED_ONCE}
    missing = set().union(*made_of.values()) - set().union(*(made_of[path] for path in chosen))
    while missing:
        best = max(pages, key=lambda path: len(made_of[path] & missing))
        chosen.add(best)
        missing -= made_of[best]
    return chosen


SAMPLE = covering(PAGES)


def marks_of(path):
    """All others are for ``make all-tests``."""
    return () if path in SAMPLE else pytest.mark.torture
