"""What an editor or a type checker sees of lnlab: its public names have types, and wrong calls are refused."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lnlab

ROOT = Path(__file__).parents[1]
WRONG = ROOT / "tests/fixtures/wrong_calls.py"
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
BIN = Path(sys.executable).parent


def mypy(*files: Path) -> set[tuple[str, int]]:
    """File and line of every error of ``mypy --strict``."""
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, files)]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout
    return {(Path(m[1]).name, int(m[2])) for m in re.finditer(r"^(\S+?):(\d+): error", printed, re.MULTILINE)}


def diagnostics(folder: Path, *files: Path) -> list[dict[str, Any]]:
    """All that pyright says (as packaged by basedpyright, with its own node)."""
    settings = {"include": list(map(str, files)), "typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
    settings |= {"reportMissingImports": True, "reportMissingModuleSource": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    words = [BIN / "basedpyright", "--project", folder, "--outputjson", "--pythonpath", sys.executable]
    said: list[dict[str, Any]] = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)[
        "generalDiagnostics"
    ]
    return said


def pyright(folder: Path, *files: Path) -> set[tuple[str, int]]:
    """File and line of every error of pyright."""
    errors = [d for d in diagnostics(folder, *files) if d["severity"] == "error"]
    return {(Path(d["file"]).name, d["range"]["start"]["line"] + 1) for d in errors}


def planted() -> set[tuple[str, int]]:
    """File and line of every planted mistake."""
    lines = WRONG.read_text().splitlines()
    return {(WRONG.name, number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


@pytest.mark.slow
def test_mypy_refuses_every_wrong_call_and_accepts_the_examples():
    assert mypy(WRONG, *EXAMPLES) == planted()


@pytest.mark.slow
def test_pyright_refuses_every_wrong_call_and_accepts_the_examples(tmp_path):
    assert pyright(tmp_path, WRONG, *EXAMPLES) == planted()


@pytest.mark.slow
def test_an_editor_shows_the_fields_of_a_spec_and_what_they_take(tmp_path):
    cell = tmp_path / "cell.py"
    cell.write_text("import lnlab\nreveal_type(lnlab.Spec.__init__)\nreveal_type(lnlab.Spec(title='a').norm)\n")
    shown, norm = (said["message"] for said in diagnostics(tmp_path, cell))
    assert set(re.findall(r"(\w+): ", shown)) >= set(lnlab.Spec.model_fields)
    assert "seeds: int | str | Sequence[int | str]" in shown
    assert "optimizer: str | Mapping[str, object] | BaseModel | None" in shown
    assert "Any" in norm


def test_every_public_name_is_there_at_run_time():
    assert set(lnlab.__all__) <= set(dir(lnlab))
    assert all(callable(getattr(lnlab, name)) for name in lnlab.__all__)
