"""``grid: name`` from a spec to verdicts: in a section, in its claims, and in what they require."""

import shutil

import polars as pl

from tests.support.toy_specs import UNTRAINED, toy_spec

REST = """\
sweep:
  tied: {placement: [post, pre]}
  untied: {placement: [post, pre], model.tied: none}
probes:
  - {kind: gradient_norm, at: init, batches: 1}
report:
  - kind: depth_profile
    quantity: gradient_norm
    where: {grid: tied, stack: decoder, tensor: w2}
    claims:
"""
CLAIM = """\
      - id: ID
        says: The gradient of the last layer is larger in Post-LN, if it is at all one.
        kind: ratio
        of: {layer: last, placement: post}
        to: {placement: pre}
        at_least: 1.1
        requires: {kind: bound, of: {grid: untied, quantity: gradient_norm, stack: decoder, tensor: w2, layer: last,
                   placement: post}, LIMIT}
"""
for name, limit in (("above", "at_least: 1.0e-6"), ("below", "at_most: 1.0e-6")):
    REST += CLAIM.replace("ID", name).replace("LIMIT", limit)
SPEC = toy_spec(UNTRAINED, REST, question="Do names of grids reach the verdicts?", placement=None, seeds=3)


def test_a_grid_in_a_requirement_is_judged_on_the_runs_of_that_grid(lnlab, workdir):
    """Of two claims that differ in what they require, one requirement holds."""
    (workdir / "grids.yaml").write_text(SPEC)
    assert lnlab("run", "grids.yaml", "-w", 1).code == 0
    assert lnlab("report", "grids.yaml", "--out", "page").code == 0
    judged = verdicts(workdir / "page")
    assert [word for word, _ in judged] == ["supported", "not testable here"], judged
    shutil.rmtree(workdir / ".lnlab")
    said = lnlab("report", "--from", "page")
    assert said.code == 0, said.err
    assert verdicts(workdir / "page") == judged, "the tables alone say the same"


def verdicts(folder):
    rows = pl.read_parquet(folder / "data" / "verdicts.parquet").iter_rows(named=True)
    return [(row["verdict"], row["reason"]) for row in rows]
