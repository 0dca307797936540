"""ARCHITECTURE.md names what exists."""

import pydoc
import re
from dataclasses import fields
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "lnlab").rglob("*.py"))
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FUNCTIONS = sorted(set(re.findall(r"`((?:\w+\.){1,3}\w+)`", PAGE)))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.endswith((".py", ".md", ".json"))])
def test_every_function_on_the_page_exists(name):
    assert pydoc.locate(f"lnlab.{name}") is not None


VALUES = re.findall(r"^\| `([\w.]+)` \| `([a-z_ 0-9]+)`( \.\.\.)? \|", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize(("name", "words", "more"), VALUES, ids=[name for name, *_ in VALUES])
def test_the_fields_of_a_value_are_those_that_the_page_names(name, words, more):
    names = {field.name for field in fields(pydoc.locate(f"lnlab.{name}"))}
    named = words.split()
    assert len(set(named)) == len(named)
    assert set(named) < names if more else set(named) == names
