"""Axes: round ticks inside the domain, whatever the numbers."""

import html
import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lnlab.report.charts import render
from lnlab.report.charts.axes import axis_at_values, linear_axis, logarithmic_axis, tick_words
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


def words_of(ends):
    """The label of each tick of a logarithmic axis, by its value."""
    expression = logarithmic_axis("x", ends).axis["labelExpr"]
    words, values = re.fullmatch(r"split\('(.*)','\|'\)\[indexof\(\[(.*)\],datum.value\)\]", expression).groups()
    return dict(zip(map(float, values.split(",")), words.split("|"), strict=True))


def test_far_decades_are_written_as_powers_of_ten():
    near, far = words_of([0.01, 100]), words_of([1e-7, 2e7])
    assert near[10] == "10"
    assert "format" not in logarithmic_axis("x", [0.01, 100]).axis, "Vega would round to its own step"
    assert {tick: far[tick] for tick in (1e-6, 0.01, 1e4, 1e6)} == {
        1e-6: "10⁻⁶",
        0.01: "0.01",
        1e4: "10,000",
        1e6: "10⁶",
    }
    assert words_of([1.6e7, 2.9e7])[2e7] == "2 × 10⁷"
    assert words_of([1e-7, 10])[1e-4] == "0.0001"


def drawn_labels(axis, channel):
    """The texts of an axis in a drawing, but for its title."""
    other = "y" if channel == "x" else "x"
    middle = math.sqrt(math.prod(axis.domain)) if axis.log else sum(axis.domain) / 2
    plain = {"type": "quantitative", "axis": None}
    encoding = {
        channel: {
            "field": "v",
            "type": "quantitative",
            "scale": axis.scale,
            "axis": {**axis.axis, "labelOverlap": False},
        },
        other: {"field": "w", **plain},
    }
    spec = {"data": {"values": [{"v": middle, "w": 1}]}, "mark": "point", "encoding": encoding, "width": 900}
    svg = render.to_svg(rounded_json({**spec, "height": 900}))
    return [html.unescape(text) for text in re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", svg) if text != axis.title]


def number(label):
    """What a label says, read in decimal."""
    plain = label.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")).replace(",", "")
    power = re.fullmatch(r"(?:(.*) × )?(-?)10(-?\d+)", plain) if set(label) & set("⁰¹²³⁴⁵⁶⁷⁸⁹") else None
    if power:
        return float(f"{power[2]}{power[1] or 1}e{power[3]}")
    return float(plain)


LINEAR = [
    [4.8, 5.6], [4.9, 5.45], [0.95, 1.9], [2.0, 2.9], [1.0, 1.27], [10.02, 10.3], [99.5, 102.1], [0.0, 6e-5],
    [1e-5, 3.4e-5], [-2.6, -0.3], [-1e-6, 1e-6], [0.0, 0.007], [1e4, 1.0003e4], [123456.0, 123456.9], [2e6, 9e7],
    [-3e11, 4e12], [1e-12, 7e-12], [0.0, 1e-300],
]  # fmt: skip
LOGARITHMIC = [
    [4.8, 5.6], [0.25, 2.0], [0.4, 0.7], [1.0, 1.06], [2e-5, 9e-5], [1e-5, 1e-3], [90.0, 130.0],
    [1e-7, 2e7], [1.6e7, 2.9e7], [1.02e7, 1.09e7], [1e-300, 1e300], [5e5, 3e6],
]  # fmt: skip
PLACES = [
    [4.5, 5.0, 5.5], [0.25, 0.5, 0.75], [0.125, 0.3], [1 / 3, 2 / 3, 4 / 3], [6.0, 8.0, 10.0], [1e-5, 2.5e-5],
    [0.00015, 0.5], [1.0, 1.0000004], [64.0, 1234567.0],
]  # fmt: skip


@pytest.mark.parametrize("channel", ["x", "y"])
@pytest.mark.parametrize(
    ("kind", "ends"),
    [("linear", ends) for ends in LINEAR]
    + [("log", ends) for ends in LOGARITHMIC]
    + [(kind, ends) for kind in ("linear places", "log places") for ends in PLACES],
)
def test_the_label_of_every_tick_says_its_value(kind, ends, channel):
    axis = {
        "linear": lambda: linear_axis("title", ends),
        "log": lambda: logarithmic_axis("title", ends),
        "linear places": lambda: axis_at_values("title", ends),
        "log places": lambda: axis_at_values("title", ends, log=True),
    }[kind]()
    said = sorted(map(number, drawn_labels(axis, channel)))
    ticks = sorted(axis.ticks)
    assert len(said) == len(ticks), "every tick has its label"
    gap = min((b - a for a, b in pairwise(ticks)), default=math.inf)
    for label, tick in zip(said, ticks, strict=True):
        assert abs(label - tick) <= min(gap / 100, 1e-5 * abs(tick)), (label, tick)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=4))
def test_a_linear_tick_reads_as_it_is(values):
    axis = linear_axis("x", values)
    for tick, word in tick_words(axis.ticks).items():
        assert number(word) == pytest.approx(tick, rel=1e-8, abs=0)


def test_steps_with_epochs_below_read_as_they_are():
    axis = replace(linear_axis("title", [0, 2]), epoch=0.004)
    assert drawn_labels(axis, "x") == ["0", "0", "0.5", "125", "1", "250", "1.5", "375", "2", "500"]
    many = replace(linear_axis("title", [0, 20_000]), epoch=3000.0)
    assert drawn_labels(many, "x")[2:6] == ["5,000", "1.67", "10,000", "3.33"]
    few = replace(linear_axis("title", [0, 2]), epoch=1e6)
    assert drawn_labels(few, "x")[2:6] == ["0.5", "5 × 10⁻⁷", "1", "10⁻⁶"]


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
