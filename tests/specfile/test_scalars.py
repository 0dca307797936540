"""Plain scalars mean what the core schema of YAML 1.2 says, not what YAML 1.1 did."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.specfile.scalars import NotPlainData, resolve_plain

NUMBERS = {"1e-3": 0.001, "5e-1": 0.5, "1e+3": 1e3, "1E3": 1e3, ".5": 0.5, "5.": 5.0, "-.5e1": -5.0, "1.10": 1.1}
"""Which YAML 1.1 readers take for text."""
INTEGERS = {"12": 12, "+12": 12, "-7": -7, "012": 12, "0777": 777, "0o17": 15, "0xff": 255, f"{2**63 - 1}": 2**63 - 1}
TEXTS = "no No yes on off y n 1:30 1_000 0b101 1,000 12e 1.2.3 = tRue"
"""Some of which YAML 1.1 readers take for something else."""
WORDS = {"true": True, "True": True, "FALSE": False, "null": None, "~": None, "": None, "NULL": None, "+1.5": 1.5}


@pytest.mark.parametrize("known", [NUMBERS, INTEGERS, WORDS, dict(zip(TEXTS.split(), TEXTS.split(), strict=True))])
def test_a_plain_scalar_is_read_as_yaml_1_2_reads_it(known):
    found = {text: resolve_plain(text) for text in known}
    assert found == known
    assert [type(value) for value in found.values()] == [type(value) for value in known.values()]


REFUSED = {
    "not a finite number": (".nan", ".NaN", ".inf", "-.INF"),
    "too large": ("1e999", "-1e999"),
    "beyond 64 bits": ("9223372036854775808", "9" * 5000),
    "is a date": ("2024-01-01", "2024-1-1 10:00:00", "2024-01-01T10:00:00Z"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_spec_may_hold_is_refused_with_a_remedy(what):
    for text in REFUSED[what]:
        with pytest.raises(NotPlainData) as caught:
            resolve_plain(text)
        assert what in caught.value.issue.what
        assert caught.value.issue.remedy


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
