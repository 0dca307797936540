"""What is measured along a line of its own: its place is x, for selections and for claims."""

from dataclasses import replace

import polars as pl
import pytest

from lnlab.claims.row_digest import rows_digest
from lnlab.errors import LabError
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from tests.support.results import results_of

CLAIM = {"id": "a", "kind": "trend", "of": {"quantity": "psi", "index": 10}, "over": "x", "direction": "up"}


@pytest.fixture(scope="module")
def lined(setting):
    """``psi`` at x = 1 to 4, of two memories: memory · x + seed."""
    return results_of(
        {"variant": "a", "seed": seed, "setting": setting(), "sites": [{"quantity": "other", "value": 1.0}]}
        | {
            "lines": [
                {"quantity": "psi", "index": memory, "x": float(x), "value": float(memory * x + seed)}
                for memory in (10, 1000)
                for x in (4, 2, 1, 3)
            ]
        }
        for seed in (1, 2)
    )


def test_places_on_the_line_are_selected_claimed_and_named_where_one_is_needed(lined):
    rows = select_measured_rows(lined, {"quantity": "psi", "index": 1000, "x": [1, 3], "seed": 2}).sort("x")
    assert rows.select("x", "value").rows() == [(1.0, 1002.0), (3.0, 3002.0)]
    assert select_measured_rows(lined, {"quantity": "other"})["x"].null_count() == 2
    found = select_series(lined, {"quantity": "psi", "index": 10}, "x")
    assert found.levels == [1.0, 2.0, 3.0, 4.0]
    assert found.matrix.tolist() == [[11, 21, 31, 41], [12, 22, 32, 42]]
    assert select_series(lined, {"quantity": "psi", "index": 10, "x": 4}).matrix.tolist() == [[41], [42]]
    with pytest.raises(LabError, match=r"x \(1.0, 2.0, 3.0, 4.0\)"):
        select_series(lined, {"quantity": "psi", "index": 10})
    lines = lined.tables["lines"]
    moved = replace(lined, tables={**lined.tables, "lines": lines.with_columns(pl.col("x") + 1)})
    other = replace(lined, tables={**lined.tables, "lines": lines.filter(pl.col("index") == 10)})
    assert rows_digest(CLAIM, moved) != rows_digest(CLAIM, lined) == rows_digest(CLAIM, other)
