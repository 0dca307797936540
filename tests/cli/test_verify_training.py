"""``lnlab verify`` at levels 2 and 3 of runs that train, some of them at a rate that tuning runs chose."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.recomputed import recomputation
from lnlab.app.run_options import RunOptions
from lnlab.cli import main
from lnlab.committed.comparison.numbers import compare_numbers
from lnlab.consoles import stderr_console
from lnlab.report.folder import read_folder
from tests.support.toy_specs import SMALLEST, toy_spec

REST = """\
sweep:
  - {optimizer.lr: [0.001, 0.01]}
choose: {optimizer.lr: best, seeds: 101-102}
probes: [{kind: gradient_norm, at: {every: 2}, batches: 1}]
report: [{kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}, x: step}]
claims:
  - {id: stays, says: It stays., kind: bound, at_most: 9,
     of: {quantity: gradient_norm, stack: decoder, tensor: w2, step: 8}}
"""
SPEC = toy_spec(SMALLEST, REST, question="Do they grow?", train={"steps": 8, "evaluate": "end"}, seeds=2)
REPORT = Path("reports/tuned")
MANNER = RunOptions(console=stderr_console(), quiet=True, workers=2)


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A repository with a tuned spec, its report and its lock."""
    root = tmp_path_factory.mktemp("tuned")
    (root / "specs").mkdir()
    (root / "specs" / "tuned.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["run", "specs/tuned.yaml", "-q", "-w", "2"]) == 0
        assert main(["report", "specs/tuned.yaml", "-q"]) == 0
        assert main(["lock", "specs/tuned.yaml", "-q"]) == 0
    return root


@pytest.fixture
def repository(locked, tmp_path, monkeypatch):
    """A copy of it as the working folder."""
    root = tmp_path / "copy"
    shutil.copytree(locked, root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture(scope="module")
def tables(locked):
    return read_folder(locked / REPORT)[1]


def test_a_trained_run_that_diverged_before_is_not_one_that_finished(tables):
    late = tables.runs.with_columns(status=pl.lit("diverged"), done=pl.lit(6, pl.Int64))
    ends, *_ = compare_numbers(replace(tables, runs=late), tables)
    assert (ends.numbers, ends.unequal, ends.beyond) == (2, 2, 2)
    assert not any(one.unequal for one in compare_numbers(tables, tables))


@pytest.mark.nightly
def test_every_run_and_the_choice_of_a_rate_are_computed_again(console, repository, workers):
    verified = console("verify", "specs/tuned.yaml", "--level", "3", "-w", "2", "-q")
    assert verified.code == 0, verified.out


def test_another_choice_of_a_rate_is_reported(lnlab, repository):
    """The committed choice is edited, and the lock made again: as if the rate had been picked by hand."""
    facts = REPORT / "data" / "experiment.json"
    entries = json.loads(facts.read_text())
    decision = entries["decisions"][0]
    chosen = decision["value"]
    decision["value"] = next(rate for rate in (0.001, 0.01) if rate != chosen)
    facts.write_text(json.dumps(entries))
    found = recomputation(Path("specs/tuned.lock"), MANNER, every_run=True)
    told = [str(d) for d in found.differences if "optimizer.lr: " in str(d)]
    assert len(told) == 1
    assert f" {chosen} for {decision['value']}" in told[0]
