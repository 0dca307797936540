"""ARCHITECTURE.md names what exists, and names in the code say what they hold."""

import ast
import pydoc
import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations
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


def _dataclasses() -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """Each dataclass of the package with the name and type of each field that it states itself.

    A key and a name are left out: they tell a value from others of its kind, and say nothing that another value says.
    """
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list):
                stated = [item for item in node.body if isinstance(item, ast.AnnAssign)]
                own = {(ast.unparse(item.target), ast.unparse(item.annotation)) for item in stated}
                yield f"{path.relative_to(ROOT)}: {node.name}", {field for field in own if field[0] not in _IDENTITY}


_IDENTITY = ("key", "name")


def test_no_dataclass_repeats_the_fields_of_another():
    """One that says more than half of what another says holds it, or is one: a reader learns each field once."""
    repeated = [
        f"{first} and {second}: {', '.join(sorted(name for name, _ in shared))}"
        for (first, fields_of_first), (second, fields_of_second) in combinations(_dataclasses(), 2)
        if len(shared := fields_of_first & fields_of_second) >= 3
        and 2 * len(shared) > min(len(fields_of_first), len(fields_of_second))
    ]
    assert repeated == []
