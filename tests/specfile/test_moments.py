"""When a probe looks: the forms are closed, and the steps they mean are exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from lnlab.specfile.moments import due_count, due_steps, parse_at

EVERY_FORM = ("init", "end", [0], [3, 1], {"every": 5}, {"log": 7}, {"epochs": 1})
NO_FORM = ("begin", [], ["begin"], ["init", -1], [-1], [True], [1.5], {"every": 0}, {"each": 1}, {}, 3, None)


def test_the_forms_are_closed():
    assert [parse_at(at) for at in EVERY_FORM] == [*EVERY_FORM]
    for at in (*NO_FORM, {"every": 1, "log": 2}):
        with pytest.raises(PydanticCustomError, match="write init, end"):
            parse_at(at)


@pytest.mark.parametrize(
    ("at", "steps", "moments"),
    [
        ("init", 10, (0,)), ("end", 10, (10,)), ("end", 0, (0,)), ([3, 1, 3], 10, (1, 3)),
        (parse_at(["init", "end"]), 10, (0, 10)), (parse_at(["end", 4, "init"]), 4, (0, 4)),
        (parse_at(["init", "end"]), 0, (0,)), ({"every": 4}, 10, (0, 4, 8)), ({"every": 4}, 0, (0,)),
        ({"log": 4}, 1000, (1, 10, 100, 1000)), ({"log": 1}, 1000, (1000,)), ({"log": 50}, 3, (1, 2, 3)),
    ],
)  # fmt: skip
def test_the_steps_that_each_form_means(at, steps, moments):
    assert tuple(due_steps(at, steps)) == moments


@pytest.mark.parametrize(
    ("at", "steps", "why"), [([11], 10, "beyond the end"), ({"epochs": 1}, 10, "epochs"), ({"log": 3}, 0, "has none")]
)
def test_moments_that_a_run_does_not_have(at, steps, why):
    with pytest.raises(ValueError, match=why):
        due_steps(at, steps)


@given(st.integers(1, 40), st.integers(1, 10_000))
def test_logarithmic_steps_begin_at_one_end_at_the_end_and_rise(number, steps):
    found = due_steps({"log": number}, steps)
    assert found[-1] == steps
    assert found == tuple(sorted(set(found)))
    assert len(found) <= number
    assert number == 1 or found[0] == 1


def test_a_rule_of_any_length_takes_no_memory():
    due = due_steps({"every": 1}, 10**15)
    assert (len(due), due[0], due[-1]) == (10**15 + 1, 0, 10**15)
    assert 123_456_789_012 in due


@given(
    st.one_of(
        st.just("end"),
        st.lists(st.integers(0, 300), min_size=1, max_size=9, unique=True),
        st.fixed_dictionaries({"every": st.integers(1, 90)}),
        st.fixed_dictionaries({"log": st.integers(1, 90)}),
        st.fixed_dictionaries({"epochs": st.integers(1, 9)}),
    ),
    st.integers(300, 2_000),
    st.floats(1, 90),
)
def test_what_is_counted_is_never_less_than_what_is_written_out(at, steps, epoch):
    assert due_count(at, steps, epoch) >= len(due_steps(at, steps, epoch))
