"""Schemas are written once, and rows that do not fit are refused."""

import pytest

from lnlab import tables


def test_what_a_row_lacks_is_null_and_a_column_that_the_table_lacks_is_refused():
    frame = tables.frame("sites", [{"quantity": "q", "value": float("nan")}, {"quantity": "q", "layer": 3}])
    assert frame["layer"].to_list() == [None, 3]
    assert frame["value"].is_nan().to_list() == [True, None]
    with pytest.raises(ValueError, match=r"table 'sites' has no column \['depth'\]"):
        tables.frame("sites", [{"depth": 1}])
