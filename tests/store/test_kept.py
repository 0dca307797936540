"""Results as the files of a report: read as a store reads them, they are the same results."""

from dataclasses import replace

import polars as pl
import pytest

from lnlab.claims.claim import claims as kinds
from lnlab.claims.judging import judge_claim
from lnlab.claims.thinned import thinned_finding
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.columns import EVALUATION
from lnlab.store.join import join_results
from lnlab.store.kept import plan_as_files, results_as_files
from lnlab.store.plans import StoredPlan, load_plan, plan_tables
from lnlab.store.records.records import StoreReader
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, table_schema

assert FRAME_REGISTRIES["claim"] is kinds
DIGEST = "ab" * 32
SCORE = f'{{"kind":"{EVALUATION}","split":"validation"}}'
PROBE = '{"kind":"gradient_norm"}'


def stored_plan():
    return StoredPlan(name="s", digest=DIGEST, quick="", spec="s.yaml", text="00", facts={"claims": []}, files={})


def results_of(runs, curves=(), sites=(), needs=None):
    named = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}
    tables = {
        name: pl.DataFrame(schema={**named, **table_schema(name)}) for name in WRITTEN_BY_WORKERS if name != "outcomes"
    }
    for name, rows in (("curves", curves), ("sites", sites)):
        tables[name] = pl.DataFrame(list(rows), schema=tables[name].schema, infer_schema_length=None)
    if needs is not None:
        tables["needs"] = pl.DataFrame(list(needs), schema={**named, "probe": pl.String, "measurement": pl.String})
    ends = {
        "reason": None,
        "parameters": 5,
        "device": "cpu",
        "versions": "{}",
        "last_finite_loss": None,
        "seconds": None,
    }
    columns = {**table_schema("runs"), "status": pl.String, "reason": pl.String, "seconds": pl.Float64}
    columns |= {"parameters": pl.Int64, "last_finite_loss": pl.Float64, "device": pl.String, "versions": pl.String}
    made = [{**ends, "setting": "{}", "variant": "v", **run} for run in runs]
    return Results(pl.DataFrame(made, schema={**columns, "done": pl.Int64}), frame("axes", []), tables)


def written(root, results):
    for name, content in {**results_as_files(results), **plan_as_files(stored_plan(), results)}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return join_results(root, plan_tables(root, load_plan(root, DIGEST)))


def assert_same(again, results):
    assert again.runs.select(sorted(results.runs.columns)).equals(results.runs.select(sorted(results.runs.columns)))
    for name, rows in results.tables.items():
        columns = [column for column in rows.columns if column in again.tables[name].columns]
        assert again.tables[name].select(columns).sort(columns).equals(rows.select(columns).sort(columns)), name


def curve(run, trajectory, seed, steps, quantity="loss", split="train"):
    at = {"run": run, "variant": "v", "seed": seed, "trajectory": trajectory, "split": split, "quantity": quantity}
    return [{**at, "step": step, "value": 10.0 - step - seed} for step in steps]


def need(run, seed, step, probe, measurement):
    return {"run": run, "variant": "v", "seed": seed, "step": step, "probe": probe, "measurement": measurement}


def trained(last="finished"):
    """Two lengths of one trajectory, whose initial state another trajectory shares, and a run that did not end."""
    runs = [
        {
            "run": "r1",
            "trajectory": "t1",
            "steps": 2,
            "seed": 1,
            "status": "finished",
            "done": 2,
            "last_finite_loss": 8.0,
        },
        {"run": "r2", "trajectory": "t1", "steps": 4, "seed": 1, "status": last, "done": 3, "last_finite_loss": 7.0},
        {"run": "r3", "trajectory": "t3", "steps": 2, "seed": 1, "status": "failed", "done": 1, "reason": "no"},
        {"run": "r4", "trajectory": "t4", "steps": 2, "seed": 2, "status": None, "done": None}
        | dict.fromkeys(("parameters", "device", "versions")),
    ]
    runs[1] |= {"done": 4} if last == "finished" else {"reason": "loss is not finite"}
    runs[2] |= {"last_finite_loss": 9.0}
    curves = curve("r1", "t1", 1, range(2)) + curve("r2", "t1", 1, range(runs[1]["done"]))
    for run, trajectory in (("r1", "t1"), ("r2", "t1"), ("r3", "t3")):
        curves += curve(run, trajectory, 1, [0], "nll", "validation") + curve(run, trajectory, 1, [0], "epoch", "train")
    curves += curve("r3", "t3", 1, [0])
    site = {"variant": "v", "seed": 1, "step": 2, "measurement": "m2", "quantity": "gradient_norm", "value": 2.5}
    needs = [need(run, 1, 0, SCORE, "m0") for run in ("r1", "r2", "r3")] + [need("r4", 2, 0, SCORE, "m4")]
    needs += [need("r1", 1, 2, PROBE, "m2"), need("r2", 1, 2, PROBE, "m2"), need("r3", 1, 2, PROBE, "m3")]
    return results_of(runs, curves, [{**site, "run": "r1"}, {**site, "run": "r2"}], needs)


@pytest.mark.parametrize("last", ["finished", "diverged"])
def test_results_that_were_planned_are_the_same_once_they_are_read_again(tmp_path, last):
    assert_same(written(tmp_path, trained(last)), trained(last))


def test_equal_results_are_equal_bytes(tmp_path):
    assert results_as_files(trained()) == results_as_files(trained())
    written(tmp_path, trained())
    assert load_plan(tmp_path, DIGEST).facts == {"claims": []}
    assert set(StoreReader(tmp_path).known()) == {"t1", "t3"}


def test_results_of_another_training_loop_keep_every_curve(tmp_path):
    runs = [{"run": "a", "trajectory": "a", "steps": 9, "seed": 1, "status": "finished", "done": 3, "reason": "ended"}]
    curves = curve("a", "a", 1, [1, 3], "my_metric", "test") + curve("a", "a", 1, range(9))
    given = results_of(runs, curves)
    again = written(tmp_path, given)
    columns = given.tables["curves"].columns
    assert again.tables["curves"].sort(columns).equals(given.tables["curves"].sort(columns))
    assert again.runs["status"].to_list() == ["finished"]
    assert again.runs["done"].to_list() == [3]


def test_a_curve_that_was_thinned_says_so_and_no_claim_is_judged_on_what_is_left(tmp_path, golden):
    again = written(tmp_path, replace(trained(), thinned={"r2": frozenset({"loss"})}))
    assert again.thinned == {run: frozenset({"loss"}) for run in ("r1", "r2")}
    of = {"quantity": "loss", "split": "train", "step": 1}
    claim = {"id": "c", "kind": "bound", "says": "it is small", "at_most": 1.0, "of": of}
    golden(judge_claim(claim, again).reason)
    assert thinned_finding({**claim, "of": {"quantity": "gradient_norm"}}, again) is None


@pytest.mark.parametrize(
    ("of", "partial"),
    [
        ({"tensor": "w2", "layer": 1}, False),
        ({"tensor": "w2", "layer": 1, "stack": "decoder", "placement": "post"}, False),
        ({"tensor": "w1", "layer": 3}, False),
        ({"tensor": "w1", "layer": [2, 3]}, False),
        ({"tensor": "w1", "layer": [3, 4]}, True),
        ({"tensor": "w2"}, True),
        ({"layer": 1}, True),
        ({}, True),
    ],
)
def test_of_a_measurement_with_rows_of_some_sites_a_claim_reads_these_alone(tmp_path, of, partial):
    entry = 'gradient_norm [{"quantity":"gradient_norm","tensor":"w2","layer":1},{"tensor":"w1","layer":[2,3]}]'
    again = written(tmp_path, replace(trained(), thinned={"r2": frozenset({entry})}))
    claim = {"id": "c", "kind": "bound", "says": "it is small", "at_most": 1.0}
    found = thinned_finding({**claim, "of": {"quantity": "gradient_norm", **of}}, again)
    assert (found is not None) == partial


@pytest.mark.parametrize("entry", ["gradient_norm [", "gradient_norm 7", "gradient_norm [7]", 'gradient_norm ["x"]'])
def test_what_anybody_writes_there_makes_no_row_whole(tmp_path, entry):
    again = written(tmp_path, replace(trained(), thinned={"r2": frozenset({entry})}))
    claim = {"id": "c", "kind": "bound", "says": "it is small", "at_most": 1.0, "of": {"quantity": "gradient_norm"}}
    assert thinned_finding(claim, again) is not None
