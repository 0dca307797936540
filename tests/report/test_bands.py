"""Bands of quantities between 0 and 1 stay there."""

import polars as pl
import pytest

from lnlab.report.data.series import mean_points


@pytest.mark.parametrize(
    ("values", "low", "high"), [([0.9, 1.0, 1.0, 0.8], None, 1.0), ([0.0, 0.02, 0.0, 0.1], 0.0, None)]
)
def test_the_band_of_a_fraction_ends_at_its_bounds(values, low, high):
    seeds = pl.DataFrame({"panel": None, "series": "a", "line": 0, "x": 1.0, "value": values})
    free, bounded = mean_points(seeds, log=False), mean_points(seeds, log=False, fraction=True)
    assert free["high"][0] > 1 or free["low"][0] < 0
    assert bounded["low"][0] == (free["low"][0] if low is None else low)
    assert bounded["high"][0] == (free["high"][0] if high is None else high)
    assert bounded["estimate"][0] == free["estimate"][0]
