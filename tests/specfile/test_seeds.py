"""Seeds: n, a-b, or a list of single seeds and ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from lnlab.specfile.seeds import MAX_SEEDS, parse_seeds, short_list


def test_every_form_gives_its_seeds():
    assert parse_seeds(3) == parse_seeds(3.0) == (1, 2, 3)
    assert [parse_seeds(text) for text in ("3-5", " 0 - 2 ")] == [(3, 4, 5), (0, 1, 2)]
    assert [parse_seeds(many) for many in ([7], [5, "8-9", 1], (1, 2))] == [(7,), (5, 8, 9, 1), (1, 2)]


NO_SEEDS = {
    "at least one seed": (0, []),
    "write a number": (-1, 1.5, True, "five", "3", None, {}, [1, "x"], [float("nan")], 10**300),
    "write 3-5": ("5-3",),
    "seed 1 is given twice": ([1, "1-3"],),
    "at most": (MAX_SEEDS + 1, "1-99999999999", ["1-600000", "700000-1400000"]),
}


@pytest.mark.parametrize("why", NO_SEEDS)
def test_anything_else_is_refused_with_what_would_do(why):
    for wrong in NO_SEEDS[why]:
        with pytest.raises(PydanticCustomError, match=why):
            parse_seeds(wrong)


@given(st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=20, unique=True))
def test_a_list_of_seeds_is_itself(seeds):
    assert parse_seeds(seeds) == tuple(seeds)


@given(st.sets(st.integers(0, 40), min_size=1))
def test_a_short_list_has_its_seeds(seeds):
    assert parse_seeds(short_list(seeds)) == tuple(sorted(seeds))
