"""The notebooks of docs/examples, one for each way into lnlab: executed, short, quiet, and with every chart drawn."""

import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
DOORS = sorted((ROOT / "docs/examples").glob("door_*.ipynb"))
SCREEN = 4_000
"""Characters of text that a reader takes in without scrolling."""
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def code(notebook) -> Iterator[nbformat.NotebookNode]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def check_outputs(cells) -> None:
    for cell in cells:
        kinds = {output.output_type for output in cell.outputs}
        assert kinds <= {"execute_result", "display_data"}, cell.source
        for data in (output.data for output in cell.outputs):
            assert len(data.get("text/plain", "")) < SCREEN, cell.source
            assert len(re.sub("<[^>]*>", "", data.get("text/html", ""))) < SCREEN, cell.source
            assert not re.search(r'(?:src|href)="(?:https?:)?//', data.get("text/html", ""))
        if ".plot(" in cell.source:
            assert any("image/svg+xml" in output.data for output in cell.outputs), cell.source


@pytest.mark.parametrize("path", DOORS, ids=lambda path: path.stem)
def test_what_is_committed_is_executed_short_and_quiet(path):
    cells = list(code(nbformat.read(path, as_version=4)))
    assert all(cell.outputs for cell in cells)
    check_outputs(cells)


@pytest.mark.nightly
def test_all_of_them_run_one_after_another_and_a_mistake_is_one_line(tmp_path):
    place = spec_from_file_location("notebooks", ROOT / ".ci" / "notebooks.py")
    notebooks = module_from_spec(place)
    place.loader.exec_module(notebooks)
    cells = [cell for path in DOORS for cell in code(nbformat.read(path, as_version=4))]
    mistake = nbformat.v4.new_code_cell('lnlab.plan(spec, overrides={"model.heads": 3, "seedz": 2})')
    written = nbformat.v4.new_notebook(cells=[*cells, mistake])
    assert len(cells) >= 15
    *ran, wrong = code(notebooks.executed(written, tmp_path, allow_errors=True))
    check_outputs(ran)
    (told,) = wrong.outputs
    lines = ANSI.sub("", "\n".join(told.traceback)).splitlines()
    assert (told.output_type, told.ename, len(lines)) == ("error", "SpecError", 2)
    assert lines[0].startswith("SpecError: -s seedz=2: ")
