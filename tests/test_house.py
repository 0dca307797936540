"""The house stands as it was drawn: names and imports (the floors: contracts in pyproject.toml)."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "lnlab").rglob("*.py"))
MAY_IMPORT_LATE = ("lnlab/cli/", "lnlab/app/", "lnlab/committed/", "lnlab/__init__.py", "lnlab/__main__.py")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


TEXTS = {name(path): path.read_text() for path in FILES}


@cache
def trees() -> dict[str, ast.Module]:
    """The parsed files, which takes seconds: only where a test runs that reads them."""
    return {file: ast.parse(text) for file, text in TEXTS.items()}


def test_every_module_says_what_it_is_and_imports_at_the_top():
    assert [file for file, tree in trees().items() if not ast.get_docstring(tree)] == []
    late = [
        f"{file}:{node.lineno}"
        for file, tree in trees().items()
        if not file.startswith(MAY_IMPORT_LATE)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if "  # late: " not in TEXTS[file].splitlines()[node.lineno - 1]
    ]
    assert late == [], "import at the top, or say on the line why not: # late: REASON"


def test_templates_never_switch_escaping_off_and_no_fixture_lasts_longer_than_it_says():
    for template in (ROOT / "templates").rglob("*"):
        if template.is_file():
            assert not re.search(r"\|\s*safe|autoescape false", template.read_text()), template
    # A folder without ``__init__.py`` is no package to pytest: a fixture of its package would last for the session.
    lasting = 'scope="' + 'package"'  # in two parts, so that this file does not contain it
    assert [path for path in (ROOT / "tests").rglob("*.py") if lasting in path.read_text(encoding="utf-8")] == []


def test_every_golden_file_has_its_tests():
    """One that a module no longer says would stay unread."""
    kept = (ROOT / "tests" / "golden").rglob("*.txt")
    modules = {path: ROOT / "tests" / path.relative_to(ROOT / "tests" / "golden").with_suffix(".py") for path in kept}
    assert modules
    said = re.compile(r"\b(golden|console)\b")
    assert [path for path, module in modules.items() if not said.search(module.read_text(encoding="utf-8"))] == []
