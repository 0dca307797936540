"""The notebook runs from top to bottom with the packages it names alone, offline, and shows the numbers of the page."""

import copy
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import nbclient
import nbformat
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lnlab.report.page.notebook import notebook_text

STRINGS = json.loads(Path(__file__).with_name("hostile.json").read_text())
OFFLINE = """
import socket, sys
def refuse(self, address):
    raise OSError(f"network: {address}")
socket.socket.connect = refuse
"""
ALONE = """
import re, sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

def closure(names):
    known = set()
    while names:
        name = names.pop().lower().replace("_", "-")
        if name not in known:
            known.add(name)
            try:
                lines = requires(name) or []
            except PackageNotFoundError:
                continue  # a requirement of another platform
            names += [re.match("[A-Za-z0-9._-]+", line)[0] for line in lines if "extra" not in line]
    return known

installed = closure(["ipykernel", *{names!r}])
there = {{top: {{d.lower().replace("_", "-") for d in found}} for top, found in packages_distributions().items()}}

class Installed:  # a finder that finds nothing but the standard library and what is installed
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = top in sys.stdlib_module_names or there.get(top, set()) & installed
        return self.finder.find_spec(name, path, target) if known else None

sys.meta_path[:] = map(Installed, sys.meta_path)
for absent in ("lnlab", "scipy", "numpy"):
    try:
        __import__(absent)
    except ModuleNotFoundError:
        continue
    raise AssertionError(absent + " is no package that the notebook names")
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
def test_it_runs_with_the_packages_it_names_and_without_a_network_to_equal_numbers(folder, written, tmp_path):
    names = re.search(r"`pip install ([^`]+)`", written.cells[0].source)[1].split()
    place = tmp_path / "moved"
    shutil.copytree(folder, place)
    ran = copy.deepcopy(written)
    for cell in ran.cells:
        cell.source = re.sub(
            r'^drawing\("(figure-\d+)"', r'points.write_parquet("\1.again")\n\g<0>', cell.source, flags=re.MULTILINE
        )
    ran.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE + ALONE.format(names=names), id="offline"))
    client = nbclient.NotebookClient(
        ran, timeout=120, resources={"metadata": {"path": str(place)}}, record_timing=False, kernel_name="python3"
    )
    client.execute()
    pairs = [(a, b) for a, b in zip(written.cells, ran.cells[1:], strict=True) if a.cell_type == "code"]
    assert len(pairs) == 8, "opening, verdicts, and a cell for each of six figures"
    for ours, theirs in pairs[1:]:
        assert theirs.outputs[-1].data["text/plain"] == ours.outputs[-1].data["text/plain"]
    assert sum("image/svg+xml" in theirs.outputs[-1].data for _, theirs in pairs[1:]) == 6
    for number in range(1, 7):
        points = pl.read_parquet(place / f"figure-{number}.again").select("estimate", "low", "high")
        shown = pl.read_csv(folder / "tables" / f"figure-{number}.csv")
        shown = shown.select(pl.nth(-4).alias("estimate"), pl.nth(-3).alias("low"), pl.nth(-2).alias("high"))
        assert_frame_equal(*(f.cast(pl.Float64).sort(pl.all()) for f in (points, shown)), rel_tol=1e-7)


def test_texts_cannot_become_markdown_or_code(small):
    facts, _, (verdict, _) = small
    for text in STRINGS:
        given = replace(facts, title=text, question=text, source={"cite": text}, sections=())
        made = nbformat.reads(notebook_text(given, [replace(verdict, claim=text, says=text)], []), as_version=4)
        assert [c.source for c in made.cells if c.cell_type == "code"] == code(facts, verdict)
        for cell in made.cells:
            if cell.cell_type == "markdown":
                assert "<" not in cell.source
                assert "](" not in cell.source


def code(facts, verdict):
    made = nbformat.reads(notebook_text(replace(facts, sections=()), [verdict], []), as_version=4)
    return [c.source for c in made.cells if c.cell_type == "code"]
