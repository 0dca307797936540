"""Numbers as other places write them: a remedy is the number that was meant, or both that may have been."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.specfile.scalars import resolve_plain
from lnlab.written_numbers import number_hint, numbers_meant, truth_hint


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0,001", [0.001]),
        ("0,5", [0.5]),
        ("10,5", [10.5]),
        ("-0,25", [-0.25]),
        (",5", [0.5]),
        ("1,5e-3", [1.5e-3]),
        ("1,000", [1000, 1.0]),
        ("12,345", [12345, 12.345]),
        ("1,000,000", [1e6]),
        ("12,34,567", [1234567]),
        ("1.000,5", [1000.5]),
        ("1.000.000", [1e6]),
        ("1.000.000,25", [1000000.25]),
        ("1,000.5", [1000.5]),
        ("1 000", [1000]),
        ("1 000,5", [1000.5]),
        ("1\u00a0000", [1000]),
        ("12\u202f345\u202f678", [12345678]),
        ("1'000", [1000]),
        ("1’000.5", [1000.5]),
        ("1_000", [1000]),
        ("1e-3 ", [1e-3]),
        (" 1e−3", [1e-3]),
        ("1d-3", [1e-3]),
        ("−5", [-5]),
        ("½", [0.5]),
        ("1½", [1.5]),
        ("¾", [0.75]),
        ("1/3", [1 / 3]),
        ("5%", [0.05]),
        ("0,5 %", [0.005]),
        ("10^-3", [1e-3]),
        ("10⁻³", [1e-3]),
        ("3×10⁻⁴", [3e-4]),
        ("2,5 * 10^3", [2500]),
        ("10**4", [1e4]),
        ("20k", [20000]),
        ("1.5M", [1.5e6]),
        ("１２", [12]),
        ("٠٫٠٠١", [0.001]),
    ],
)
def test_the_number_that_was_meant(text, meant):
    assert [resolve_plain(number) for number in numbers_meant(text)] == pytest.approx(meant, rel=1e-15)


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


def test_the_hint_says_what_to_write():
    assert number_hint("0,001") == "'0,001' is text; if a number was meant, write 0.001"
    assert number_hint("1,000") == "'1,000' is text; write 1000 or 1.000, whichever was meant"
    assert number_hint("1,000", whole=True) == "'1,000' is text; write 1000 or 1, whichever was meant"
    assert number_hint("0,5", whole=True) == ""
    assert number_hint("1e-3") == "'1e-3' is text; remove the quotes"
    assert number_hint("1e3", whole=True) == "'1e3' is text; if a number was meant, write 1000"
    assert number_hint("layer") == number_hint(3) == number_hint(None) == ""


@pytest.mark.parametrize(("text", "written"), [("no", "false"), ("On", "true"), ("TRUE ", "true"), ("layer", "")])
def test_truth_values_of_yaml_1_1(text, written):
    assert (written in truth_hint(text)) if written else truth_hint(text) == ""
