"""The validation loss above that of the training split, wherever both are known."""

import polars as pl
import pytest

from lnlab.analyse.quantities.generalization import generalization_gap
from lnlab.tables import Results


def test_it_is_the_difference_where_both_were_taken(setting, training, trained):
    results = training({"a": setting()}, {("a", 1): trained({0: 3.0, 50: 2.0, 100: 5.0}), ("a", 2): trained({0: 1.0})})
    row = {"variant": "a", "split": "train", "quantity": "nll"}
    runs = [("a-1", 1, 0, 2.5), ("a-1", 1, 100, 6.0), ("a-2", 2, 50, 1.0)]
    rows = [row | {"run": run, "seed": seed, "step": step, "value": value} for run, seed, step, value in runs]
    curves = pl.concat([results.tables["curves"], pl.DataFrame(rows)], how="diagonal_relaxed")
    gaps = generalization_gap(Results(results.runs, results.axes, {**results.tables, "curves": curves}))
    assert gaps.select("seed", "step").rows() == [(1, 0), (1, 100)]
    assert gaps["value"].to_list() == pytest.approx([0.5, -1.0])
