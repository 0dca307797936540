"""Plain scalars mean what the core schema of YAML 1.2 says, not what YAML 1.1 did."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.specfile.scalars import NotPlainData, resolve_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # numbers that YAML 1.1 readers take for text
        ("1e-3", 0.001),
        ("5e-1", 0.5),
        ("1e+3", 1000.0),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e1", -5.0),
        ("1.10", 1.1),
        ("+1.5", 1.5),
        # integers
        ("12", 12),
        ("+12", 12),
        ("-7", -7),
        ("012", 12),
        ("0777", 777),
        ("0o17", 15),
        ("0xff", 255),
        ("9223372036854775807", 2**63 - 1),
        # text that YAML 1.1 readers take for something else
        ("no", "no"),
        ("No", "No"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("n", "n"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0b101", "0b101"),
        ("1,000", "1,000"),
        ("12e", "12e"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("tRue", "tRue"),
        # truth values and null
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("NULL", None),
    ],
)
def test_a_plain_scalar_is_read_as_yaml_1_2_reads_it(text, value):
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (".nan", "not a finite number"),
        (".NaN", "not a finite number"),
        (".inf", "not a finite number"),
        ("-.INF", "not a finite number"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("9223372036854775808", "beyond 64 bits"),
        ("9" * 5000, "beyond 64 bits"),
        ("2024-01-01", "is a date"),
        ("2024-1-1 10:00:00", "is a date"),
        ("2024-01-01T10:00:00Z", "is a date"),
    ],
)
def test_what_no_spec_may_hold_is_refused_with_a_remedy(text, what):
    with pytest.raises(NotPlainData) as caught:
        resolve_plain(text)
    issue = caught.value.issue
    assert what in issue.what
    assert issue.remedy


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_survives_being_written_and_read(value):
    assert resolve_plain(repr(value)) == value


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_64_bit_integer_survives(value):
    assert resolve_plain(str(value)) == value


@given(st.text(max_size=12))
def test_any_text_is_plain_data_or_refused(text):
    try:
        value = resolve_plain(text)
    except NotPlainData:
        return
    assert value is None or isinstance(value, bool | int | str) or math.isfinite(value)
