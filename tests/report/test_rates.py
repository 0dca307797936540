"""A quantity over a grid of rates is drawn once for all its runs, and its page keeps all that it is made of."""

from dataclasses import replace

import polars as pl
import pytest

import lnlab.analyse.convergence.boundary
import lnlab.analyse.quantities.rates  # noqa: F401 - registers the quantities
from lnlab.keys import canonical
from lnlab.report.data.series import collect_series
from lnlab.tables import Results, frame, table_schema

FRONT = {"run": pl.String, "variant": pl.String, "seed": pl.Int64}


@pytest.fixture
def swept():
    runs, axes, curves = [], [], []
    for width in (32, 64):
        for rate in (1e-3, 1e-2):
            variant = f"{width}-{rate:g}"
            setting = {"task": {"kind": "toy"}, "model": {"d_model": width}, "optimizer": {"kind": "adam", "lr": rate}}
            axes += [
                {"run": variant, "axis": axis, "value": canonical(x), "number": float(x), "label": f"{x:g}"}
                for axis, x in (("model.d_model", width), ("optimizer.lr", rate))
            ]
            at = {"run": variant, "trajectory": variant, "variant": variant, "seed": 1}
            ended = {"steps": 9, "done": 9, "status": "finished", "setting": canonical(setting)}
            runs.append(at | ended)
            loss = 2.0 + (rate - 1e-3) + 1 / width
            curves.append(at | {"step": 9, "split": "validation", "quantity": "nll", "value": loss})
    told = dict(table_schema("runs")) | {"status": pl.String, "reason": pl.String, "done": pl.Int64}
    sites = pl.DataFrame(schema=FRONT | {"step": pl.Int64} | dict(table_schema("sites")))
    columns = FRONT | dict(table_schema("curves"))
    table = pl.DataFrame({c: [row[c] for row in curves] for c in columns}, schema=columns)
    listed = pl.DataFrame([{c: row.get(c) for c in told} for row in runs], schema=told)
    return Results(listed, frame("axes", axes), {"sites": sites, "curves": table})


def test_one_series_and_no_rate_in_its_name(swept):
    found = collect_series(swept, "best_lr_nll", {}, "model.d_model", log=False, panels=True)
    assert found.seeds.select("x", "value").rows() == [(32.0, 2.0 + 1 / 32), (64.0, 2.0 + 1 / 64)]
    assert len(found.names) == 1
    assert "0.001" not in found.names[0]


def test_what_is_kept_gives_the_same_numbers_again(swept):
    found = collect_series(swept, "best_lr_nll", {"model.d_model": 32}, "model.d_model", log=False, panels=True)
    again = collect_series(
        replace(swept, tables=found.rows), "best_lr_nll", {"model.d_model": 32}, "model.d_model", log=False, panels=True
    )
    assert again.seeds.equals(found.seeds)
    assert found.seeds.height == 1


def test_so_it_does_of_a_quantity_that_no_run_beyond_its_grid_is_part_of(swept):
    """The largest converging rate: of the run that stands for its grid alone nothing could be told."""
    began = swept.tables["curves"].with_columns(step=pl.lit(0, pl.Int64), value=pl.lit(5.0))
    made = replace(swept, tables=swept.tables | {"curves": pl.concat([began, swept.tables["curves"]])})
    where = {"rule": "stable", "split": "validation", "model.d_model": 32}
    found = collect_series(made, "max_converged_lr", where, "model.d_model", log=False, panels=True)
    again = collect_series(
        replace(made, tables=found.rows), "max_converged_lr", where, "model.d_model", log=False, panels=True
    )
    assert found.seeds["value"].to_list() == again.seeds["value"].to_list() == [1e-2]
