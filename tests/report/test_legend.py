"""Legends show lines as they are drawn: dashes and marks; and what a series is decides its colour."""

import re

import pytest

from lnlab.report.charts import legend
from lnlab.report.theme import COLOURS, DASHES, SERIES_COLOURS, SHAPES, series_style


def outline(path):
    """The corners of every piece of a path, in pixels; of a circle its two ends."""
    pieces = [piece for piece in path.split("Z") if piece]
    return [[(5 * float(x), 5 * float(y)) for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", p)] for p in pieces]


@pytest.mark.parametrize("dash", DASHES)
def test_the_dashes_of_a_symbol_are_those_of_the_line(dash):
    strokes = outline(legend.symbol_path(dash, None))
    spans = [(min(x for x, _ in stroke), max(x for x, _ in stroke)) for stroke in strokes]
    assert spans[0][0] == pytest.approx(-18, abs=0.01)
    assert spans[-1][1] <= 18.01
    if len(dash) == 2 and not dash[1]:
        assert spans == [(pytest.approx(-18), pytest.approx(18))]
    else:
        drawn = [b - a for a, b in spans[:-1]]
        assert drawn == pytest.approx([dash[2 * n % len(dash)] for n in range(len(drawn))], abs=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_mark_stands_in_the_middle_and_turns_as_the_line_does(shape):
    """Pieces of one path that turn the same way have no hole where they overlap (non-zero winding)."""
    line, *mark = outline(legend.symbol_path((1, 0), shape))
    assert len(mark) == 1
    areas = [
        sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(piece, piece[1:] + piece[:1], strict=True))
        for piece in (line, *mark)
    ]
    assert areas[0] > 0
    assert areas[1] > 0 or shape == "circle"
    assert shape != "circle" or "0,1,1," in legend.symbol_path((1, 0), shape), "the sweep of a clockwise arc"


def test_a_placement_and_a_norm_have_one_colour_wherever_they_stand():
    for names in (["Post-LN", "Pre-LN"], ["Pre-LN", "Admin", "Post-LN after warm-up"], ["Pre-LN, warm-up", "Adam"]):
        style = series_style(names, range(len(names)))
        for name, colour in zip(style.series, style.colours, strict=True):
            own = next((SERIES_COLOURS[k] for k in SERIES_COLOURS if re.match(rf"{k}\b", name)), None)
            assert colour == own or (own is None and colour not in SERIES_COLOURS.values()) or name == "Adam"
    mixed = series_style(["Adam", "Post-LN", "SGD", "Pre-LN"], range(4)).colours
    assert mixed[1] == SERIES_COLOURS["Post-LN"]
    assert len(set(mixed)) == 4, "what has no colour of its own takes one that is left"
    assert series_style(["no warm-up", "warm-up"], [0, 1]).colours == COLOURS[:2]
    assert series_style(["warm-up", "no warm-up"], [0, 1]).colours == (COLOURS[1], COLOURS[0])
    assert series_style(["No norm", "LayerNorm"], [0, 1]).colours == ("#000000", "#009E73")
    assert series_style(["no warm-up", "warm-up 40", "warm-up 300"], range(3)).colours == COLOURS[:3]
    other = series_style(["Post-LN", *(f"Post-LN, {word}" for word in "abc"), "T-Fixup"], range(5)).colours
    assert SERIES_COLOURS["Pre-LN"] not in other, "what is no placement has not the colour of one"
    both = series_style(["warm-up 300", "Pre-LN", "Post-LN", "no warm-up"], range(4)).colours
    assert both[1:3] == (SERIES_COLOURS["Pre-LN"], SERIES_COLOURS["Post-LN"])
    assert len(set(both)) == 4
