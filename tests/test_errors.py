"""Problems say where, what and what would do, in one line."""

import pickle

import pytest

from lnlab.errors import LabError, Problem, SpecError, closest, nearest


def test_a_problem_is_one_line_of_place_cause_and_remedy():
    assert str(Problem("a.yaml:3:1", "no key is called 'nrom'", "did you mean 'norm'?")) == (
        "a.yaml:3:1: no key is called 'nrom'; did you mean 'norm'?"
    )
    assert str(Problem("", "the store is full")) == "the store is full"


def test_a_path_with_a_line_break_or_with_what_a_terminal_obeys_stays_in_its_line():
    text = str(Problem("a\nb\x1b[31m\r\x7f.yaml", "there is no such file"))
    assert text == r"a\nb\x1b[31m\r\x7f.yaml: there is no such file"


def test_an_error_keeps_its_problems_on_the_way_between_processes():
    error = SpecError(Problem("a", "b", "c"), Problem("d", "e"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is SpecError
    assert again.problems == error.problems
    assert str(again) == "a: b; c\nd: e"
    assert isinstance(again, LabError)


def test_the_nearest_word_is_named_with_all_that_are_known():
    assert nearest("rsm", ["rms", "layer"]) == "did you mean 'rms'? (known: layer, rms)"
    assert nearest("RMS", ["rms", "layer"]) == "did you mean 'rms'? (known: layer, rms)"
    assert nearest("qqqq", ["rms", "layer"]) == "known: layer, rms"
    assert nearest("adam", []) == "none is known yet"


@pytest.mark.parametrize(
    ("word", "meant"), [("rl", "lr"), ("fo", "of"), ("ot", "to"), ("lyaers", "layers"), ("rsm", "rms"), ("xy", None)]
)
def test_exchanged_letters_are_one_edit(word, meant):
    assert closest(word, ["lr", "of", "to", "layers", "rms"]) == meant
