"""What a theory says beside a measurement: formulas of the horizontal axis, drawn as dashed lines with their source."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lnlab.parameters import Parameters
from lnlab.report.data.figure import FigureData
from lnlab.report.words.wording import format_value, join_words
from lnlab.select.aligned import value_of
from lnlab.specfile.expressions import Expression, NoExpression, Operand, parse_expression

_PLACE = Operand("x")
_GOES = {"first": ", through the mean at the smallest x", "middle": ", through the middle of all marks"}
_CORNERS = 25
"""Places of a line through the middle of marks, which stand anywhere."""


def _of_x(text: str) -> str:
    try:
        operands = _expression(text).operands
    except NoExpression as error:
        raise _form(f"write a formula of x: {error.issue.what}; {error.issue.remedy}") from error
    if operands != (_PLACE,):
        raise _form(f"write it in x, the horizontal axis, in place of {next(o for o in operands if o != _PLACE)}")
    return text


def _form(remedy: str) -> PydanticCustomError:
    return PydanticCustomError("form", "{remedy}", {"remedy": remedy})


class TheoryLine(Parameters):
    """A line that a theory draws: a formula of x or a number, what it is called, its source, and what it goes through.

    Without ``through`` it has no freedom. A law that leaves its constant open goes through each series' mean at the
    smallest x (``first``), or through the middle of all marks (``middle``).
    """

    law: float | Annotated[str, AfterValidator(_of_x)] = Field(description="a number, or a formula of x")
    called: str | None = Field(None, description="what stands at its end; the formula if not given", min_length=1)
    source: str | None = Field(None, description="who says so, for the caption", min_length=1)
    through: Literal["first", "middle"] | None = Field(
        None, description="for a law without its constant: each first mean, or the middle of all marks"
    )

    def at(self, places: Sequence[float]) -> list[float]:
        """The values at some places."""
        if not isinstance(self.law, str):
            return [self.law] * len(places)
        frame = pl.DataFrame({"x": [float(place) for place in places]})
        return frame.select(value=value_of(_expression(self.law), {_PLACE: pl.col("x")}))["value"].to_list()

    def label(self, letter: str) -> str:
        """What stands at its end: as it is called, or the formula with the letter of the axis."""
        if self.called is not None:
            return self.called
        if not isinstance(self.law, str):
            return "constant" if self.through else format_value(self.law)
        text = _expression(self.law).spelled(lambda _: letter)
        for written, read in ((r"sqrt\((\w+)\)", r"√\1"), (r" ([/^]) ", r"\1"), (r"(\d) · (?=\D)", r"\1")):
            text = re.sub(written, read, text)
        return text


def _expression(law: str) -> Expression:
    # what a spec calls an expression is more than one name
    return parse_expression(law) if law.strip() != "x" else Expression(_PLACE, (_PLACE,))


def theory_lines(
    theory: Iterable[TheoryLine], data: FigureData, letter: str, *, log: bool = True
) -> tuple[list[dict[str, Any]], list[str]]:
    """The corners of dashed lines, as ``Lines`` takes them, and what the caption says of them.

    Args:
        theory: the lines.
        data: what they are drawn beside.
        letter: of the horizontal axis.
        log: whether the vertical axis is logarithmic. Values that it cannot hold are not drawn.
    """
    rows: list[dict[str, Any]] = []
    said: dict[str, list[str]] = {}
    for line in theory:
        label = line.label(letter)
        for series, places, factor in _courses(line, data):
            points = [(x, factor * y) for x, y in zip(places, line.at(places), strict=True) if y > 0 or not log]
            points = [(x, y) for x, y in points if math.isfinite(y)]
            named = {**series, "law": f"{series.get('series', '')} {label}", "label": label}
            rows += [{**named, "x": x, "y": y, "last": n == len(points)} for n, (x, y) in enumerate(points, 1)]
        text = f"{label} ({line.source})" if line.source else label
        said.setdefault(_GOES[line.through] if line.through else "", []).append(text)
    notes = [
        f"Thin dashed line{'s' if len(texts) > 1 else ''}: {join_words(texts)}{goes}." for goes, texts in said.items()
    ]
    return rows, notes


def _courses(line: TheoryLine, data: FigureData) -> Iterable[tuple[Mapping[str, str], list[float], float]]:
    """Where a line is drawn and the factor that its law leaves open: once, or once for each series."""

    def factor(x: float, y: float) -> float:
        (own,) = line.at([x])
        return y / own if own else math.nan

    marks = [
        (line_of, float(x), float(y)) for line_of, x, y in data.points.select("series", "x", "estimate").iter_rows()
    ]
    places = sorted({x for _, x, _ in marks})
    if line.through == "first":
        for name in data.names:
            if own := sorted((x, y) for series, x, y in marks if series == name):
                yield {"series": name}, [x for x, _ in own], factor(*own[0])
    elif line.through == "middle":
        corners = [places[0] * (places[-1] / places[0]) ** (n / (_CORNERS - 1)) for n in range(_CORNERS)]
        yield {}, corners, factor(geometric_mean(x for _, x, _ in marks), geometric_mean(y for *_, y in marks))
    else:
        yield {}, places, 1.0
