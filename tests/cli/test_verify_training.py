"""``lnlab verify`` at levels 2 and 3 of runs that train, some of them at a rate that tuning runs chose."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.recomputed import recomputation
from lnlab.app.request import Request, compile_request
from lnlab.app.rounds.units import RunOptions
from lnlab.cli import main
from lnlab.compile.decisions import decision_from_json
from lnlab.consoles import stderr_console
from lnlab.record.locks import subset
from lnlab.record.locks.equivalence import compare_results, rows_put_in
from lnlab.record.locks.lock_report import MARGINS
from lnlab.record.registries import load_registries
from lnlab.report.folder import read_folder
from tests.support.toy_specs import SMALLEST, toy_spec

REST = """\
sweep:
  - {placement: [post, pre], optimizer.lr: [0.001, 0.01]}
select: {optimizer.lr: best, seeds: 101-102}
probes: [{kind: gradient_norm, at: {every: 2}, batches: 1}]
report: [{kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}, x: step}]
claims:
  - {id: stays, says: It stays., kind: bound, at_most: 9,
     of: {quantity: gradient_norm, stack: decoder, tensor: w2, step: 8, placement: post}}
"""
SPEC = toy_spec(SMALLEST, REST, question="Do they grow?", train={"steps": 8, "evaluate": "end"}, seeds=2)
REPORT = Path("reports/tuned")
MANNER = RunOptions(2, retry_failed=False, quiet=True, save_every=60.0, console=stderr_console())


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


@pytest.fixture(scope="module")
def plan(locked):
    known, overrides = load_registries(()), ("select=null", "sweep=[{placement: [post, pre]}]")
    return compile_request(Request(locked / "specs/tuned.yaml", None, overrides), known)[0], known


def ends_of(plan):
    """Every run of a plan may be stopped where its gradients are measured."""
    return {run.key: [2, 4, 6, 8] for run in plan.runs}


def steps_of(plan):
    return {run.steps for run in plan.runs}


@pytest.mark.parametrize(("room", "steps"), [(1e30, 8), (0.0, 2)])
def test_a_sample_that_would_take_long_ends_at_a_measured_step(plan, monkeypatch, room, steps):
    monkeypatch.setattr(subset, "LARGEST_SAMPLE", room)
    sample = subset.sample_of_plan(plan[0], "salt", plan[1], ends_of(plan[0]))
    assert steps_of(sample) == {steps}
    assert max(need[1] for need in sample.needs) == steps
    assert {unit.steps for unit in sample.trajectories} == {steps}


def test_it_goes_as_far_as_there_is_room(plan, monkeypatch):
    def flops(most):
        monkeypatch.setattr(subset, "LARGEST_SAMPLE", most)
        sample = subset.sample_of_plan(plan[0], "salt", plan[1], ends_of(plan[0]))
        return steps_of(sample).pop(), subset.flops_of_plan(sample, plan[1])

    (shortest, least), (longest, most) = flops(0.0), flops(1e30)
    assert (shortest, longest) == (2, 8)
    middle, size = flops((least + most) / 2)
    assert middle in (4, 6)
    assert least < size <= (least + most) / 2


def test_a_run_may_be_stopped_once_every_probe_has_a_number(locked, tables, plan):
    facts = read_folder(locked / REPORT)[0]
    chosen = tuple(decision_from_json(entry) for entry in facts.decisions)
    whole = compile_request(Request(locked / "specs/tuned.yaml"), plan[1], chosen)[0]

    def ends(sites):
        found = subset.possible_ends(whole, replace(tables, tables={**tables.tables, "sites": sites}))
        assert {run[:16] for run in found} == set(sites.filter(pl.col("step") > 0)["run"])  # as a report names them
        return {tuple(steps) for steps in found.values()}

    sites = tables.tables["sites"]
    assert ends(sites) == {(2, 4, 6, 8)}
    late = sites.filter(pl.col("step") >= 6).with_columns(measurement=pl.lit("of another probe"))
    assert ends(pl.concat([sites, late])) == {(6, 8)}


def shortened(tables, steps):
    """The rows as if every run had been computed up to an earlier update."""
    runs = tables.runs.with_columns(steps=pl.lit(steps, pl.Int64), done=pl.lit(steps, pl.Int64))
    ahead = pl.when(pl.col("quantity").is_in(["loss", "global_gradient_norm"])).then(1).otherwise(0)
    parts = {
        "curves": tables.tables["curves"].filter(pl.col("step") + ahead <= steps),
        "sites": tables.tables["sites"].filter(pl.col("step") <= steps),
    }
    return replace(tables, runs=runs, tables={**tables.tables, **parts})


def test_a_run_that_was_computed_in_part_is_held_to_what_it_was_then(tables):
    part = shortened(tables, 4)
    compared = compare_results(tables, part, MARGINS)
    assert not any(quantity.unequal for quantity in compared)
    numbers = {quantity.table: quantity.numbers for quantity in compared if quantity.label.endswith("norm, trained")}
    kept = part.tables["sites"].filter(pl.col("step") > 0).height
    assert numbers["sites"] == kept
    assert kept < tables.tables["sites"].filter(pl.col("step") > 0).height
    sites = part.tables["sites"].with_columns(value=pl.when(pl.col("step") == 4).then(0.0).otherwise("value"))
    changed = compare_results(tables, replace(part, tables={**part.tables, "sites": sites}), MARGINS)
    assert sum(quantity.unequal for quantity in changed) == sites.filter(pl.col("step") == 4).height


def test_an_end_after_that_update_is_not_looked_for_and_one_before_it_is(tables):
    def ends(done):
        late = tables.runs.with_columns(status=pl.lit("diverged"), done=pl.lit(done, pl.Int64))
        return compare_results(replace(tables, runs=late), shortened(tables, 4), MARGINS)[0].unequal

    assert (ends(6), ends(4), ends(3)) == (0, 0, 4)


def test_later_rows_of_a_run_that_was_computed_in_part_stay(tables):
    part = shortened(tables, 4)
    doubled = part.tables["sites"].with_columns(pl.col("value") * 2)
    mixed = rows_put_in(tables, replace(part, tables={**part.tables, "sites": doubled}))
    assert mixed.runs.equals(tables.runs)
    keys = [name for name in tables.tables["sites"].columns if name != "value"]
    both = tables.tables["sites"].join(mixed.tables["sites"], on=keys, nulls_equal=True, suffix="_now")
    assert both.height == mixed.tables["sites"].height == tables.tables["sites"].height
    ratios = (
        both.filter(pl.col("value") > 0).group_by("step").agg((pl.col("value_now") / pl.col("value")).mean().round(9))
    )
    assert dict(ratios.iter_rows()) == {0: 2.0, 2: 2.0, 4: 2.0, 6: 1.0, 8: 1.0}


@pytest.mark.nightly
def test_every_run_and_the_choice_of_a_rate_are_computed_again(lnlab, repository, workers):
    verified = lnlab("verify", "specs/tuned.yaml", "--level", "3", "-w", "2", "-q")
    assert verified.code == 0, verified.out
    assert verified.out.endswith("all 4 runs, computed again from nothing, have the same rows to the last bit.\n")


def test_another_choice_of_a_rate_is_reported(lnlab, repository):
    """The committed choice is edited, and the lock made again: as if the rate had been picked by hand."""
    facts = REPORT / "data" / "experiment.json"
    entries = json.loads(facts.read_text())
    decision = entries["decisions"][0]
    chosen = decision["value"]
    decision["value"] = next(rate for rate in (0.001, 0.01) if rate != chosen)
    facts.write_text(json.dumps(entries))
    found = recomputation(Path("specs/tuned.lock"), MANNER, every_run=True)
    assert any(
        f"optimizer.lr: tuning runs choose {chosen} for {decision['value']}" in str(d) for d in found.differences
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("threads", "capability"),
    [pytest.param("1", "default", marks=pytest.mark.torture), ("2", "avx2"), ("4", "default")],
)
def test_neither_threads_nor_instructions_raise_an_alarm(repository, lnlab_process, threads, capability):
    environment = os.environ | {"LNLAB_THREADS": threads, "ATEN_CPU_CAPABILITY": capability}
    words = ["verify", "specs/tuned.yaml", "--level", "2", "-w", "1", "--json"]
    verified = json.loads(lnlab_process(words, repository, environment).stdout)
    assert verified["passed"], verified
    if capability == "default":
        assert not verified["reports"][0]["exact"], "other instructions move the last bits, or nothing is tested here"
