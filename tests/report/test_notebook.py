"""The notebook runs from top to bottom with polars and altair alone, offline, and shows the numbers of the page."""

import copy
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import nbclient
import nbformat
import pytest

from lnlab.report.notebook import escape, notebook

STRINGS = json.loads(Path(__file__).with_name("hostile.json").read_text())
OFFLINE = """
import socket, sys
def refuse(self, address):
    raise OSError(f"network: {address}")
socket.socket.connect = refuse
sys.modules["lnlab"] = None
"""


@pytest.fixture(scope="module")
def written(folder):
    return nbformat.read(folder / "notebook.ipynb", as_version=4)


def test_it_is_valid_with_stable_ids_and_no_times(folder, written):
    nbformat.validate(written)
    ids = [cell.id for cell in written.cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", i) for i in ids)
    assert all(not cell.metadata for cell in written.cells)
    text = (folder / "notebook.ipynb").read_text()
    assert "timestamp" not in text
    assert "iopub" not in text


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::RuntimeWarning")
def test_it_runs_without_lnlab_and_without_a_network_to_equal_numbers(folder, written, tmp_path):
    place = tmp_path / "moved"
    shutil.copytree(folder, place)
    ran = copy.deepcopy(written)
    ran.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE, id="offline"))
    client = nbclient.NotebookClient(
        ran, timeout=120, resources={"metadata": {"path": str(place)}}, record_timing=False, kernel_name="python3"
    )
    client.execute()
    pairs = [(a, b) for a, b in zip(written.cells, ran.cells[1:], strict=True) if a.cell_type == "code"]
    assert len(pairs) == 14, "opening, verdicts, and two cells for each of six figures"
    for ours, theirs in pairs[1:]:
        assert theirs.outputs[-1].data["text/plain"] == ours.outputs[-1].data["text/plain"]
    assert sum("image/svg+xml" in theirs.outputs[-1].data for _, theirs in pairs[1:]) == 6


def test_texts_cannot_become_markdown_or_code(small):
    facts, _, (verdict, _) = small
    for text in STRINGS:
        given = replace(facts, title=text, question=text, source={"cite": text}, sections=())
        made = nbformat.reads(notebook(given, [replace(verdict, claim=text, says=text)], []), as_version=4)
        assert [c.source for c in made.cells if c.cell_type == "code"] == code(facts, verdict)
        for cell in made.cells:
            if cell.cell_type == "markdown":
                assert "<" not in cell.source
                assert "](" not in cell.source


def code(facts, verdict):
    made = nbformat.reads(notebook(replace(facts, sections=()), [verdict], []), as_version=4)
    return [c.source for c in made.cells if c.cell_type == "code"]


def test_escaping_keeps_words_and_one_line():
    assert escape("a\nb <i> *c* [d](e)") == r"a b &lt;i&gt; \*c\* \[d\]\(e\)"
