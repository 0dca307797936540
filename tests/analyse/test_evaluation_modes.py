"""The validation loss in use above that of training mode, wherever both are known."""

import polars as pl
import pytest

from lnlab.analyse.quantities.evaluation_modes import evaluation_gap
from lnlab.tables import Results


def test_it_is_the_difference_where_both_were_taken(setting, training, trained):
    made = training({"a": setting()}, {("a", 1): trained({0: 3.0, 50: 2.0, 100: 5.0}), ("a", 2): trained({0: 1.0})})
    values = {("a-1", 1, 0): 2.5, ("a-1", 1, 100): 6.0, ("a-2", 2, 50): 1.0}
    rows = [
        {
            "run": run,
            "variant": "a",
            "seed": seed,
            "step": step,
            "split": split,
            "quantity": "batch_nll",
            "value": value,
        }
        for (run, seed, step), value in values.items()
        for split in ("validation", "train")
    ]
    rows = [row | {"value": row["value"] + (row["split"] == "train")} for row in rows]
    curves = pl.concat([made.tables["curves"], pl.DataFrame(rows)], how="diagonal_relaxed")
    found = evaluation_gap(Results(made.runs, made.axes, {**made.tables, "curves": curves}))
    assert found.select("seed", "step").rows() == [(1, 0), (1, 100)]
    assert found["value"].to_list() == pytest.approx([0.5, -1.0])
