"""The notebook of the guide runs from its first cell to its last, and shows a chart, verdicts and a page."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # of the client's own event loop
def test_the_notebook_measures_a_gpt2(tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="transformers is not installed")
    notebook = nbformat.read(EXAMPLES / "own_gpt2.ipynb", as_version=4)
    assert len(notebook.cells) == 10
    path = os.pathsep.join(filter(None, (str(EXAMPLES.parents[1]), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [str(cell.get("outputs", "")) for cell in notebook.cells]
    assert "self_attention" in shown[6]
    assert "image/svg+xml" in shown[7]
    assert notebook.cells[8].outputs[0].data["text/plain"].count("✓ supported") == 2
    page = (tmp_path / "gpt2" / "index.html").read_text()
    assert "GPT-2 at initialization" in page
    counts = re.search(r'<p class="tested counts">(.*?)</p>', page, re.DOTALL)[1]
    words = re.sub("<[^>]+>", "", counts).split()  # a made answer stands in the head
    assert words == ["Claims:", "✓", "2", "supported"]
