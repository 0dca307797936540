"""What an editor or a type checker sees of lnlab: its public names have types, and wrong calls are refused."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRONG = ROOT / "tests/fixtures/wrong_calls.py"
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
BIN = Path(sys.executable).parent


def mypy(*files: Path) -> set[tuple[str, int]]:
    """File and line of every error of ``mypy --strict``."""
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, files)]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout
    return {(Path(m[1]).name, int(m[2])) for m in re.finditer(r"^(\S+?):(\d+): error", printed, re.MULTILINE)}


def pyright(folder: Path, *files: Path) -> set[tuple[str, int]]:
    """File and line of every error of pyright (as packaged by basedpyright, with its own node)."""
    settings = {"include": list(map(str, files)), "typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
    settings |= {"reportMissingImports": True, "reportMissingModuleSource": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    words = [BIN / "basedpyright", "--project", folder, "--outputjson", "--pythonpath", sys.executable]
    printed = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    errors = [d for d in printed["generalDiagnostics"] if d["severity"] == "error"]
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


def test_every_public_name_is_there_at_run_time():
    import lnlab

    assert set(lnlab.__all__) <= set(dir(lnlab))
    assert all(callable(getattr(lnlab, name)) for name in lnlab.__all__)
