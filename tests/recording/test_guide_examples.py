"""The examples of the guide to recording run as they stand, and give the pages that it promises."""

import os
import re
import runpy
from pathlib import Path

import nbformat
import polars as pl
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"


def page_of(folder):
    text = (folder / "index.html").read_text()
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style|svg)[\s\S]*?</\1>", "", text))


@pytest.mark.nightly
def test_two_placements_and_two_seeds_give_a_page_with_three_claims(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(DOCS / "examples" / "record_training.py"))
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["post-1", "post-2", "pre-1", "pre-2"]
    assert names["rows"].columns[:3] == ["placement", "seed", "step"]
    names["chart"].to_dict()
    page = page_of(tmp_path / "page")
    verdicts = pl.read_parquet(tmp_path / "page" / "data" / "verdicts.parquet")
    assert verdicts["claim"].to_list() == ["gradients", "distance", "entropy"]
    assert verdicts["n"].to_list() == [2, 2, 2]
    for words in (
        "gradient norm of the update",
        "update over weight",
        "attention entropy",
        "2 seeds; a verdict needs 5",
    ):
        assert words in page.lower(), words
    assert len(list((tmp_path / "page" / "figures").glob("figure-*.svg"))) >= 5


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_the_trainer(tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(DOCS / "examples" / "record_trainer.py"))
    frame = names["runs"].frame("attention_entropy")
    assert frame["layer"].unique().sort().to_list() == [1, 2]
    assert names["runs"].results.runs["status"].unique().to_list() == ["finished"]
    assert "GPT-2 in the Trainer" in page_of(tmp_path / "trainer-page")


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # of the client's own event loop
def test_the_notebook_with_the_trainer(tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate, without which there is no Trainer, is not installed")
    notebook = nbformat.read(DOCS / "examples" / "record_trainer.ipynb", as_version=4)
    path = os.pathsep.join(filter(None, (str(DOCS.parent), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [str(cell.get("outputs", "")) for cell in notebook.cells]
    assert "transformer.h.0" in shown[6]
    assert "image/svg+xml" in shown[7]
    verdicts = pl.read_parquet(tmp_path / "page" / "data" / "verdicts.parquet")
    assert verdicts.select("claim", "n").rows() == [("gradients", 2), ("distance", 2), ("entropy", 2)]
    page = page_of(tmp_path / "page").lower()
    for words in ("gradient norm of the update", "update over weight", "attention entropy", "a verdict needs 5"):
        assert words in page, words
