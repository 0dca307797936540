"""A quantity against a size, and through it the laws that compete: which of them tells a size it was not fitted to?"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from lnlab.claims.kinds.fit import CLOSE
from lnlab.claims.laws import Law, left_out_errors, predicted
from lnlab.keys import Json
from lnlab.report.charts import line_charts, theme
from lnlab.report.charts.axes import levels, linear
from lnlab.report.data.labels import ALONE
from lnlab.report.data.series import Gathered, gather, replicates
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.sizes import size
from lnlab.report.words.wording import definition, listing, unit
from lnlab.report.words.wording import quantity as called
from lnlab.tables import Results

_Word = Literal["linear", "logarithmic", "exponential"]
_LEAST = 4
"""Sizes that are needed to leave one out."""
_STEPS = 60
"""Pieces of a drawn curve."""


@sections.register("law_plot")
def law_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    over: str = "model.sublayers",
    laws: list[_Word] | None = None,
    scale: Literal["linear", "log"] = "linear",
) -> Section:
    """``a + b x and a + b log x`` beside the quantity at x: and by how much each misses what it has not seen.

    Marks are geometric means over seeds with 95 % Student intervals on a linear axis; ``scale`` is that of x. ``laws``
    are linear and logarithmic if nothing is said, fitted in log y: drawn through the means, and judged as by the claim
    ``fit``, by levels left out within each seed.
    """
    found = gather(results, quantity, where or {}, over, log=True, panels=False)
    if found.seeds.is_empty():
        finding = f"Nothing of the {called(quantity)} has been measured yet"
        return Section(finding, missing=" ".join((found.missing, *found.left_out)).strip(), rows=found.rows)
    words = laws or ["linear", "logarithmic"]
    finding = _finding(found, quantity, over, words)
    chart = _chart(found, quantity, over, words, finding, log=scale == "log")
    return Section(finding, (chart,), (), found.missing, found.rows)


def _chart(found: Gathered, quantity: str, over: str, words: Sequence[_Word], finding: str, *, log: bool) -> Chart:
    across = levels(f"{size(over).axis}{' (log scale)' if log else ''}", found.points["x"], log=log)
    drawn = [row for name in found.names for word in words for row in _curve(found, name, word, log=log)]
    ends = [v for c in ("estimate", "low", "high") for v in found.points[c].drop_nulls() if math.isfinite(v)]
    y = linear(unit(quantity), [0.0, *ends])
    numbers = {"estimate": called(quantity), "low": "95 % low", "high": "95 % high", "n": "seeds"}
    return Chart(
        line_charts.fits(across, y, theme.look(found.names, found.families), drawn, words),
        found.points,
        found.seeds,
        {"series": "variant", "x": size(over).axis, **numbers},
        f"{unit(quantity)}, against {size(over).said}. {finding}.",
        " ".join((_caption(found, quantity, over, words), *found.left_out)),
        log=True,
    )


def _complete(found: Gathered, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of a series, and its numbers (seeds, sizes) of the seeds that have all of them."""
    line = found.seeds.filter(pl.col("series") == name)
    x = line["x"].unique().sort()
    whole = line.filter(pl.len().over("seed") == len(x)).sort("seed", "x")
    return x.to_numpy(), whole["value"].to_numpy().reshape(-1, len(x))


def _curve(found: Gathered, name: str, word: _Word, *, log: bool) -> list[dict[str, Json]]:
    """The law as fitted to the geometric means over seeds; nothing where there are too few sizes."""
    x, matrix = _complete(found, name)
    if x.size < _LEAST or not len(matrix):
        return []
    at = np.geomspace(x[0], x[-1], _STEPS + 1) if log else np.linspace(x[0], x[-1], _STEPS + 1)
    values = np.exp(predicted(Law(word), x, np.log(matrix).mean(0), at))
    return [{"series": name, "law": word, "x": float(a), "y": float(v)} for a, v in zip(at, values, strict=True)]


def _misses(found: Gathered, name: str, words: Sequence[_Word]) -> dict[_Word, float]:
    """By law the median relative error at left-out sizes, over sizes and seeds; empty where there are too few sizes."""
    x, matrix = _complete(found, name)
    if x.size < _LEAST or not len(matrix):
        return {}
    return {word: float(np.median(np.abs(np.expm1(left_out_errors(Law(word), x, matrix))))) for word in words}


def _finding(found: Gathered, quantity: str, over: str, words: Sequence[_Word]) -> str:
    said = []
    for name in found.names:
        who = f"the {called(quantity)}" if name == ALONE else name
        said.append(f"{who} {_said(_misses(found, name, words))}")
    return f"With {size(over).said}, {'; '.join(said)}"


def _said(missed: Mapping[_Word, float]) -> str:
    """Which law comes nearest, and by how much each misses a size that is left out."""
    if not missed:
        return "has too few sizes for a law"
    best, *others = sorted(missed, key=lambda word: missed[word])
    if missed[best] > CLOSE:
        told = listing(f"{word} by {missed[word]:.0%}" for word in missed)
        return f"follows no law: a size left out is missed {told}".replace("%", " %")
    rest = f", {listing(f'{word} by {missed[word]:.0%}' for word in others)}" if others else ""
    return f"is {best}: a size left out is missed by {missed[best]:.0%}{rest}".replace("%", " %")


def _caption(found: Gathered, quantity: str, over: str, words: Sequence[_Word]) -> str:
    n = replicates(found.points)
    bars = f"bars are 95 % Student intervals taken on the logarithmic scale ({n})"
    bars = bars if found.points["low"].count() else "one seed, no bars"
    return (
        f"{definition(quantity)} against {size(over).said}, on a linear axis. Marks are geometric means over seeds; "
        f"{bars}. Thin lines are the {listing(words)} law as fitted to the means, in the colour of their series. The "
        "heading tells the median error of each law, over seeds, at a size that it was not fitted to."
    )
