"""``lnlab verify`` at levels 2 and 3: runs are computed again, and rows that are not theirs are reported."""

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.recomputed import flops_of_plan, plan_of_runs, recomputation, sample_of_plan
from lnlab.app.request import Request, compile_request
from lnlab.app.run_options import RunOptions
from lnlab.committed.comparison.numbers import compare_numbers
from lnlab.committed.registries import load_registries
from lnlab.consoles import stderr_console
from lnlab.report.folder import read_folder
from tests.report_rows import change_results, change_rows

LOCK, REPORT = Path("specs/tiny.lock"), Path("reports/tiny")


@pytest.fixture(scope="module")
def tables(committed):
    """The committed tables, of six runs, with the rows of one weight in both layers."""
    results = read_folder(committed / "reports" / "tiny")[1]
    rows = results.tables["sites"].filter(stack="decoder", tensor="w2", quantity="gradient_norm")
    return replace(results, tables={**results.tables, "sites": rows})


def elsewhere(results):
    """The same results, of a processor that the others do not name."""
    return replace(results, runs=results.runs.with_columns(device=pl.lit("cpu (another)")))


def again(*, every_run=False):
    options = RunOptions(console=stderr_console(), quiet=True, workers=1)
    return recomputation(LOCK, options, every_run=every_run)


def change_spec(change):
    """Change the text of the spec in the report."""
    facts = REPORT / "data/experiment.json"
    entries = json.loads(facts.read_text())
    facts.write_text(json.dumps(entries | {"spec": change(entries["spec"])}))


def of_post(factor):
    scaled = pl.when(placement_of_first()).then(pl.col("value") * factor).otherwise("value").alias("value")
    return lambda rows: rows.with_columns(scaled)


def placement_of_first():
    runs = read_folder(REPORT)[1].axes.filter(pl.col("label") == "post")["run"]
    return pl.col("run").is_in(runs.implode()) & (pl.col("quantity") == "gradient_norm")


def test_a_sample_and_all_runs_are_computed_again_to_the_last_bit(console, repository):
    verified = console("verify", "specs/tiny.yaml", "--level", "2", "-w", "1")
    assert verified.code == 0, verified.out
    every = again(every_run=True)
    assert (every.differences, every.runs, every.planned, every.exact) == ((), 6, 6, True)


def test_runs_that_the_report_does_not_hold_or_whose_corpus_is_not_at_hand_are_reported(
    repository, golden, monkeypatch
):
    change_spec(lambda text: text.replace("d_ff: 32", "d_ff: 48"))
    golden(list(map(str, again().differences)))
    monkeypatch.setattr("lnlab.app.recomputed._require_held", lambda *_: None)  # as if it held those runs
    change_spec(lambda text: re.sub(r"\{kind: toy_german_english[^}]*\}", "multi30k", text))
    (difference,) = again().differences
    golden(str(difference).partition(": in ")[0])


def test_rows_that_were_not_measured_are_reported_with_their_size_and_the_verdict_that_changes(repository, golden):
    change_rows(REPORT, of_post(0.5))
    worst = {"seed": 2, "stack": "decoder", "layer": 2, "sublayer": "feed_forward", "tensor": "w2"}
    here = placement_of_first() & pl.all_horizontal(pl.col(name) == value for name, value in worst.items())
    change_rows(
        REPORT, lambda rows: rows.with_columns(value=pl.when(here).then(pl.col("value") / 2).otherwise("value"))
    )
    found = again(every_run=True)
    (difference,) = found.differences
    assert difference.where == "reports/tiny"
    assert "105 of 210" in difference.what
    golden(re.sub(r"(w2: ).*", r"\1...", difference.what))
    assert not found.exact


def test_a_verdict_that_the_new_rows_would_change_is_named(repository):
    verdicts = REPORT / "data/verdicts.parquet"
    wrong = pl.when(pl.col("claim") == "post_above_pre").then(pl.lit("contradicted")).otherwise("verdict")
    pl.read_parquet(verdicts).with_columns(verdict=wrong).write_parquet(verdicts)
    change_rows(REPORT, of_post(0.5))
    assert any(
        note.startswith("post_above_pre would be supported") and " for contradicted " in note
        for note in again(every_run=True).notes
    )


def sampled(tables, runs):
    """The rows of some of these runs, as if they had been computed again."""
    parts = {name: rows.filter(pl.col("run").is_in(runs)) for name, rows in tables.tables.items() if rows.height}
    return replace(tables, runs=tables.runs.filter(pl.col("run").is_in(runs)), tables={**tables.tables, **parts})


def with_values(results, value):
    rows = results.tables["sites"].with_columns(value=value)
    return replace(results, tables={**results.tables, "sites": rows})


def beyond(committed, computed):
    return sum(quantity.beyond for quantity in compare_numbers(committed, computed))


def trained(results, at=20):
    """The same rows, as those of models after updates."""
    runs = results.runs.with_columns(steps=pl.lit(at, pl.Int64), done=pl.lit(at, pl.Int64))
    tables = {
        name: rows.with_columns(step=pl.lit(at, pl.Int64)) if "step" in rows.columns else rows
        for name, rows in results.tables.items()
    }
    return replace(results, runs=runs, tables=tables)


def test_equal_rows_are_equal_and_rounding_is_within_the_margin(tables):
    runs = tables.runs["run"].to_list()[:2]
    same = [*compare_numbers(tables, elsewhere(sampled(tables, runs)))]
    assert [(q.label, q.numbers, q.unequal) for q in same] == [("how it ended", 2, 0), ("gradient_norm, initial", 4, 0)]
    rounded = with_values(sampled(tables, runs), pl.col("value") * (1 + 2e-6))
    assert beyond(tables, rounded) == 4, "on one class of machine all bits are the same"
    (_, moved) = compare_numbers(tables, elsewhere(rounded))
    assert (moved.unequal, moved.beyond) == (4, 0)
    assert moved.margins == pytest.approx(0.02, rel=0.05)


def test_a_number_that_is_rounding_noise_may_be_any_other(tables):
    def noisy(noise):
        return with_values(tables, pl.when(pl.col("layer") == 1).then(noise).otherwise("value"))

    assert beyond(noisy(1e-9), elsewhere(noisy(-3e-8))) == 0
    assert beyond(noisy(1e-4), elsewhere(noisy(2e-4))) == 6


def test_a_trained_number_is_held_to_the_spread_over_seeds(tables):
    committed, there = trained(tables), elsewhere(trained(tables))
    spread = pl.col("value").std().over("variant", "layer")
    assert beyond(committed, with_values(there, pl.col("value") + 2 * spread)) == 0
    assert beyond(committed, with_values(there, pl.col("value") + 5 * spread)) == 12
    untrained = with_values(elsewhere(tables), pl.col("value") + 0.1 * spread)
    assert beyond(tables, untrained) == 12, "an untrained one is not"


def test_a_row_that_is_missing_and_a_number_that_is_none_are_beyond_any_margin(tables):
    fewer = replace(tables, tables={**tables.tables, "sites": tables.tables["sites"].slice(1)})
    assert beyond(tables, fewer) == 1
    assert beyond(tables, with_values(tables, pl.when(pl.col("layer") == 1).then(float("nan")).otherwise("value"))) == 6


def test_a_run_may_diverge_only_where_seeds_of_its_variant_differ_in_that(tables):
    def ending(results, *diverged):
        status = pl.when(pl.col("seed").is_in(diverged)).then(pl.lit("diverged")).otherwise(pl.lit("finished"))
        return replace(results, runs=results.runs.with_columns(status=status))

    committed, there = trained(tables), elsewhere(trained(tables))
    assert beyond(committed, ending(there, 1)) == 2
    assert beyond(ending(committed, 2), ending(there, 1)) == 0
    assert beyond(ending(committed, 2), ending(committed, 1)) == 4, "on one class of machine it ends alike"
    failed = replace(there, runs=there.runs.with_columns(status=pl.lit("failed")))
    assert beyond(ending(committed, 2), failed) == 6, "a failure is no end of its own"
    larger = replace(committed, runs=committed.runs.with_columns(parameters=pl.col("parameters") + 1))
    assert beyond(committed, larger) == 6


def test_a_run_that_has_another_variant_and_other_measurements_today_is_the_same_run(repository, monkeypatch):
    """As where a piece got a parameter since: today's plan has other keys of variants and measurements."""
    renamed = pl.format("{}{}", pl.lit("f"), pl.col("variant").str.slice(1)).alias("variant")
    change_results(REPORT, lambda results: replace(results, runs=results.runs.with_columns(renamed)))
    found = again(every_run=True)
    assert (found.differences, found.exact) == ((), True)


@pytest.fixture(scope="module")
def plan(committed):
    return compile_request(Request(committed / "specs" / "tiny.yaml"), load_registries(()))[0]


@pytest.mark.parametrize(("room", "runs"), [(1e30, 2), (0.0, 1)])
def test_runs_of_other_variants_are_drawn_while_there_is_room_and_which_nobody_knows_before(
    plan, monkeypatch, room, runs
):
    known = load_registries(())
    monkeypatch.setattr("lnlab.app.recomputed.LARGEST_SAMPLE", room)
    drawn = [sample_of_plan(plan, str(salt), known) for salt in range(20)]
    assert (
        {len({run.variant for run in sample.runs}) for sample in drawn}
        == {len(sample.runs) for sample in drawn}
        == {runs}
    )
    assert [run.key for run in sample_of_plan(plan, "0", known).runs] == [run.key for run in drawn[0].runs]
    assert len({tuple(run.key for run in sample.runs) for sample in drawn}) > 3
    assert flops_of_plan(drawn[0], known) <= flops_of_plan(plan, known)


def test_the_plan_of_some_runs_measures_all_that_they_need_once(plan):
    runs = plan.runs[:1] + plan.runs[-1:]
    chosen = plan_of_runs(plan, runs)
    assert {need[0] for need in chosen.needs} == {run.key for run in runs}
    measured = [measurement.key for unit in chosen.trajectories for measurement in unit.measurements]
    assert sorted(measured) == sorted({need[3] for need in chosen.needs})
