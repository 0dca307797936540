"""The house stands as it was drawn: names and imports (the floors: contracts in pyproject.toml)."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "lnlab").rglob("*.py"))
MAY_IMPORT_LATE = ("lnlab/cli/", "lnlab/app/", "lnlab/committed/", "lnlab/__init__.py", "lnlab/__main__.py")


def late_imports(file: Path) -> list[int]:
    """Lines of imports inside functions that do not say why; files without an indented one are not parsed."""
    text = file.read_text()
    if not re.search(r"^\s+(import|from) ", text, flags=re.MULTILINE):
        return []
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    inside = [node for function in functions for node in ast.walk(function)]
    lines = [node.lineno for node in inside if isinstance(node, ast.Import | ast.ImportFrom)]
    return [line for line in lines if "  # late: " not in text.splitlines()[line - 1]]


def test_every_module_imports_at_the_top():
    files = [file for file in FILES if not file.relative_to(ROOT).as_posix().startswith(MAY_IMPORT_LATE)]
    late = {str(file): lines for file in files if (lines := late_imports(file))}
    assert late == {}, "import at the top, or say on the line why not: # late: REASON"


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
