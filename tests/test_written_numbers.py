"""Numbers as other places write them: a remedy is the number that was meant, or both that may have been."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.specfile.scalars import resolve_plain
from lnlab.written_numbers import number_hint, numbers_meant, truth_hint

MEANT = {
    0.001: ("0,001", "1e-3 ", " 1e−3", "1d-3", "10^-3", "10⁻³", "٠٫٠٠١"),
    0.5: ("0,5", ",5", "½"),
    1000: ("1 000", "1\u00a0000", "1'000", "1_000"),
    1000.5: ("1.000,5", "1,000.5", "1 000,5", "1’000.5"),
    1e6: ("1,000,000", "1.000.000"),
}
OTHERS = """10,5=10.5|-0,25=-0.25|1,5e-3=1.5e-3|12,34,567=1234567|−5=-5|1½=1.5|¾=0.75|5%=0.05|0,5 %=0.005|3×10⁻⁴=3e-4
10**4=1e4|2,5 * 10^3=2500|20k=20000|1.5M=1.5e6|１２=12|12\u202f345\u202f678=12345678|1.000.000,25=1000000.25
1/3=0.3333333333333333"""
MEANT |= {float(meant): (text,) for text, meant in (pair.split("=") for pair in OTHERS.replace("\n", "|").split("|"))}


def read(text):
    return [resolve_plain(number) for number in numbers_meant(text)]


@pytest.mark.parametrize("meant", MEANT)
def test_the_number_that_was_meant(meant):
    assert [read(text) for text in MEANT[meant]] == [pytest.approx([meant], rel=1e-15)] * len(MEANT[meant])


def test_either_number_may_have_been_meant():
    assert (read("1,000"), read("12,345")) == ([1000, 1.0], [12345, 12.345])


@pytest.mark.parametrize(
    "text",
    [
        *("", "layer", "1,2,3", "0,001,0,01", "1,,2", "1.2.3", "1 2", "1 00", "3-7", "1:30", "e", ".", ",", "1/0"),
        *("--1", "2024-01-01", "1,00.5", "1.00,5", "x½", "%", "1e3e4", "10^", "1__0", "'1", "½½", "9" * 41),
        *("1e400", "1,5e400", "1e400 %", "10^999", "1e308k", "99,999,999,999,999,999,999", "9" * 20),
    ],
)
def test_text_that_means_no_number_gets_no_guess(text):
    assert numbers_meant(text) == []


@given(st.decimals(-(10**9), 10**9, places=4))
def test_a_decimal_comma_with_grouped_thousands_means_the_number_it_was_written_from(number):
    english = f"{number:,.4f}"
    german = english.translate(str.maketrans(",.", ".,"))
    french = english.replace(",", "\u202f").replace(".", ",")
    swiss = english.replace(",", "'")
    for text in (english, german, french, swiss):
        assert [float(found) for found in numbers_meant(text)] == [float(number)]


@settings(max_examples=1000)
@given(st.text(st.sampled_from("0123456789.,' _e+-%/½k^×10"), max_size=14))
def test_whatever_is_proposed_is_a_number_of_yaml(text):
    for number in numbers_meant(text):
        value = resolve_plain(number)
        assert isinstance(value, int | float)
        assert math.isfinite(value)


def test_the_hint_says_what_to_write(golden):
    golden([number_hint(text) for text in ("0,001", "1,000", "1e-3")])
    golden([number_hint(text, whole=True) for text in ("1,000", "1e3")])
    assert number_hint("0,5", whole=True) == number_hint("layer") == number_hint(3) == number_hint(None) == ""


@pytest.mark.parametrize(("text", "written"), [("no", "false"), ("On", "true"), ("TRUE ", "true"), ("layer", "")])
def test_truth_values_of_yaml_1_1(text, written):
    assert (written in truth_hint(text)) if written else truth_hint(text) == ""
