"""ARCHITECTURE.md names what exists, and the rooms are as small as it promises."""

import pydoc
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FUNCTIONS = sorted(set(re.findall(r"`((?:\w+\.){1,3}\w+)`", PAGE)))
FLAT = {"nn", "probes"}
"""Rooms whose file names are their contents: one method or one measurement a file."""


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.endswith((".py", ".md", ".json"))])
def test_every_function_on_the_page_exists(name):
    assert pydoc.locate(f"lnlab.{name}") is not None


@pytest.mark.parametrize("folder", sorted({path.parent for path in (ROOT / "lnlab").rglob("*.py")}), ids=str)
def test_no_room_is_a_heap_of_files(folder):
    if str(folder.relative_to(ROOT / "lnlab")) not in FLAT:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 20, "group the files of this folder by what they hold"
