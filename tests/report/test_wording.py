"""Numbers and names as a reader says them."""

import math

import pytest

from lnlab.report.words.control_characters import without_control_characters
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import axis_title
from lnlab.report.words.wording import (
    axis_value_name,
    format_apart,
    format_interval,
    format_number,
    format_short,
    format_value,
    growth_in_words,
    in_variant,
    is_level,
    region_in_words,
)


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (7.5123, 7.22, 7.79, "7.51"),
        (7.5123, 6.1, 8.9, "7.5"),
        (-0.4712, -0.56, -0.39, "−0.47"),
        (123.4, 100.0, 150.0, "123"),
        (1.0, 1.0, 1.0, "1.00"),
        (0.0, None, None, "0"),
        (-0.0001, -0.4, 0.4, "0.0"),
        (0.65941, None, None, "0.659"),
        (1e300, None, None, "1.00 × 10³⁰⁰"),
        (2.5e-300, None, None, "2.50 × 10⁻³⁰⁰"),
        (math.nan, None, None, "not a number"),
        (math.inf, None, None, "∞"),
        (-math.inf, None, None, "−∞"),
        (None, None, None, "–"),
    ],
)
def test_digits_follow_the_interval(value, low, high, text):
    assert format_number(value, low, high) == text


def test_an_interval_has_the_same_digits_everywhere():
    assert format_interval(7.5123, 7.22, 7.79) == "7.51 [7.22, 7.79]"
    assert format_interval(1.5, None, None) == "1.50"
    assert format_interval(2.0, 0.0, math.inf) == "2.00 [0, ∞]"


def test_an_interval_of_no_width_says_that_all_seeds_agree():
    assert format_interval(0.008, 0.008, 0.008) == "0.008, all seeds agree"
    assert format_interval(-1.0, -1.00001, -0.99999) == "\N{MINUS SIGN}1.000, all seeds agree"
    assert format_interval(1.0, 1.0, 1.2) == "1.00 [1.00, 1.20]"


def test_an_interval_whose_units_say_nothing_shares_one_power_of_ten():
    assert format_interval(72464, 52904, 99255) == "7.2 [5.3, 9.9] × 10⁴"
    assert format_interval(1234, 1230, 1239) == "1234 [1230, 1239]"
    assert format_interval(186, 130, 267) == "186 [130, 267]"


def test_the_end_of_a_wide_interval_is_not_rounded_to_nothing():
    assert format_interval(4.1, 0.3621, 41.2) == "4 [0.36, 41]"
    assert format_interval(3.86e9, 3.6e8, 4.12e10) == "4 [0.36, 41] × 10⁹"
    assert format_interval(0.2, -0.0, 50.0) == "0.2 [0, 50]"
    assert format_interval(5.18e9, 2.1e9, 12.6e9) == "5 [2, 13] × 10⁹"
    assert format_interval(1.46e-10, 1.41e-10, 1.51e-10) == "1.46 [1.41, 1.51] × 10⁻¹⁰"
    assert format_interval(-3e7, -3.2e7, -2.8e7) == "−3.00 [−3.20, −2.80] × 10⁷"
    assert format_interval(3e7, 0.0, math.inf) == "3.00 × 10⁷ [0, ∞]"


def test_regions_are_said_in_words():
    assert region_in_words(2.5, None) == "at least 2.5"
    assert region_in_words(None, 1.5) == "at most 1.5"
    assert region_in_words(-0.15, 0.15) == "between −0.15 and 0.15"


def test_values_are_written_as_their_author_would():
    assert format_value(1e-05) == "1e−05"
    assert format_value(True) == "yes"
    assert format_value({"kind": "layer", "eps": 0.5}) == "layer (eps 0.5)"
    assert format_value([1, 2.5, "x"]) == "1, 2.5 and x"
    assert format_value(None) == "none"
    assert format_short(7.5123) == "7.5"
    assert format_short(0.6594) == "0.66"
    assert format_short(1234.5) == "1234"
    assert format_short(math.inf) == "∞"
    assert format_short(2.987e7) == "3.0 × 10⁷"
    assert format_short(-468_389) == "−4.7 × 10⁵"
    assert format_short(3.4e-8) == "3.4 × 10⁻⁸"
    assert format_short(0.00029) == "0.00029"


def test_axes_read_like_the_paper(golden):
    values = [
        ("train.evaluate", {"every": 57}, '{"every": 57}'),
        ("train.evaluate", {"epochs": 1}, '{"epochs": 1}'),
        ("train.evaluate", "end", "end"),
        ("train.evaluate", [10, 20], "[10, 20]"),
        *(("placement", kind, kind) for kind in ("post", "rezero", "sandwich", "mix", "deepnorm")),
        *(("norm", kind, kind) for kind in ("none", "instance", "group", "scale", "dyt", "batch (naive false)")),
        ("norm", {"kind": "rms", "eps": 1}, "rms (eps 1)"),
        ("norm", None, "batch (momentum 0.1, naive true)"),
        ("warmup", 100, "100"),  # of a table of one's own
        ("schedule.warmup_steps", 0, "0"),
        ("schedule.anchor", 300, "300"),
        ("schedule.anchor", None, "null"),
        ("layers", 6, "6"),
        ("encoder.layers", 1, "1"),
        ("decoder.cross_attention", False, "false"),
        ("init", "", "uniform (a -100.0, b 100.0)"),
        ("step", 600, "600"),
        ("task.batch_sentences", 8, "8"),
        ("model.tied", "none", "none"),
        ("interventions.rescale.factor", 0.1, "0.1"),
        ("interventions.rescale.factor", None, "null"),
        ("interventions", [{"kind": "clamp"}], "clamp (most 1)"),
    ]
    golden([axis_value_name(*value) for value in values])
    golden([path_name(path) for path in ("optimizer.lr", "model.layers", "encoder.layers", "decoder.layers")])
    names = ("Post-LN", "LayerNorm", "no warm-up", "learning rate 0.1", "2 × chosen", "as chosen", "after 30 steps")
    golden([in_variant(name) for name in names])


def test_an_edge_of_a_region_has_no_more_digits_than_it_needs():
    assert region_in_words(1 / 1.05, None) == "at least 0.952"
    assert region_in_words(1 / 1.1, 1.1) == "between 0.91 and 1.1"
    assert region_in_words(1 / 1.5, 1.5) == "between 0.67 and 1.5"
    assert region_in_words(1 / 1.0005, 1.0005) == "between 0.9995 and 1.0005"
    assert region_in_words(-0.123456, 1.23456) == "between −0.123456 and 1.23456"
    assert region_in_words(0.9994, 1.0006) == "between 0.9994 and 1.0006"
    assert region_in_words(1, 1) == "equal to 1"


def test_factors_are_words_where_they_need_a_power_of_ten(golden):
    told = ["grows 7.6×", "falls to 0.22×", "stays level (1×)", "grows by a factor of 3.9 × 10⁹"]
    assert [growth_in_words(ratio) for ratio in (7.6, 0.22, 1.004, 3.86e9)] == told
    golden(growth_in_words(1 / 4.5e5))


def test_control_characters_leave_texts_at_any_depth():
    assert without_control_characters({"a\x07": ["b\u2028c", 1, None]}) == {"a ": ["b c", 1, None]}


def test_the_title_of_an_axis_has_the_symbol_of_the_selected_tensor_and_the_unit():
    assert axis_title("gradient_norm", {"tensor": "w2"}) == "gradient norm ‖E ∂L/∂W₂‖, nats per token"
    assert axis_title("gradient_norm", {"tensor": ["w1", "w2"]}) == "gradient norm ‖E ∂L/∂W‖, nats per token"
    assert axis_title("token_cosine") == "token cosine, cosine", "no symbol, no change"


def test_a_number_and_its_bounds_have_the_same_decimals():
    assert format_interval(-1.0, -1.0002, -0.99975) == "−1.000 [−1.000, −1.000]".replace("−", "\N{MINUS SIGN}")
    assert format_interval(0.00737563536664, 0.00737563536664, 0.00737563536664) == "0.00738, all seeds agree"


def test_level_is_an_interval_and_not_an_estimate():
    assert is_level(0.8, 1.25, log=True)
    assert not is_level(0.79, 1.0, log=True)
    assert not is_level(1.0, 1.26, log=True)
    assert is_level(-0.39, 0.39, log=False, scale=2.0)
    assert not is_level(-0.41, 0.1, log=False, scale=2.0)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((4.08, 4.12), ["4.08", "4.12"]),
        ((4.1, 5.2), ["4.1", "5.2"]),
        ((0.012341, 0.012349), ["0.01234", "0.01235"]),
        ((1.234e-6, 1.243e-6), ["1.23 × 10⁻⁶", "1.24 × 10⁻⁶"]),
        ((4.10001, 4.10002), ["4.1", "4.1"]),
        ((2.0, 2.0), ["2", "2"]),
    ],
)
def test_numbers_that_are_compared_have_digits_enough_to_differ(values, texts):
    assert format_apart(values) == texts
