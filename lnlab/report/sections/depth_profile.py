"""A quantity along the layers, one line for each variant: where in the stack it grows or falls."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import polars as pl

from lnlab.analyse.statistics.intervals import student
from lnlab.keys import Json
from lnlab.report.charts import line_charts, theme
from lnlab.report.charts.axes import levels, linear, logarithmic
from lnlab.report.charts.downsample import thin
from lnlab.report.data.labels import ALONE
from lnlab.report.data.series import Gathered, gather, replicates
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.wording import definition, listing, number, plain, short, straight, times, unit
from lnlab.report.words.wording import quantity as called
from lnlab.tables import Results


@sections.register("depth_profile")
def depth_profile(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "layer",
    scale: Literal["log", "linear"] = "log",
    lines: list[tuple[float, float]] | None = None,
) -> Section:
    """``mean over seeds of the quantity at x, one line a variant``: with the 95 % Student interval as a band.

    ``lines`` are pairs [a, b]: straight lines a + b x, bounds for example, to compare with.
    """
    log = scale == "log"
    found = gather(results, quantity, where or {}, x, log=log, panels=True)
    if found.seeds.is_empty():
        finding = f"Nothing of the {called(quantity)} has been measured yet"
        return Section(finding, missing=" ".join((found.missing, *found.left_out)).strip(), rows=found.rows)
    finding = _finding(found, quantity, x, where or {}, log=log)
    chart = _chart(found, quantity, x, finding, lines or [], log=log)
    return Section(finding, (chart,), (), found.missing, found.rows)


def _chart(
    found: Gathered, quantity: str, x: str, finding: str, lines: Sequence[tuple[float, float]], *, log: bool
) -> Chart:
    drawn = [row for line in lines for row in _line(found, line, "l" if x == "layer" else "x")]
    spans = [v for c in ("estimate", "low", "high") for v in found.points[c].drop_nulls() if math.isfinite(v)]
    spans += [row["y"] for row in drawn]
    title = unit(quantity)
    y = logarithmic(f"{title} (log scale)", [v for v in spans if v > 0]) if log else linear(title, spans)
    ground = "layer (1 = next to the input)" if x == "layer" else _short(x)
    across = levels(ground, found.points["x"], room=0.12 if drawn else 0.02)
    panel = {"panel": "panel"} if found.panels else {}
    band = {"estimate": called(quantity), "low": "95 % low", "high": "95 % high", "n": "seeds"}
    return Chart(
        line_charts.profile(found.panels, across, y, theme.look(found.names, found.families), drawn),
        found.points,
        found.seeds,
        {**panel, "series": "variant", "x": _short(x), **band},
        f"Line chart of the {title}, against the {across.title}. {finding}.",
        " ".join((_caption(found, quantity, x, lines, log=log), *found.left_out, thin(found.points)[1])).strip(),
        log,
    )


def _short(x: str) -> str:
    return x.rpartition(".")[2].replace("_", " ")


def _line(found: Gathered, line: tuple[float, float], letter: str) -> list[dict[str, Json]]:
    """``y = a + b x`` at every x that is drawn."""
    label = straight(*line, letter)
    xs = found.points["x"].unique().sort().to_list()
    return [{"law": label, "label": label, "x": x, "y": line[0] + line[1] * x, "last": x == xs[-1]} for x in xs]


def _caption(found: Gathered, quantity: str, x: str, lines: Sequence[tuple[float, float]], *, log: bool) -> str:
    mean, taken = ("geometric mean", " on the logarithmic scale") if log else ("mean", "")
    n = replicates(found.points)
    band = f"the band is its 95 % Student interval{taken} ({n})" if found.points["low"].count() else "one seed, no band"
    letter = "l" if x == "layer" else "x"
    said = listing(straight(a, b, letter) for a, b in lines)
    dashed = f" {'Thin dashed lines are' if len(lines) > 1 else 'The thin dashed line is'} {said}." if lines else ""
    return f"{definition(quantity)} by {_short(x)}. Lines join the {mean} over seeds; {band}.{dashed}"


def _finding(found: Gathered, quantity: str, x: str, where: Mapping[str, Json], *, log: bool) -> str:
    """What each line does from its first to its last position, in words; the first says from where to where."""
    place = f"{where['stack']} {x}" if isinstance(where.get("stack"), str) and x == "layer" else _short(x)
    first, last = (plain(end) for end in (found.seeds["x"].min(), found.seeds["x"].max()))
    ends = "from the first to the last" if log else "between the first and the last"
    span, said = f" from {first} to {last} {place}" if "." in x else f" {ends} {place}", []
    for panel in found.panels or (None,):
        for name in found.names:
            who = (f"the {called(quantity)}" if name == ALONE else name) + (f" ({panel})" if panel else "")
            pairs = _ends(found, panel, name)
            said.append(f"{who} {_change(pairs, log=log)}{span}" if pairs else f"{who} has no two positions measured")
            span = "" if pairs else span
    text = "; ".join(said)
    return text[:1].upper() + text[1:]


def _ends(found: Gathered, panel: str | None, name: str) -> list[tuple[float, float]]:
    """The first and the last number of each seed that has both."""
    line = found.seeds.filter(pl.col("panel").eq_missing(pl.lit(panel, pl.String)) & (pl.col("series") == name))
    if line["x"].n_unique() < 2:
        return []
    ends = line.filter(pl.col("x").is_in([line["x"].min(), line["x"].max()])).sort("seed", "x")
    pairs = ends.group_by("seed", maintain_order=True).agg(pl.col("value"))["value"].to_list()
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def _change(pairs: Sequence[tuple[float, float]], *, log: bool) -> str:
    """From first to last, within each seed and then over seeds; a direction only where the interval leaves no other."""
    found = student([last / first if log else last - first for first, last in pairs], log=log)
    level = found.n > 1 and found.low <= (1 if log else 0) <= found.high
    if log:
        return f"stays level ({short(found.estimate)}×)" if level else times(found.estimate)
    first, last = (number(fmean(ends)) for ends in zip(*pairs, strict=True))
    return f"stays level ({last})" if level else f"{'rises' if found.estimate > 0 else 'falls'} from {first} to {last}"
