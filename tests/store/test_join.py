"""Results are the plan's own rows, each verified, joined with run, variant, seed and step."""

import json
import math
from unittest.mock import patch

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lnlab.errors import StoreError
from lnlab.store import join
from lnlab.store.join import trajectory_requests
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.tables import WRITTEN_BY_WORKERS, frame, table_schema
from tests.support.store_toys import PROBES, outcome_of, plan_of, record, record_all, rows_of


def join_results(root, plan):
    """The results at once; those of tables that are scanned for each question are the same."""
    whole = join.join_results(root, plan)
    with patch.object(join, "LARGEST_TABLE_IN_MEMORY", -1):
        scanned = join.join_results(root, plan)
    assert set(scanned.scans) == set(whole.tables) - {"needs"}
    assert_frame_equal(scanned.runs, whole.runs)
    for table, rows in whole.tables.items():
        assert_frame_equal(scanned.tables[table], rows)
    return whole


def joined(store, unit, steps, needs=()):
    """The results of runs of one trajectory that end after so many updates; needs: (run, step, key, probe)."""
    told = [{"run": f"r{n}", "steps": n, "trajectory": unit.key, "variant": "v", "seed": 1} for n in steps]
    asked = [dict(zip(("run", "step", "measurement", "probe"), need, strict=True)) for need in needs]
    tables = {"runs": frame("runs", told), "axes": frame("axes", []), "needs": frame("needs", asked)}
    return join_results(store.root, tables)


def alone():
    """A trajectory that measures nothing."""
    return plan_of(variants=1, seeds=1, probes=()).trajectories[0]


def expected_rows(plan):
    """By brute force: for each need in order, what the toy measured."""
    runs = {run.key: run for run in plan.runs}
    units = {each.key: each for unit in plan.trajectories for each in unit.measurements}
    return [
        (key, runs[key].variant, runs[key].seed, step, measurement, row["quantity"], row["layer"], row["value"])
        for key, step, _, measurement in plan.needs
        for row in rows_of(units[measurement])
    ]


def same(one, two):
    return one == two or (isinstance(one, float) and math.isnan(one) and math.isnan(two))


def test_every_need_gets_its_rows_in_the_order_of_the_plan(full, plan):
    sites = full.results(plan.digest).tables["sites"]
    assert sites.columns[:5] == ["run", "variant", "seed", "step", "measurement"]
    found = sites.select("run", "variant", "seed", "step", "measurement", "quantity", "layer", "value").rows()
    assert len(found) == 24
    for one, two in zip(found, expected_rows(plan), strict=True):
        assert all(map(same, one, two))


def test_every_table_is_there_with_its_types_though_nobody_wrote_it(full, plan):
    results = full.results(plan.digest)
    assert set(results.tables) == set(WRITTEN_BY_WORKERS) - {"outcomes"} | {"needs"}
    for table in ("lines", "histograms", "spectra", "texts"):
        rows = results.tables[table]
        assert rows.height == 0
        assert {name: rows.schema[name] for name in table_schema(table)} == dict(table_schema(table))
    assert results.runs.schema["status"] == pl.String
    assert results.axes.height == 12


def test_runs_carry_their_outcome_and_missing_ones_null(store, plan, tmp_path):
    spec = tmp_path / "toy.yaml"
    spec.write_text("")
    store.save_plan(plan, spec)
    record(store, plan.trajectories[0])
    record(store, plan.trajectories[1], "failed", "no luck")
    record(store, plan.trajectories[2], only=plan.trajectories[2].measurements[:1])
    runs = store.results(plan.digest).runs
    assert runs["status"].to_list() == ["finished", "failed", None, None]
    assert runs["reason"].to_list() == [None, "no luck", None, None]
    assert runs["parameters"].to_list() == [12, 12, None, None]
    assert runs["run"].to_list() == [run.key for run in plan.runs]
    assert runs["done"].to_list() == [0, 0, None, None]
    assert runs.schema["done"] == pl.Int64


def test_damage_makes_a_run_missing_and_says_why_while_the_others_are_served(full, root, plan):
    (path,) = trajectory_folder(root, plan.trajectories[1].key).rglob("sites.parquet")
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(content)
    results = full.results(plan.digest)
    assert results.runs["status"].to_list() == ["finished", None, "finished", "finished"]
    assert str(path) in results.runs["reason"].to_list()[1]
    assert plan.runs[1].key not in results.tables["sites"]["run"]


def test_rows_that_this_plan_does_not_ask_for_are_left_out(full, tmp_path):
    only = plan_of(variants=1, seeds=1, probes=({"kind": "norm", "batches": 2},))
    full.save_plan(only, tmp_path / "toy.yaml")
    assert full.results(only.digest).tables["sites"]["quantity"].unique().to_list() == ["norm"]


def test_two_runs_of_one_trajectory_share_its_rows_and_see_its_curve_up_to_their_own_end(store):
    unit = plan_of(variants=1, seeds=1, probes=PROBES[:1]).trajectories[0]
    (measured,) = unit.measurements
    opened = store.open_unit(unit.key)
    opened.write("sites", rows_of(measured))
    rate = {"trajectory": unit.key, "split": "train", "quantity": "learning_rate"}
    rows = [rate | {"step": s, "value": s / 2} for s in range(5)]
    opened.write("curves", rows)
    opened.commit([measured.key], outcome_of(unit))
    again = store.open_unit(unit.key)
    again.write("curves", [rows[3] | {"value": 99.0}])
    again.commit([], outcome_of(unit))
    probe = '{"kind":"gradient_norm"}'
    results = joined(store, unit, (0, 3), [(run, 0, measured.key, probe) for run in ("r0", "r3")])
    assert results.tables["sites"]["run"].to_list() == ["r0"] * 3 + ["r3"] * 3
    assert results.tables["curves"].filter(run="r3")["value"].to_list() == [0.0, 0.5, 1.0, 1.5]
    assert results.tables["curves"].filter(run="r0")["step"].to_list() == [0]


def test_an_initial_state_that_was_evaluated_once_stands_in_the_curves_of_every_trajectory_that_begins_there(store):
    plan = plan_of(variants=2, seeds=1, probes=PROBES[:1])
    one, other = plan.trajectories
    shared = one.measurements[0].key
    for unit, values in ((one, {0: 9.0, 5: 3.0}), (other, {5: 4.0})):
        opened = store.open_unit(unit.key)
        of = {"trajectory": unit.key, "split": "validation", "quantity": "nll"}
        opened.write("curves", [of | {"step": step, "value": value} for step, value in values.items()])
        opened.write("curves", [of | {"split": "train", "quantity": "learning_rate", "step": 1, "value": 0.5}])
        due = {shared: 0} if unit is one else {}
        opened.commit([*due, f"{unit.key}-end"], outcome_of(unit) | {"steps": 5})
    runs = [
        {"run": f"r{n}", "trajectory": t.key, "variant": f"v{n}", "seed": 1, "steps": 5}
        for n, t in enumerate((one, other))
    ]
    probe = {"probe": '{"kind":"evaluation","split":"validation"}'}
    needs = [
        {"run": f"r{n}", "step": step, "measurement": key, **probe}
        for n, t in enumerate((one, other))
        for step, key in ((0, shared), (5, f"{t.key}-end"))
    ]
    tables = {"runs": frame("runs", runs), "axes": frame("axes", []), "needs": frame("needs", needs)}
    curves = join_results(store.root, tables).tables["curves"]
    nll = curves.filter(quantity="nll").sort("run", "step")
    assert nll.select("run", "step", "value").rows() == [("r0", 0, 9.0), ("r0", 5, 3.0), ("r1", 0, 9.0), ("r1", 5, 4.0)]
    assert nll["trajectory"].to_list() == [one.key, one.key, other.key, other.key]
    assert curves.filter(quantity="learning_rate")["run"].sort().to_list() == ["r0", "r1"]


@pytest.mark.parametrize(
    ("made", "done", "statuses"),
    [
        ([("finished", 7, "its rule")], [3, 7, 7], ["finished", "finished", "finished"]),
        ([("diverged", 5, "it broke")], [3, 5, 5], ["finished", "diverged", "diverged"]),
        ([("diverged", 7, "it broke")], [3, 7, 7], ["finished", "finished", "diverged"]),
        ([("interrupted", 2, "kept"), ("finished", 7, "its rule")], [3, 7, 7], ["finished"] * 3),
        ([("interrupted", 5, "kept")], [3, 5, 5], ["finished", "interrupted", "interrupted"]),
        ([("interrupted", 4, "kept"), ("failed", 5, "no")], [3, 5, 5], ["finished", "failed", "failed"]),
    ],
)
def test_updates_that_were_made_are_told_up_to_the_end_of_each_run(store, made, done, statuses):
    """Runs of 3, 7 and 10 updates of one trajectory; to have made all of them is to have finished."""
    unit = alone()
    for status, steps, reason in made:
        store.open_unit(unit.key).commit([], outcome_of(unit, status, reason) | {"steps": steps})
    runs = joined(store, unit, (3, 7, 10)).runs
    assert (runs["done"].to_list(), runs["status"].to_list()) == (done, statuses)
    cut = [status != "finished" or told < steps for told, status, steps in runs["done", "status", "steps"].iter_rows()]
    assert runs["reason"].to_list() == [made[-1][2] if each else None for each in cut]


def test_a_plan_that_is_not_there_or_damaged_says_what_to_do(store, plan, tmp_path, golden):
    with golden.raises(StoreError):
        store.results(plan.digest)
    spec = tmp_path / "toy.yaml"
    spec.write_text("")
    stored = store.save_plan(plan, spec)
    path = store.root / "plans" / plan.digest / "needs.parquet"
    path.write_bytes(path.read_bytes()[:50])
    with golden.raises(StoreError):
        store.lacks(stored)


def test_a_run_that_needs_nothing_is_finished_when_its_trajectory_is(store, tmp_path):
    plan = plan_of(variants=1, seeds=2, probes=())
    spec = tmp_path / "toy.yaml"
    spec.write_text("")
    store.save_plan(plan, spec)
    record(store, plan.trajectories[0])
    assert store.results(plan.digest).runs["status"].to_list() == ["finished", None]
    record_all(store, plan)


def evaluation(split):
    return json.dumps({"kind": "evaluation", "split": split})


def test_a_run_has_its_own_evaluations_and_the_last_loss_that_it_came_to(store):
    """On one trajectory: runs of 2 and 3 updates, evaluated at 2, and one of 4, which looked at another split."""
    unit = alone()
    opened = store.open_unit(unit.key)
    row = {"trajectory": unit.key, "quantity": "nll", "split": "validation"}
    looks = [(s, w) for s in (2, 4) for w in ("validation", "test")]
    opened.write("curves", [row | {"step": s, "value": 10.0 + s, "split": w} for s, w in looks])
    opened.write("curves", [row | {"step": s, "value": 30.0, "split": "train", "quantity": "epoch"} for s in (2, 3)])
    losses = enumerate((5.0, 4.0, math.inf, 3.0))
    opened.write("curves", [row | {"step": s, "value": v, "split": "train", "quantity": "loss"} for s, v in losses])
    opened.commit(["m2", "m4"], outcome_of(unit, seconds=2.0) | {"steps": 4, "last_finite_loss": 3.0})
    needs = [("r2", 2, "m2", "validation"), ("r3", 2, "m2", "validation"), ("r4", 4, "m4", "test")]
    results = joined(store, unit, (2, 3, 4), [(r, s, m, evaluation(split)) for r, s, m, split in needs])
    curves = results.tables["curves"]
    found = curves.filter(quantity="nll").select("run", "step", "split").rows()
    assert found == [("r2", 2, "validation"), ("r3", 2, "validation"), ("r4", 4, "test")]
    assert curves.filter(quantity="epoch").select("run", "step").rows() == [("r2", 2), ("r3", 2)]
    loss = curves.filter(quantity="loss").group_by("run", maintain_order=True).agg("step")
    assert {run: sorted(steps) for run, steps in loss.iter_rows()} == {f"r{n}": [*range(n)] for n in (2, 3, 4)}
    assert results.runs["last_finite_loss"].to_list() == [4.0, 4.0, 3.0]


def test_what_another_spec_evaluated_at_the_same_states_by_another_probe_is_no_row_of_a_run(store):
    """On one trajectory ``evaluation`` looked for run a, ``batch_evaluation`` for run b, both for run c."""
    unit = alone()
    opened = store.open_unit(unit.key)
    row = {"trajectory": unit.key, "split": "validation", "step": 2}
    opened.write("curves", [row | {"quantity": q, "value": 1.0} for q in ("nll", "loss", "batch_nll")])
    opened.commit(["m", "b"], outcome_of(unit) | {"steps": 2})
    probes = {"m": evaluation("validation"), "b": evaluation("validation").replace("evaluation", "batch_evaluation")}
    for keys, found in (("m", ["loss", "nll"]), ("b", ["batch_nll"]), ("mb", ["batch_nll", "loss", "nll"])):
        curves = joined(store, unit, (2,), [("r2", 2, key, probes[key]) for key in keys]).tables["curves"]
        assert curves["quantity"].sort().to_list() == found


def test_seconds_are_those_of_every_stretch_that_a_run_needed(store):
    unit = alone()
    opened = store.open_unit(unit.key)
    for steps in (2, 4):
        opened.go_on([], outcome_of(unit, "interrupted", "kept", seconds=float(steps)) | {"steps": steps})
    opened.commit([], outcome_of(unit, seconds=32.0) | {"steps": 6})
    runs = joined(store, unit, (1, 2, 3, 6)).runs
    assert runs["seconds"].to_list() == [2.0, 2.0, 6.0, 38.0]
    assert runs["status"].unique().to_list() == ["finished"]


def test_what_two_trajectories_start_with_is_asked_of_the_first(store):
    """Its measurement is the first trajectory's to take; both runs have its rows."""
    plan = plan_of(variants=2, seeds=1, probes=PROBES[:1])
    first, second = plan.trajectories
    shared = first.measurements[0]
    runs = [
        {"run": name, "steps": 3, "trajectory": unit.key, "variant": name, "seed": 1}
        for name, unit in (("a", first), ("b", second))
    ]
    need = {"step": 0, "measurement": shared.key, "probe": json.dumps(shared.probe)}
    needs = frame("needs", [{"run": name, **need} for name in ("a", "b")])
    asked = trajectory_requests(frame("runs", runs), needs)
    assert asked == {first.key: TrajectoryRequest(3, {shared.key: 0}), second.key: TrajectoryRequest(3, {})}
    opened = store.open_unit(first.key)
    opened.write("sites", rows_of(shared))
    opened.commit([shared.key], outcome_of(first) | {"steps": 3})
    found = join_results(store.root, {"runs": frame("runs", runs), "axes": frame("axes", []), "needs": needs})
    assert found.runs["status"].to_list() == ["finished", None]
    assert found.tables["sites"]["run"].to_list() == ["a"] * 3 + ["b"] * 3


@pytest.mark.parametrize(
    ("made", "asked", "reason"),
    [
        ([], {}, "not in the store"),
        ([("interrupted", 3, "kept")], {}, "the last attempt was interrupted: kept"),
        ([("finished", 3, None)], {}, "trained for 3 of 5 steps"),
        ([("finished", 5, None)], {}, None),
        ([("finished", 5, None)], {"m": 2}, "not in the store"),
        ([("diverged", 3, "it broke")], {"m": 4}, None),
        ([("diverged", 3, "it broke")], {"m": 3}, "not in the store"),
        ([("interrupted", 3, "kept"), ("failed", 3, "3 times its worker died")], {}, "3 times its worker died"),
    ],
)
def test_what_is_wanted_of_a_trajectory_is_there_up_to_its_own_end(store, made, asked, reason):
    unit = alone()
    for status, steps, said in made:
        store.open_unit(unit.key).commit([], outcome_of(unit, status, said) | {"steps": steps})
    request = TrajectoryRequest(3 if asked == {"m": 2} else 5, asked)
    miss = missing_of_request(read_trajectory(store.root, unit.key), request)
    assert (miss is None) == (reason is None)
    assert reason is None or reason in miss.reason


def test_how_runs_stand_is_the_same_without_their_rows(full, plan):
    whole, runs = full.results(plan.digest), full.results(plan.digest, rows=False)
    assert_frame_equal(runs.runs.drop("last_finite_loss"), whole.runs.drop("last_finite_loss"))
    assert_frame_equal(runs.axes, whole.axes)
    assert not runs.tables
