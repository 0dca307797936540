"""Replicates that are no seeds have their name: 40 documents in verdicts, on pages, in figures and papers."""

import json
import re

import numpy as np
import polars as pl
import pytest

import lnlab
from lnlab.cli import main
from lnlab.errors import LabError
from tests.support.golden import holding

SPEC = """lnlab: 2
title: Two models
results: {kind: table, files: [docs.csv], axes: [model], seed: doc, unit: document, step: step}
report:
  - kind: curves
    quantity: loss
    claims:
      - {id: mean, kind: difference, of: {step: last, model: b}, to: {model: a}, at_least: 0.05}
      - {id: edge, kind: difference, of: {step: last, model: b}, to: {model: a}, at_least: 0.1}
      - {id: share, kind: difference, of: {step: last, model: b}, to: {model: a}, at_least: 0.05, about: share}
      - {id: rises, kind: trend, of: {model: b}, over: step, direction: up, at_least: 1.1}
  - {kind: dots, quantity: loss, rows: model, where: {step: last}}
  - {kind: table, quantity: loss, rows: model, columns: step}
"""
WORD = re.compile(r"\bseeds?\b", re.IGNORECASE)
OWN = re.compile(r"seed: doc|'seed:[QN]'|\bseed:[QN]\b|class=\"seed\"")


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    base = generator.normal(size=40)
    return pl.DataFrame(
        {"model": m, "doc": d, "step": t, "loss": 2 + 0.1 * (m == "b") + 0.1 * base[d] + 0.05 * generator.normal()}
        for m in "ab"
        for d in range(40)
        for t in (1, 2, 3, 4)
    )


def texts_of(page):
    """What a reader of a page sees and hears."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    said = re.findall(r'(?:alt|aria-label|title|content)="([^"]*)"', page)
    return [*said, *re.split(r"<[^>]*>", page)]


def test_no_seed_is_spoken_of_where_replicates_are_documents(tmp_path, monkeypatch, capsys, table, golden):
    table.write_csv(tmp_path / "docs.csv")
    (tmp_path / "docs.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "docs.yaml"]) == 0
    printed = capsys.readouterr().out
    assert "interval over 40 documents" in printed
    assert "documents would" in printed
    assert not WORD.search(printed)
    assert main(["run", "docs.yaml", "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert not WORD.search(" ".join(f"{v['reason']} {v['statistic']} {v['scope']}" for v in verdicts))
    assert {v["scope"] for v in verdicts} >= {"after 4 updates, 40 documents"}
    assert main(["report", "docs.yaml"]) == 0
    folder = tmp_path / "reports" / "docs"
    page = (folder / "index.html").read_text()
    wrong = [text for text in texts_of(page) if WORD.search(OWN.sub("", text))]
    assert not wrong
    assert "40 documents each" in page
    golden(holding(page, "Documents are taken"))
    for file in (*folder.glob("tables/*"), *folder.glob("figures/*.svg")):
        assert not WORD.search(file.read_text()), file
    for file in folder.glob("figures/*.html"):
        assert not [text for text in texts_of(file.read_text()) if WORD.search(text)], file
    assert main(["paper", "reports/docs", "--out", "paper"]) == 0
    for file in (tmp_path / "paper").glob("*.tex"):
        assert not WORD.search(file.read_text()), file
    assert not WORD.search(repr(lnlab.from_frame(table, axes=["model"], seed="doc", step="step", unit="document")))


def test_what_is_no_noun_is_no_unit(table, golden):
    for unit in ("", "documents 3", "a, b", "x\ny"):
        with golden.raises(LabError):
            lnlab.from_frame(table, axes=["model"], seed="doc", step="step", unit=unit)


def test_a_word_on_y_has_its_plural(table):
    claim = {"id": "c", "kind": "difference", "of": {"quantity": "loss", "step": "last", "model": "b"}}
    runs = lnlab.from_frame(table, axes=["model"], seed="doc", step="step", unit="query")
    (verdict,) = runs.judge({**claim, "to": {"model": "a"}, "at_least": 0.1})
    assert verdict.scope.endswith("40 queries")
