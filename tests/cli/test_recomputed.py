"""``lnlab verify`` at levels 2 and 3: runs are computed again, and rows that are not theirs are reported."""

import random
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.recomputed import recomputation
from lnlab.app.request import Request, compile_request
from lnlab.app.rounds.units import RunOptions
from lnlab.consoles import stderr_console
from lnlab.record.locks.equivalence import compare_results, rows_put_in
from lnlab.record.locks.lock_report import MARGINS
from lnlab.record.locks.subset import MOST_VARIANTS, plan_of_runs, stratified_runs
from lnlab.record.registries import load_registries
from lnlab.report.folder import read_folder

LOCK, ROWS = Path("specs/tiny.lock"), Path("reports/tiny/data/sites.parquet")


@pytest.fixture(scope="module")
def tables(committed):
    """The committed tables, of six runs, with the rows of one weight in both layers."""
    results = read_folder(committed / "reports" / "tiny")[1]
    rows = results.tables["sites"].filter(stack="decoder", tensor="w2")
    return replace(results, tables={**results.tables, "sites": rows})


def again(*, every_run=False):
    manner = RunOptions(1, retry_failed=False, quiet=True, save_every=60.0, console=stderr_console())
    return recomputation(LOCK, manner, every_run=every_run)


def change_rows(change):
    change(pl.read_parquet(ROWS)).write_parquet(ROWS)


def of_post(factor):
    scaled = pl.when(placement_of_first()).then(pl.col("value") * factor).otherwise("value").alias("value")
    return lambda rows: rows.with_columns(scaled)


def placement_of_first():
    runs = pl.read_parquet(ROWS.with_name("axes.parquet")).filter(pl.col("label") == "post")["run"]
    return pl.col("run").is_in(runs.implode())


def test_a_sample_and_all_runs_are_computed_again_to_the_last_bit(lnlab, repository):
    verified = lnlab("verify", "specs/tiny.yaml", "--level", "2", "-w", "1")
    assert verified.code == 0, verified.out
    assert verified.out.endswith(
        "2 of 6 runs, drawn from all variants and computed again from nothing, have the same rows to the last bit.\n"
    )
    assert "2 of 6 runs computed again in" in verified.err
    every = again(every_run=True)
    assert (every.differences, every.runs, every.planned, every.exact) == ((), 6, 6, True)


def test_rows_that_were_not_measured_are_reported_with_their_size_and_the_verdict_that_changes(repository):
    change_rows(of_post(0.5))
    worst = {"seed": 2, "stack": "decoder", "layer": 2, "sublayer": "feed_forward", "tensor": "w2"}
    here = placement_of_first() & pl.all_horizontal(pl.col(name) == value for name, value in worst.items())
    change_rows(lambda rows: rows.with_columns(value=pl.when(here).then(pl.col("value") / 2).otherwise("value")))
    found = again(every_run=True)
    (difference,) = found.differences
    assert difference.where == ROWS.as_posix()
    assert "gradient_norm, initial: 105 of 210 numbers computed again" in difference.what
    most = "by up to 75 % of themselves; most of all placement=post, seed 2, step 0, decoder layer 2 feed_forward w2: "
    assert most in difference.what
    assert not found.exact
    change_rows(of_post(0.5))
    assert any("no verdict changes" in note for note in again(every_run=True).notes)


def test_a_verdict_that_the_new_rows_would_change_is_named(repository):
    verdicts = ROWS.with_name("verdicts.parquet")
    wrong = pl.when(pl.col("claim") == "post_above_pre").then(pl.lit("contradicted")).otherwise("verdict")
    pl.read_parquet(verdicts).with_columns(verdict=wrong).write_parquet(verdicts)
    change_rows(of_post(0.5))
    assert any(
        note.startswith("post_above_pre would be supported for contradicted: estimate 1.4")
        for note in again(every_run=True).notes
    )


def test_runs_that_the_report_does_not_hold_are_reported(repository):
    spec = Path("specs/tiny.yaml")
    spec.write_text(spec.read_text().replace("d_ff: 32", "d_ff: 48"))
    (difference,) = again().differences
    assert str(difference) == (
        "specs/tiny.yaml: asks for 2 runs that its report does not hold: a version or a corpus changed"
    )


def test_a_corpus_that_is_not_at_hand_is_reported_and_does_not_pass(repository):
    spec = Path("specs/tiny.yaml")
    spec.write_text(re.sub(r"\{kind: toy_german_english[^}]*\}", "multi30k", spec.read_text()))
    (difference,) = again().differences
    assert "cannot be computed again: " in difference.what


def sampled(tables, runs):
    """The rows of some of these runs, as if they had been computed again."""
    parts = {name: rows.filter(pl.col("run").is_in(runs)) for name, rows in tables.tables.items() if rows.height}
    return replace(tables, runs=tables.runs.filter(pl.col("run").is_in(runs)), tables={**tables.tables, **parts})


def with_values(results, value):
    rows = results.tables["sites"].with_columns(value=value)
    return replace(results, tables={**results.tables, "sites": rows})


def beyond(committed, computed):
    return sum(quantity.beyond for quantity in compare_results(committed, computed, MARGINS))


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
    same = compare_results(tables, sampled(tables, runs), MARGINS)
    assert [(q.label, q.numbers, q.unequal) for q in same] == [("how it ended", 2, 0), ("gradient_norm, initial", 4, 0)]
    rounded = with_values(sampled(tables, runs), pl.col("value") * (1 + 2e-6))
    (_, moved) = compare_results(tables, rounded, MARGINS)
    assert (moved.unequal, moved.beyond) == (4, 0)
    assert moved.margins == pytest.approx(0.02, rel=0.05)


def test_a_number_that_is_rounding_noise_may_be_any_other(tables):
    def noisy(noise):
        return with_values(tables, pl.when(pl.col("layer") == 1).then(noise).otherwise("value"))

    assert beyond(noisy(1e-9), noisy(-3e-8)) == 0
    assert beyond(noisy(1e-4), noisy(2e-4)) == 6


def test_a_trained_number_is_held_to_the_spread_over_seeds(tables):
    committed = trained(tables)
    spread = pl.col("value").std().over("variant", "layer")
    assert beyond(committed, with_values(committed, pl.col("value") + 2 * spread)) == 0
    assert beyond(committed, with_values(committed, pl.col("value") + 5 * spread)) == 12
    assert beyond(tables, with_values(tables, pl.col("value") + 0.1 * spread)) == 12, "an untrained one is not"


def test_a_row_that_is_missing_and_a_number_that_is_none_are_beyond_any_margin(tables):
    fewer = replace(tables, tables={**tables.tables, "sites": tables.tables["sites"].slice(1)})
    assert beyond(tables, fewer) == 1
    assert beyond(tables, with_values(tables, pl.when(pl.col("layer") == 1).then(float("nan")).otherwise("value"))) == 6


def test_a_run_may_diverge_only_where_seeds_of_its_variant_differ_in_that(tables):
    def ending(results, *diverged):
        status = pl.when(pl.col("seed").is_in(diverged)).then(pl.lit("diverged")).otherwise(pl.lit("finished"))
        return replace(results, runs=results.runs.with_columns(status=status))

    committed = trained(tables)
    assert beyond(committed, ending(committed, 1)) == 2
    assert beyond(ending(committed, 2), ending(committed, 1)) == 0
    larger = replace(committed, runs=committed.runs.with_columns(parameters=pl.col("parameters") + 1))
    assert beyond(committed, larger) == 6


def test_rows_computed_again_take_the_place_of_the_old_ones(tables):
    runs = tables.runs["run"].to_list()[1:3]
    changed = with_values(sampled(tables, runs), pl.col("value") * 2)
    mixed = rows_put_in(tables, changed)
    assert mixed.runs.equals(tables.runs)
    ratios = mixed.tables["sites"]["value"] / tables.tables["sites"]["value"]
    assert ratios.to_list() == [2.0 if run in runs else 1.0 for run in tables.tables["sites"]["run"]]


def test_runs_keep_the_variant_and_the_keys_that_the_report_has_of_them(tables):
    """As where a piece got a parameter since: today's plan has other keys of variants and measurements."""
    renamed = {name: rows.with_columns(variant=pl.lit("new")) for name, rows in tables.tables.items() if rows.height}
    renamed["sites"] = renamed["sites"].with_columns(pl.col("value") * 2, measurement=pl.lit("new"))
    today = replace(tables, runs=tables.runs.with_columns(variant=pl.lit("new"), setting=pl.lit("{}")), tables=renamed)
    mixed = rows_put_in(tables, replace(today, tables={**tables.tables, **renamed}))
    assert mixed.runs.equals(tables.runs)
    assert mixed.tables["sites"]["variant"].equals(tables.tables["sites"]["variant"])
    assert (mixed.tables["sites"]["value"] / tables.tables["sites"]["value"]).unique().to_list() == [2.0]


@pytest.mark.parametrize("fault", ["ten percent", "swapped labels", "other seeds", "other formula"])
def test_faults_at_initialization_are_caught_and_rounding_is_not_one(tables, fault):
    """The small version of benchmarks/verification_power.py."""
    rows, caught, alarms = tables.tables["sites"], 0, 0
    first, second = rows["variant"].unique(maintain_order=True)
    for repeat in range(20):
        dice = random.Random(repeat)
        by_variant = tables.runs.group_by("variant", maintain_order=True).agg("run")["run"].to_list()
        runs = [dice.choice(list(of_variant)) for of_variant in by_variant]
        noise = pl.Series([1 + dice.uniform(-2e-6, 2e-6) for _ in range(rows.height)])
        value = pl.col("value") * noise
        alarms += bool(beyond(tables, sampled(with_values(tables, value), runs)))
        if fault == "ten percent":
            faulty = pl.when(variant=dice.choice([first, second])).then(value * 1.1).otherwise(value)
        elif fault == "swapped labels":
            other = rows.with_columns(variant=pl.col("variant").replace({first: second, second: first}))
            faulty = rows.join(other, on=["variant", "seed", "layer"], maintain_order="left")["value_right"] * noise
        elif fault == "other seeds":
            faulty = pl.col("value").shift(1).over("variant", "layer").fill_null(pl.col("value").mean()) * noise
        else:
            faulty = value * (16 / 15) ** 0.5
        caught += bool(beyond(tables, sampled(with_values(tables, faulty), runs)))
    assert alarms == 0
    assert caught >= 19


@pytest.fixture(scope="module")
def plan(committed):
    return compile_request(Request(committed / "specs" / "tiny.yaml"), load_registries(()))[0]


def test_a_run_of_every_variant_is_drawn_and_which_one_nobody_knows_before(plan):
    drawn = stratified_runs(plan, "a")
    assert [run.variant for run in drawn] == list(dict.fromkeys(run.variant for run in plan.runs))
    assert drawn == stratified_runs(plan, "a")
    seeds = {tuple(run.seed for run in stratified_runs(plan, str(salt))) for salt in range(20)}
    assert len(seeds) > 5


def test_of_many_variants_trained_and_untrained_ones_are_drawn_in_their_proportion(plan):
    runs = [
        replace(plan.runs[0], variant=str(n), steps=100 * (n % 4 == 0), key=str(n)) for n in range(5 * MOST_VARIANTS)
    ]
    drawn = stratified_runs(replace(plan, runs=tuple(runs)), "a")
    assert len(drawn) == MOST_VARIANTS
    assert sum(run.steps > 0 for run in drawn) == MOST_VARIANTS // 4


def test_the_plan_of_some_runs_measures_all_that_they_need_once(plan):
    runs = stratified_runs(plan, "a")
    chosen = plan_of_runs(plan, runs)
    assert {need[0] for need in chosen.needs} == {run.key for run in runs}
    measured = [measurement.key for unit in chosen.trajectories for measurement in unit.measurements]
    assert sorted(measured) == sorted({need[3] for need in chosen.needs})
