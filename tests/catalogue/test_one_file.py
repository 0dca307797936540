"""Probe, quantity, section and claim kind from one file: listed, in the schema, on a page with their words."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toy_specs import ENCODER, toy_spec

ROOT = Path(__file__).parents[2]
PIECES = '''
"""Four pieces."""

import polars as pl

from lnlab.select.quantity import SITE, STATE, quantities, stored_rows
from lnlab.report.words.quantity_words import quantity_name
from lnlab.claims.claim import Finding, claims
from lnlab.claims.region import Region
from lnlab.claims.sample import one_number_per_seed, series_sample
from lnlab.claims.student import judge_sample
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.facts import QuantityWords
from lnlab.probes.probe import probes
from lnlab.report.data.series import source_rows_of
from lnlab.report.section import Section, Table, sections

WEIGHT = QuantityWords("heft of all weights", "stones", "number of trainable elements over a thousand", "H")
DOUBLE = QuantityWords("twofold heft", "double stones", "twice the heft")


@probes.register("heft", table="sites", passes=lambda _: 0.0, quantities={"heft": WEIGHT})
def heft(state, *, per: int = 1000):
    """``n / per``: trainable elements. ``per`` is how many make one stone."""
    yield {"quantity": "heft", "value": sum(p.numel() for p in state.model.parameters()) / per}


@quantities.register("double_heft", of=("heft",), words=DOUBLE)
def double_heft(results):
    """``2 h``: twice the heft."""
    rows = stored_rows(results, "heft")
    return rows.select(*STATE, pl.lit("double_heft").alias("quantity"), *SITE, pl.col("value") * 2)


@sections.register("ledger")
def ledger(results, *, quantity: str, where: dict | None = None):
    """``a number per run``: nothing else."""
    rows = select_measured_rows(results, {**(where or {}), "quantity": quantity})
    headings = {"seed": "seed", "value": quantity_name(quantity)}
    table = Table(rows.select("seed", "value"), headings, "Ledger")
    stored = source_rows_of(results, quantity, rows)
    return Section(f"The {quantity_name(quantity)} was written down", (), (table,), "", stored)


@claims.register("heavier")
def heavier(results, *, of: dict, than: float) -> Finding:
    """``y > than``: in every seed. ``than`` is the weight to beat."""
    series = select_series(results, of, None, None)
    return judge_sample("heft", series_sample(series, one_number_per_seed(series), log=True), Region(low=than))
'''
REST = """\
sweep: [{model.layers: [1, 2]}]
probes: [{kind: heft}]
report:
  - {kind: size_plot, quantity: double_heft}
  - {kind: ledger, quantity: heft, where: {model.layers: 2},
     claims: [{id: heavy, says: It is heavy., role: prediction, kind: heavier, than: 0.5}]}
"""
SPEC = toy_spec(ENCODER, REST, model={"layers": 1}, seeds=3)
PROGRAM = """\
import sys
from lnlab.cli import main
if __name__ == "__main__":
    for words in (["list", "probe", "heft"], ["list", "quantity", "heft"], ["list", "quantity", "double_heft"],
                  ["list", "section", "ledger"], ["list", "claim", "heavier"], ["list", "--schema"],
                  ["check", "spec.yaml"], ["run", "spec.yaml", "-q", "-w", "1"], ["report", "spec.yaml", "-q"]):
        print("\\n>", *words, flush=True)
        code = main(["--with", "pieces.py", *words])
        if code:
            sys.exit(code)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each command printed, by its words, and the folder in which they ran."""
    here = tmp_path_factory.mktemp("one_file")
    for name, text in {"pieces.py": PIECES, "spec.yaml": SPEC, "program.py": PROGRAM}.items():
        (here / name).write_text(text)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LNLAB_STORE": str(here / "store"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=here, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    outputs = dict(part.split("\n", 1) for part in done.stdout.split("\n> ")[1:])
    return outputs, here


@pytest.mark.nightly
def test_each_is_listed_with_its_words(said):
    outputs, _ = said
    assert "how many make one stone" in outputs["list probe heft"]
    listed = outputs["list quantity heft"]
    assert "Heft of all weights (number of trainable elements over a thousand, stones); measured by probe" in listed
    assert "Twofold heft (twice the heft, double stones)" in outputs["list quantity double_heft"]
    assert "a number per run" in outputs["list section ledger"]
    assert "the weight to beat" in outputs["list claim heavier"]


@pytest.mark.nightly
def test_each_is_in_the_schema(said):
    schema = json.loads(said[0]["list --schema"])
    assert {"probe_heft", "section_ledger", "claim_heavier"} <= schema["$defs"].keys()
    assert {"heft", "double_heft"} <= set(schema["$defs"]["quantity_name"]["enum"])
    assert schema["$defs"]["claim_heavier"]["properties"]["than"]["description"] == "`than` is the weight to beat."


@pytest.mark.nightly
def test_each_is_on_the_page_with_its_words_and_unit(said):
    folder = said[1] / "reports" / "spec"
    page = (folder / "index.html").read_text()
    assert "The heft of all weights was written down" in page
    assert "Twofold heft (twice the heft, double stones)" in page
    assert "It is heavy." in page
    assert "twofold heft, double stones" in (folder / "figures" / "figure-1.svg").read_text()
    facts = json.loads((folder / "data" / "experiment.json").read_text())
    assert facts["words"]["heft"]["symbol"] == "H"
    assert 'class="broken"' not in page


PAGE = (ROOT / "ARCHITECTURE.md").read_text()
TO_COPY = dict(re.findall(r"^\| (section|quantity|probe|claim) \| `([\w/]+\.py)` \|", PAGE, flags=re.MULTILINE))
OF_COPIES = """\
probes: [{kind: gradient_norm}, {kind: input_norm_of_mine, batches: 2}]
report:
  - {kind: small_multiples_of_mine, quantity: gradient_norm, panels: placement, where: {tensor: w2}}
claims:
  - {id: rises, says: It rises., role: prediction, kind: trend_of_mine, of: {quantity: gradient_norm, tensor: w2},
     over: layer, direction: up}
  - {id: total, says: It is not 0., role: prediction, kind: bound, of: {quantity: total_gradient_norm_of_mine},
     at_least: 1.0e-9}
"""
COPIED = toy_spec(ENCODER, OF_COPIES, model={"layers": 4}, seeds=3)
COMMANDS = """\
import sys
from lnlab.cli import main
if __name__ == "__main__":
    with_files = sys.argv[1:]
    for words in (["list", "section", "small_multiples_of_mine"], ["list", "quantity", "total_gradient_norm_of_mine"],
                  ["list", "probe", "input_norm_of_mine"], ["list", "claim", "trend_of_mine"], ["check", "spec.yaml"]):
        if code := main([*with_files, *words]):
            sys.exit(code)
"""


def test_the_page_names_the_file_to_copy_for_each_of_the_four():
    assert TO_COPY.keys() == {"section", "quantity", "probe", "claim"}
    for name in TO_COPY.values():
        assert (
            len(re.findall(r"^@\w+\.register\($|^@\w+\.register\(\"", (ROOT / "lnlab" / name).read_text(), re.M)) == 1
        )


@pytest.mark.nightly
@pytest.mark.parametrize("place", ["in the package", "anywhere"])
def test_a_copy_of_that_file_under_another_name_is_a_new_piece_and_nothing_else_is_needed(tmp_path, place):
    package = tmp_path / "lnlab"
    if place == "in the package":
        shutil.copytree(ROOT / "lnlab", package, ignore=shutil.ignore_patterns("__pycache__"))
    options = []
    for name in TO_COPY.values():
        text = (ROOT / "lnlab" / name).read_text()
        registered = re.search(r'\.register\(\s*"(\w+)"', text)[1]
        copy = (package / name if place == "in the package" else tmp_path / name).with_stem(f"{registered}_of_mine")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace(f'"{registered}"', f'"{registered}_of_mine"'))
        options += ["--with", str(copy)]
    (tmp_path / "spec.yaml").write_text(COPIED)
    (tmp_path / "program.py").write_text(COMMANDS)
    root = tmp_path if place == "in the package" else ROOT
    words = [] if place == "in the package" else options
    done = subprocess.run(
        [sys.executable, "program.py", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root), "LNLAB_STORE": str(tmp_path / "store")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "1 model, 2 claims" in done.stdout
