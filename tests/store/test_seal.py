"""A sealed value is read back to the bit, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.errors import StoreError
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json, read_bytes, to_checksummed_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, st.data())
def test_one_flipped_bit_anywhere_is_found(value, data):
    content = bytearray(to_checksummed_json(value))
    assert from_checksummed_json(bytes(content), "x") == value
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptFile):
        from_checksummed_json(bytes(content), "x")


@given(JSON, st.data())
def test_a_file_cut_short_anywhere_is_found(value, data):
    content = to_checksummed_json(value)
    with pytest.raises(CorruptFile):
        from_checksummed_json(content[: data.draw(st.integers(0, len(content) - 1))], "x")


def test_what_cannot_be_read_says_why(tmp_path, monkeypatch, golden):
    with pytest.raises(CorruptFile, match="is missing"):
        read_bytes(tmp_path / "gone")
    with golden.raises(CorruptFile):
        read_bytes(tmp_path)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "read_bytes", refuse)
    with golden.raises(StoreError):
        read_bytes(tmp_path / "closed")
