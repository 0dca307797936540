"""Axes: round ticks inside the domain, whatever the numbers."""

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lnlab.report.charts.axes import axis_at_values, linear_axis, logarithmic_axis
from lnlab.report.charts.histogram_over_steps import histogram_chart
from lnlab.report.rounding import rounded_json

POSITIVE = st.floats(1e-300, 1e300)
FINITE = st.floats(-1e300, 1e300)


@given(st.lists(POSITIVE, min_size=1, max_size=5))
@example([2.807440455121297])
def test_a_logarithmic_axis_holds_its_numbers_and_its_ticks(values):
    axis = logarithmic_axis("x", values)
    low, high = axis.domain
    assert 0 < low <= min(values) * (1 + 1e-9)
    assert high >= max(values) * (1 - 1e-9)
    assert 3 <= len(axis.ticks) <= 12
    assert all(low * (1 - 1e-6) <= t <= high * (1 + 1e-6) for t in axis.ticks)


@given(st.lists(FINITE, min_size=1, max_size=5))
def test_a_linear_axis_holds_its_numbers_and_about_six_ticks(values):
    axis = linear_axis("x", values)
    low, high = axis.domain
    assert low <= min(values) <= max(values) <= high
    assert 1 <= len(axis.ticks) <= 9


def test_ticks_are_round():
    assert logarithmic_axis("x", [0.25, 2.0]).ticks == (0.5, 1.0, 2.0)
    assert logarithmic_axis("x", [0.4, 0.7]).ticks == (0.4, 0.5, 0.6, 0.7)
    assert logarithmic_axis("x", [1e-4, 1e4]).ticks == tuple(10.0**n for n in range(-4, 5))
    assert linear_axis("x", [0, 10]).ticks == (0, 2, 4, 6, 8, 10)


@pytest.mark.parametrize("octaves", [1, 2, 3])
def test_every_tick_of_a_histogram_has_its_label_in_a_file(octaves):
    """A file rounds numbers and leaves texts; the rows go from 2^-30 to 2^3, 10^-9 to 10."""
    spec = rounded_json(histogram_chart(["A"], "x", (-30 // octaves, 3 // octaves), octaves, 1.0, {}))
    axis = spec["spec"]["layer"][0]["encoding"]["y"]["axis"]
    labels = dict(re.findall(r"datum.value === (\S+) \? '([^']*)'", axis["labelExpr"]))
    assert len(axis["values"]) >= 4
    words = [labels[repr(value)] for value in axis["values"]]
    powers = {"10⁻⁶": -6, "10⁻⁸": -8, "0.0001": -4, "0.01": -2, "1": 0}
    assert dict(zip(words, axis["values"], strict=True)) == {
        w: pytest.approx(powers[w] / math.log10(2) / octaves) for w in words
    }


def test_far_decades_are_written_as_powers_of_ten():
    near, far = (logarithmic_axis("x", ends).axis.to_dict() for ends in ([0.01, 100], [1e-7, 2e7]))
    assert near["format"] == ",~g"
    assert "labelExpr" not in near
    for tick, word in (("1e-06", "10⁻⁶"), ("0.01", "0.01"), ("10000.0", "10,000"), ("1000000.0", "10⁶")):
        assert f"datum.value === {tick} ? '{word}'" in far["labelExpr"]
    few = logarithmic_axis("x", [1.6e7, 2.9e7]).axis.to_dict()["labelExpr"]
    assert "datum.value === 20000000.0 ? '2 × 10⁷'" in few
    assert "datum.value === 0.0001 ? '0.0001'" in logarithmic_axis("x", [1e-7, 10]).axis.to_dict()["labelExpr"]


def test_levels_are_ticked_where_data_are():
    axis = axis_at_values("layers", [6, 8, 10, 8, 6], log=True, right_margin=0.5)
    assert axis.ticks == (6, 8, 10)
    assert axis.domain[1] == pytest.approx(10 * math.sqrt(10 / 6))
    assert len(axis_at_values("layer", range(1, 101)).ticks) <= 12


@pytest.mark.parametrize("axis", [linear_axis, logarithmic_axis, axis_at_values])
def test_an_axis_without_numbers_is_refused(axis):
    with pytest.raises(ValueError, match="needs"):
        axis("x", [])


def test_a_logarithmic_axis_refuses_zero():
    with pytest.raises(ValueError, match="positive"):
        logarithmic_axis("x", [0.0, 1.0])
