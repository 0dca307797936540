"""Grids with seeds of their own, from the run to the page, and the page of one spec from the reports of two."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

import lnlab
from lnlab.cli import main
from lnlab.report.folder import read_folder
from tests.support.golden import holding
from tests.support.toy_specs import UNTRAINED, toy_spec

SPEC = partial(toy_spec, UNTRAINED, question="Does the gradient grow?")
PROFILE = "  - {kind: depth_profile, title: T, quantity: gradient_norm, where: {stack: decoder, tensor: w2, OF}}\n"
CLAIM = "  - {id: ID, says: It grows., kind: bound, reduce: last/first, at_least: 1, over: layer,\n"
CLAIM += "     of: {quantity: gradient_norm, stack: decoder, tensor: w2, placement: post, OF}}\n"
ONE = (
    """\
sweep: [{placement: [post, pre], model.layers: [LAYERS]}]
probes: [{kind: PROBE, at: init, batches: 1}GRADIENT]
report:
"""
    + PROFILE
    + "claims:\n"
    + CLAIM
)
GRIDS = (
    """\
grid_seeds: {deep: 11-13}
sweep:
  shallow: {placement: [post, pre], model.layers: [2]}
  deep: {placement: [post, pre], model.layers: [3]}
probes:
  - {kind: gradient_norm, at: init, batches: 1}
  - {kind: hidden_norm, at: init, batches: 1, grid: deep}
report:
"""
    + "".join(PROFILE.replace("OF", f"grid: {grid}") for grid in ("shallow", "deep"))
    + "claims:\n"
)
GRIDS += "".join(CLAIM.replace("ID", grid).replace("OF", f"grid: {grid}") for grid in ("shallow", "deep"))


def one(grid: str, layers: int, seeds: str, probes: str) -> str:
    text = ONE.replace("LAYERS", str(layers)).replace("OF", f"model.layers: {layers}").replace("ID", grid)
    return SPEC(text.replace("PROBE", "gradient_norm").replace("GRADIENT", probes), seeds=seeds)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """The reports of both grids alone, from another store than that of the spec with both."""
    root = tmp_path_factory.mktemp("measured")
    hidden = ", {kind: hidden_norm, at: init, batches: 1}"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        Path("shallow.yaml").write_text(one("shallow", 2, "1-5", ""))
        Path("deep.yaml").write_text(one("deep", 3, "11-13", hidden))
        Path("both.yaml").write_text(SPEC(GRIDS, seeds=5))
        for name in ("shallow", "deep", "both"):
            assert main(["run", f"{name}.yaml", "-w", "1", "-q"]) == 0
            assert main(["report", f"{name}.yaml", "-q"]) == 0
    return root


def numbers(verdict):
    return verdict.n, verdict.estimate, verdict.low, verdict.high, dict(verdict.seeds), verdict.verdict


def test_verdicts_and_figures_are_those_of_two_specs(measured, monkeypatch, golden):
    monkeypatch.chdir(measured)
    both = {verdict.claim: verdict for verdict in read_folder(measured / "reports/both")[2]}
    for place, grid in enumerate(("shallow", "deep"), 1):
        (alone,) = read_folder(measured / f"reports/{grid}")[2]
        assert numbers(both[grid]) == numbers(alone)
        figures = [measured / f"reports/{name}/figures/figure-{n}.parquet" for name, n in (("both", place), (grid, 1))]
        assert figures[0].read_bytes() == figures[1].read_bytes()
    assert set(both["deep"].seeds) == {11, 12, 13}
    page = (measured / "reports/both/index.html").read_text()
    golden([*holding(page, "runs in all"), *holding(page, "hidden_norm at init")])


def test_the_packs_of_two_reports_are_the_store_of_a_page_of_both(measured, monkeypatch):
    monkeypatch.chdir(measured)
    for name in ("shallow", "deep"):
        shutil.copytree(f"reports/{name}/data/packs", "joint/packs", dirs_exist_ok=True)
    assert main(["report", "both.yaml", "--store", "joint", "--out", "joined", "-q"]) == 0
    joined, stored = (read_folder(measured / name) for name in ("joined", "reports/both"))
    assert [numbers(verdict) for verdict in joined[2]] == [numbers(verdict) for verdict in stored[2]]
    assert joined[0].grid_seeds == stored[0].grid_seeds


def test_the_plan_counts_each_list_of_seeds(measured, monkeypatch, capsys):
    monkeypatch.chdir(measured)
    assert main(["plan", "both.yaml", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["runs"], facts["seeds"]) == (16, [1, 2, 3, 4, 5, 11, 12, 13])
    assert [claim["n"] for claim in facts["claims"]] == [5, 3]
    assert len(lnlab.plan("both.yaml").seeds) == 8
