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


CELL = """\
import lnlab
reveal_type(lnlab.Spec.__init__)
reveal_type(lnlab.Spec(title='a').norm)
"""


@pytest.fixture(scope="module")
def diagnostics(tmp_path_factory) -> dict[str, list[dict[str, Any]]]:
    """File -> all that pyright says of it (as packaged by basedpyright, with its own node), in one call for all."""
    folder = tmp_path_factory.mktemp("pyright")
    cell = folder / "cell.py"
    cell.write_text(CELL)
    settings = {"include": [str(path) for path in (WRONG, *EXAMPLES, cell)], "typeCheckingMode": "standard"}
    settings |= {"extraPaths": [str(ROOT)], "reportMissingImports": True, "reportMissingModuleSource": False}
    settings["enableTypeIgnoreComments"] = False  # they are mypy's
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    words = [BIN / "basedpyright", "--project", folder, "--outputjson", "--pythonpath", sys.executable]
    said: list[dict[str, Any]] = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)[
        "generalDiagnostics"
    ]
    return {
        path.name: [each for each in said if Path(each["file"]).name == path.name] for path in (WRONG, *EXAMPLES, cell)
    }


@pytest.mark.nightly
def test_pyright_refuses_every_wrong_call_and_accepts_the_examples(diagnostics):
    """As mypy does, which ``make types`` asks."""
    errors = [(name, each) for name, said in diagnostics.items() for each in said if each["severity"] == "error"]
    lines = WRONG.read_text().splitlines()
    planted = {(WRONG.name, number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert planted
    assert {(name, each["range"]["start"]["line"] + 1) for name, each in errors} == planted


@pytest.mark.nightly
def test_an_editor_shows_the_fields_of_a_spec_and_what_they_take(diagnostics):
    shown, norm = (said["message"] for said in diagnostics["cell.py"])
    assert set(re.findall(r"(\w+): ", shown)) >= set(lnlab.Spec.model_fields)
    assert "seeds: int | str | Sequence[int | str]" in shown
    assert "optimizer: str | Mapping[str, object] | BaseModel | None" in shown
    assert norm == 'Type of "lnlab.Spec(title=\'a\').norm" is "Piece | None"'


def test_every_public_name_and_no_other_is_there_at_run_time():
    assert set(dir(lnlab)) == {"__version__", *lnlab.__all__}
    assert all(callable(getattr(lnlab, name)) for name in lnlab.__all__)
