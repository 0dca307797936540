"""`llms.txt`, the spec language in short, is true: its specs are right, and every piece that it names is there."""

import re
from pathlib import Path

import pytest

import lnlab
from lnlab.committed.registries import load_registries

TEXT = (Path(__file__).parents[1] / "llms.txt").read_text()
REGISTRIES = load_registries(())
SPECS = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("spec", SPECS)
def test_its_specs_are_right(spec, tmp_path):
    (tmp_path / "spec.yaml").write_text(spec)
    assert lnlab.check(tmp_path / "spec.yaml")


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("task", "- `task`:"),
        ("model", "- `model`:"),
        ("norm", "- `norm`:"),
        ("placement", "`placement`:"),
        ("optimizer", "- `optimizer`:"),
        ("schedule", "`schedule`:"),
    ],
)
def test_the_pieces_that_it_lists_are_there(kind, begins):
    listed = re.search(rf"{begins} ([\w, \n]+?)(?:, and others)?[.;]", TEXT)
    assert listed
    assert set(listed[1].split(", ")) <= set(REGISTRIES[kind].entries)


def test_the_probes_claims_and_sections_that_it_names_are_there():
    probes = re.search(r"Often used: (.*?)\. `lnlab", TEXT, flags=re.DOTALL)
    sections = TEXT.partition("## Sections")[2].partition("Without `report`")[0]
    assert set(re.findall(r"`(\w+)`", probes[1])) <= set(REGISTRIES["probe"].entries)
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)) <= set(REGISTRIES["claim"].entries)
    assert set(re.findall(r"`(\w+)`", sections)) - {"rows", "columns"} <= set(REGISTRIES["section"].entries)
