"""Lines of a theory: formulas of the horizontal axis, and the factor that a law leaves open."""

import math

import polars as pl
import pytest
from pydantic import ValidationError

from lnlab.report.data.theory import TheoryLine, theory_lines


class Marks:
    """Two series at three places, as far as lines need them."""

    names = ("a", "b")
    points = pl.DataFrame({"series": ["a", "a", "a", "b"], "x": [1.0, 4.0, 9.0, 4.0], "estimate": [3.0, 5.0, 7.0, 2.0]})


@pytest.mark.parametrize(
    ("law", "label", "at_four"),
    [
        ("1 / sqrt(x)", "1/√L", 0.5),
        ("x", "L", 4.0),
        ("1 + 3 * x / 2", "1 + 3L/2", 7.0),
        ("x ** -0.25", "L^−0.25", 4**-0.25),
        ("1 - exp(-x / 2)", "1 − exp(−L/2)", 1 - math.exp(-2)),
        (0.155, "0.155", 0.155),
    ],
)
def test_a_formula_has_its_values_and_is_written_with_the_letter_of_the_axis(law, label, at_four):
    line = TheoryLine(law=law)
    assert line.label("L") == label
    assert line.at([4.0]) == pytest.approx([at_four])
    assert TheoryLine(law=law, called="bound").label("L") == "bound"


@pytest.mark.parametrize("law", ["1 / y", "2 *", "y", "sqrt(2)", "x[layer: 1]", "__import__('os')"])
def test_what_is_no_formula_of_x_is_refused(law):
    with pytest.raises(ValidationError, match=r"write .* x"):
        TheoryLine(law=law)


def corners(*lines, log=True):
    rows, notes = theory_lines(lines, Marks(), "x", log=log)
    return {(row.get("series"), row["x"]): row["y"] for row in rows}, notes


def test_a_law_without_its_constant_goes_through_the_first_mean_of_each_series():
    found, notes = corners(TheoryLine(law="sqrt(x)", through="first", source="Lemma 2"))
    assert found == pytest.approx({("a", 1): 3, ("a", 4): 6, ("a", 9): 9, ("b", 4): 2})
    assert notes == ["Thin dashed line: √x (Lemma 2), through the mean at the smallest x."]


def test_a_law_with_its_constant_is_drawn_once_as_it_stands():
    found, _ = corners(TheoryLine(law="x / 2"), TheoryLine(law=1))
    assert {place: y for place, y in found.items() if place[1] == 4} == {(None, 4): 1.0}
    rows, notes = theory_lines([TheoryLine(law="x / 2"), TheoryLine(law=1)], Marks(), "x")
    assert [(row["x"], row["y"]) for row in rows] == [(1, 0.5), (4, 2), (9, 4.5), (1, 1), (4, 1), (9, 1)]
    assert [row["last"] for row in rows] == [False, False, True] * 2
    assert notes == ["Thin dashed lines: x/2 and 1."]


def test_the_middle_is_that_of_the_logarithms_of_all_marks():
    found, _ = corners(TheoryLine(law="x", through="middle"))
    places = [x for _, x in found]
    assert (min(places), max(places)) == pytest.approx((1, 9))
    middle = (1 * 4 * 9 * 4) ** 0.25
    assert found[None, places[0]] == pytest.approx((3 * 5 * 7 * 2) ** 0.25 / middle)


def test_what_an_axis_cannot_hold_is_not_drawn():
    assert corners(TheoryLine(law="sqrt(log(x))", through="first"))[0] == {("b", 4): pytest.approx(2)}  # ln 1 is 0
    assert [x for _, x in corners(TheoryLine(law="x - 4"))[0]] == [9]
    assert [x for _, x in corners(TheoryLine(law="x - 4"), log=False)[0]] == [1, 4, 9]
    assert [x for _, x in corners(TheoryLine(law="1 / (x - 4)"), log=False)[0]] == [1, 9]
