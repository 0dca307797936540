"""A study of 756 runs of 600 updates: its page is made in seconds, and stays small, as lines and as a printed table."""

import json
import math
from time import process_time

import polars as pl
import pytest

from lnlab.report.drawing import Drawing
from lnlab.report.folder import read_folder, report_data, write_files
from lnlab.report.write import render_report
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame
from tests.support.row_schemas import row_schema

VARIANTS, SEEDS, STEPS = 126, 6, 600
SECONDS, BYTES = 8.0, 2_000_000


def study():
    """Losses that fall as exp(-t/150) to a floor of the variant, with noise that differs from step to step."""
    table = [(f"v{v}-{s}", f"v{v}", v, s) for v in range(VARIANTS) for s in range(1, SEEDS + 1)]
    runs = pl.DataFrame(table, schema=["run", "variant", "v", "seed"], orient="row").with_columns(
        pl.lit("done").alias("_")
    )
    settings = {
        f"v{v}": json.dumps({"task": {"kind": "t"}, "optimizer": {"lr": 1e-4 * (v + 1)}}) for v in range(VARIANTS)
    }
    lost = (pl.col("v") > 100) & (pl.col("seed") == 1)
    whole = runs.with_columns(
        pl.col("run").alias("trajectory"),
        pl.lit(STEPS).cast(pl.Int64).alias("steps"),
        pl.lit(STEPS).cast(pl.Int64).alias("done"),
        pl.col("variant").replace_strict(settings).alias("setting"),
        pl.when(lost).then(pl.lit("diverged")).otherwise(pl.lit("finished")).alias("status"),
        *(pl.lit(None, pl.String).alias(c) for c in ("reason", "device", "versions")),
        *(pl.lit(None, pl.Float64).alias(c) for c in ("seconds", "last_finite_loss")),
        pl.lit(None, pl.Int64).alias("parameters"),
    ).drop("_", "v")
    steps = pl.DataFrame({"step": range(STEPS)}, schema={"step": pl.Int64})
    every = runs.join(steps, how="cross")
    t, noise = pl.col("step"), ((pl.col("step") * 7919 + pl.col("seed") * 104729) % 1000) / 5000
    loss = 2 + pl.col("v") / 100 + 5 * (-t / 150).exp() + noise
    parts = {("train", "loss"): loss, ("train", "learning_rate"): (t + 1).clip(upper_bound=60) * 1e-5}
    parts |= {
        ("validation", "nll"): pl.when(t % 50 == 0).then(loss),
        ("train", "unigram_entropy"): pl.when(t == 0).then(5.5),
    }
    curves = (
        pl.concat(
            every.with_columns(split=pl.lit(s), quantity=pl.lit(q), value=v, trajectory=pl.col("run")).drop_nulls(
                "value"
            )
            for (s, q), v in parts.items()
        )
        .select(row_schema("curves").names())
        .cast(dict(row_schema("curves")))
    )
    axes = [
        {"run": run, "axis": "optimizer.lr", "value": f"{1e-4 * (v + 1)}", "number": 1e-4 * (v + 1), "label": f"{v}"}
        for run, _, v, _ in table
    ]
    tables = {name: pl.DataFrame(schema=row_schema(name)) for name in WRITTEN_BY_WORKERS} | {"curves": curves}
    return Results(whole, frame("axes", axes), tables)


@pytest.fixture(scope="module")
def results():
    return study()


@pytest.mark.nightly
def test_the_page_of_756_runs_is_made_in_seconds_and_stays_small(results, facts_of, tmp_path):
    given = facts_of(sections=({"kind": "curves", "quantity": "loss", "inset": True}, {"kind": "outcomes"}))
    write_files(tmp_path, report_data(given, results, []), ("data",))
    begin = process_time()
    page, *_ = render_report(tmp_path, drawing=Drawing(single_file=True)).files
    assert process_time() - begin < SECONDS
    assert 'class="broken"' not in page.read_text()
    assert page.stat().st_size < BYTES
    source = json.loads((tmp_path / "figures" / "figure-1.vl.json").read_text())
    assert 0 < len(source["datasets"]["points"]) < 50 * VARIANTS, "thinned to what can be seen"
    drawn = pl.read_parquet(tmp_path / "figures" / "figure-1.parquet")
    lengths = drawn.group_by("series").agg(pl.col("x").n_unique())["x"]
    assert len(lengths) == VARIANTS
    assert lengths.max() <= 50
    kept = read_folder(tmp_path)[1].tables["curves"].filter(quantity="loss")
    assert kept.height <= 50 * VARIANTS * SEEDS
    assert math.isclose(kept["value"].max(), results.tables["curves"].filter(quantity="loss")["value"].max())
