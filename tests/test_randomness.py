"""Each draw has an address of its own."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from lnlab.randomness import Draw


def test_an_address_is_the_first_63_bits_of_the_sha256_of_seed_purpose_and_what_kept_apart():
    expected = int.from_bytes(hashlib.sha256(b'[7,"init","encoder",1]').digest()[:8], "big") >> 1
    assert Draw(7)("init", "encoder", 1) == expected
    addresses = {Draw(1)("a", "b"), Draw(1)("ab"), Draw(1)("a", "b", None), Draw(11)("a", "b"), Draw(1)("b", "a")}
    assert len(addresses) == 5


@given(st.integers(0, 10**6), st.text(), st.lists(st.integers() | st.text(), max_size=3))
def test_a_seed_fits_every_generator(seed, purpose, what):
    assert 0 <= Draw(seed)(purpose, *what) < 2**63
