"""Seeds: n, a-b, or a list of single seeds and ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from lnlab.specfile.seeds import MAX_SEEDS, parse_seeds, short_list


@pytest.mark.parametrize(
    ("given_", "seeds"),
    [
        (3, (1, 2, 3)),
        (3.0, (1, 2, 3)),
        ("3-5", (3, 4, 5)),
        (" 0 - 2 ", (0, 1, 2)),
        ([7], (7,)),
        ([5, "8-9", 1], (5, 8, 9, 1)),
        ((1, 2), (1, 2)),
    ],
)
def test_every_form_gives_its_seeds(given_, seeds):
    assert parse_seeds(given_) == seeds


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (0, "at least one seed"),
        (-1, "write a number"),
        (1.5, "write a number"),
        (True, "write a number"),
        ("five", "write a number"),
        ("3", "write a number"),
        (None, "write a number"),
        ({}, "write a number"),
        ([], "at least one seed"),
        ([1, "x"], "write a number"),
        ([float("nan")], "write a number"),
        ("5-3", "write 3-5"),
        ([1, "1-3"], "seed 1 is given twice"),
        (MAX_SEEDS + 1, "at most"),
        (10**300, "write a number"),
        ("1-99999999999", "at most"),
        (["1-600000", "700000-1400000"], "at most"),
    ],
)
def test_anything_else_is_refused_with_what_would_do(wrong, why):
    with pytest.raises(PydanticCustomError, match=why):
        parse_seeds(wrong)


@given(st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=20, unique=True))
def test_a_list_of_seeds_is_itself(seeds):
    assert parse_seeds(seeds) == tuple(seeds)


@given(st.sets(st.integers(0, 40), min_size=1))
def test_a_short_list_has_its_seeds(seeds):
    assert parse_seeds(short_list(seeds)) == tuple(sorted(seeds))
