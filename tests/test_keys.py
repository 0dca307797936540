"""Canonical JSON has one text per value, so that equal things have equal keys."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.keys import canonical, digest, digest_bytes

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_the_key_of_a_known_value_is_the_sha256_of_its_canonical_text():
    assert canonical({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'
    assert digest({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert digest_bytes(b"abc") == hashlib.sha256(b"abc").hexdigest()


@given(st.dictionaries(st.text(), values, min_size=2, max_size=6))
def test_the_order_of_a_mapping_does_not_matter(mapping):
    assert digest(dict(reversed(mapping.items()))) == digest(mapping)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_numbers_that_json_has_not_are_refused(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(value)
