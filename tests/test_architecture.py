"""ARCHITECTURE.md names what exists, and names in the code say what they hold."""

import ast
import pydoc
import re
from collections.abc import Iterator
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


DIALECT = {
    "found",
    "made",
    "given",
    "told",
    "there",
    "here",
    "said",
    "kept",
    "asked",
    "shown",
    "alike",
    "wanted",
    "every",
    "looks",
    "held",
    "ends",
    "rest",
    "beside",
    "taken",
    "each",
}
"""Words that stand in for a noun: a reader must run the function to learn what such a variable holds."""


def _bindings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_variables_are_named_for_what_they_hold():
    names = [name for path in MODULES for name in _bindings(ast.parse(path.read_text(encoding="utf-8")))]
    vague = [name for name in names if name.strip("_") in DIALECT]
    assert len(vague) <= 0.01 * len(names)


def _public_names(path: Path) -> Iterator[str]:
    """The public names that a module defines, without registered builders, whose names are those of the language."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [] if any(".register(" in ast.unparse(d) for d in node.decorator_list) else [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []
        yield from (name for name in names if not name.startswith("_"))


def test_a_public_name_has_one_home():
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for name in _public_names(path):
            homes.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


VALUES = re.findall(r"^\| `([\w.]+)` \| `([a-z_ 0-9]+)`( \.\.\.)? \|", PAGE, flags=re.MULTILINE)


def test_the_page_has_ten_values():
    assert len(VALUES) == 10


@pytest.mark.parametrize(("name", "words", "more"), VALUES, ids=[name for name, *_ in VALUES])
def test_the_fields_of_a_value_are_those_that_the_page_names(name, words, more):
    names = {field.name for field in fields(pydoc.locate(f"lnlab.{name}"))}
    named = words.split()
    assert len(set(named)) == len(named)
    assert set(named) < names if more else set(named) == names
