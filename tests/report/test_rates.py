"""A quantity over a grid of rates is drawn once for all its runs, and its page keeps all that it is made of."""

from dataclasses import replace
from itertools import product

import polars as pl
import pytest

import lnlab.analyse.convergence.boundary
import lnlab.analyse.quantities.rates  # noqa: F401 - registers the quantities
from lnlab.report.data.series import collect_series
from tests.support.results import results_of


@pytest.fixture
def swept():
    runs = []
    for width, rate in product((32, 64), (1e-3, 1e-2)):
        setting = {"task": {"kind": "toy"}, "model": {"d_model": width}, "optimizer": {"kind": "adam", "lr": rate}}
        loss = {"step": 9, "split": "validation", "quantity": "nll", "value": 2.0 + (rate - 1e-3) + 1 / width}
        axes = {"model.d_model": (width, f"{width}"), "optimizer.lr": (rate, f"{rate:g}")}
        run = {"variant": f"{width}-{rate:g}", "seed": 1, "steps": 9, "setting": setting, "axes": axes}
        runs.append(run | {"curves": [loss]})
    return results_of(runs)


def test_one_series_and_no_rate_in_its_name(swept):
    found = collect_series(swept, "best_lr_nll", {}, "model.d_model", log=False, panels=True)
    assert found.seeds.select("x", "value").rows() == [(32.0, 2.0 + 1 / 32), (64.0, 2.0 + 1 / 64)]
    assert len(found.names) == 1
    assert "0.001" not in found.names[0]


def test_what_is_kept_gives_the_same_numbers_again(swept):
    of = {"x": "model.d_model", "log": False, "panels": True}
    found = collect_series(swept, "best_lr_nll", {"model.d_model": 32}, **of)
    assert found.seeds.height == 1
    again = collect_series(replace(swept, tables=found.rows), "best_lr_nll", {"model.d_model": 32}, **of)
    assert again.seeds.equals(found.seeds)


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
