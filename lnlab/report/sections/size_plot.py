"""A quantity against the size of the model on two logarithmic axes, with the power laws that theory offers."""

import math
from collections.abc import Sequence
from typing import Literal

import polars as pl

from lnlab.analyse.intervals import student
from lnlab.analyse.slopes import log_slopes
from lnlab.keys import Json
from lnlab.report import charts, theme
from lnlab.report.gather import Gathered, gather, replicates
from lnlab.report.names import ALONE
from lnlab.report.scales import levels, logarithmic
from lnlab.report.section import Chart, Section, sections
from lnlab.report.thinning import thin
from lnlab.report.wording import definition, interval, listing, plain, power, unit
from lnlab.report.wording import quantity as called
from lnlab.tables import Results

Law = float | Literal["x_sqrt_ln_x"]
"""An exponent, or x √(ln x), the form of a known bound in the width (Xiong et al., 2020, Theorem 1)."""
LETTERS = {"layers": "L", "d model": "d", "length": "n"}


@sections.register("size_plot")
def size_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    over: str = "model.layers",
    laws: list[Law] | None = None,
) -> Section:
    """``log(quantity) against log(size)``: seeds, geometric means, 95 % Student intervals and the laws ``size^b``.

    A law is its exponent, or ``x_sqrt_ln_x`` for size √(ln size); each goes through the mean at the smallest size.
    """
    found = gather(results, quantity, where or {}, over, log=True, panels=False)
    if found.seeds.is_empty():
        finding = f"Nothing of the {called(quantity)} has been measured yet"
        return Section(finding, missing=" ".join((found.missing, *found.left_out)).strip(), rows=found.rows)
    finding = _finding(found, quantity, _size(over))
    return Section(finding, (_chart(found, quantity, _size(over), laws or [], finding),), (), found.missing, found.rows)


def _size(over: str) -> str:
    return over.rpartition(".")[2].replace("_", " ")


def _chart(found: Gathered, quantity: str, size: str, laws: Sequence[Law], finding: str) -> Chart:
    drawn = [row for name in found.names for law in laws for row in _law(found, name, law, size)]
    ends = [v for c in ("low", "high") for v in found.points[c].drop_nulls() if 0 < v < math.inf]
    y = logarithmic(f"{unit(quantity)} (log scale)", [*found.seeds["value"], *ends, *(row["y"] for row in drawn)])
    title = f"{size} of each stack (log scale)" if size == "layers" else f"{size} (log scale)"
    x = levels(title, found.points["x"], log=True, room=0.16)
    numbers = {"estimate": called(quantity), "low": "95 % low", "high": "95 % high", "n": "seeds"}
    return Chart(
        charts.sizes(x, y, theme.look(found.names, found.families), drawn),
        found.points,
        found.seeds,
        {"series": "variant", "x": size, **numbers},
        f"{unit(quantity)}, against the number of {title}. {finding}.",
        " ".join((_caption(found, quantity, size, laws), *found.left_out, thin(found.seeds)[1])).strip(),
        log=True,
    )


def _law(found: Gathered, name: str, law: Law, size: str) -> list[dict[str, Json]]:
    """``y = anchor · f(x)/f(x₀)``, through the estimate at the smallest size."""
    line = found.points.filter(pl.col("series") == name).sort("x")
    label, xs, ys = _called(law, LETTERS.get(size, "x")), line["x"].to_list(), line["estimate"].to_list()
    return [
        {
            "law": f"{name} {law}",
            "label": label,
            "x": x,
            "y": ys[0] * _growth(law, x, xs[0]),
            "last": x == xs[-1],
        }
        for x in xs
    ]


def _growth(law: Law, x: float, start: float) -> float:
    """``f(x) / f(x₀)``."""
    if isinstance(law, str):
        return x / start * math.sqrt(math.log(x) / math.log(start))
    return float((x / start) ** law)


def _called(law: Law, letter: str) -> str:
    return f"{letter}√ln {letter}" if isinstance(law, str) else power(letter, law)


def _caption(found: Gathered, quantity: str, size: str, laws: Sequence[Law]) -> str:
    n = replicates(found.points)
    bars = (
        f"bars are 95 % Student intervals on the logarithmic scale ({n})" if found.points["low"].count() else "no bars"
    )
    marks = f"Small dots are single seeds, large marks geometric means over seeds; {bars}."
    said = listing(_said(law, size) for law in laws)
    dashed = f" Thin dashed lines are {said}, through the mean at the smallest size." if laws else ""
    return f"{definition(quantity)} against {size}. {marks}{dashed}"


def _said(law: Law, size: str) -> str:
    if isinstance(law, str):
        return f"{size} times the root of its logarithm"
    return "a constant" if law == 0 else f"{size} to the power {plain(law)}"


def _finding(found: Gathered, quantity: str, size: str) -> str:
    """The fitted exponent of each series: least squares within each seed, then over seeds."""
    said = []
    for name in found.names:
        who = f"the {called(quantity)}" if name == ALONE else name
        said.append(f"{who} {_law_of(exponents(found.seeds.filter(pl.col('series') == name)))}")
    opening = "With the number of layers" if size == "layers" else f"With {size}"
    return f"{opening}, {'; '.join(said)}"


def _law_of(slopes: Sequence[float]) -> str:
    """What the exponent says: a direction only where its interval leaves no other."""
    if not slopes:
        return "has too few sizes for an exponent"
    found = student(slopes)
    if found.n < 2:
        return f"has the exponent {interval(found.estimate, None, None)} in its only seed"
    verb = "stays level" if found.low <= 0 <= found.high else "rises" if found.estimate > 0 else "falls"
    return f"{verb} (exponent {interval(found.estimate, found.low, found.high)})"


def exponents(seeds: pl.DataFrame) -> list[float]:
    """The slope of log value on log x of every seed that has all sizes, two at least, by ordinary least squares."""
    whole = seeds.filter(pl.len().over("seed") == seeds["x"].n_unique())
    return [float(v) for v in log_slopes(whole, ["seed"], "x", "value").sort("seed")["slope"].drop_nulls()]
