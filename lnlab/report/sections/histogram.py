"""How large the entries of gradients and updates are, step by step: histograms side by side, one panel a variant."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated

import polars as pl
from pydantic import Field

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.keys import Json
from lnlab.report.charts.histogram_over_steps import histogram_chart
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.histograms import MIN_DRAWN_SHARE, HistogramShares, collect_histograms
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.quantity_words import quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import MEAN
from lnlab.report.words.wording import (
    MAX_NAMED,
    count_noun,
    format_short,
    growth_in_words,
    in_variant,
    is_level,
    join_words,
)
from lnlab.tables import Results


@sections.register("histogram")
def histogram(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    octaves: Annotated[int, Field(ge=1, le=8)] = 1,
) -> Section:
    """``share of the elements in [2^(ok), 2^(o(k+1))) after each update``: darker is more, one panel per variant.

    Of a quantity in the table of histograms; the elements of all sites that ``where`` leaves are taken together. The
    four stored bins of an octave are joined, and ``octaves`` of them make a row. The line is the median element.
    """
    histograms = collect_histograms(results, quantity, where or {}, octaves)
    if histograms.seeds.is_empty():
        return histograms.unmeasured(quantity)
    finding = _finding(histograms, quantity)
    return histograms.section(finding, _chart(histograms, quantity, octaves, finding))


def _chart(histograms: HistogramShares, quantity: str, octaves: int, finding: str) -> Chart:
    bounds = histograms.points.select(
        low=pl.col("line").min(), high=pl.col("line").max(), top=pl.col("estimate").max()
    ).row(0)
    title = quantity_with_unit(quantity)
    panels = histograms.panels
    spec = histogram_chart(panels, title, bounds[:2], octaves, bounds[2], _log_medians(histograms))
    row = f"row, from 2 to the power of {octaves} times it" if octaves > 1 else "row, from 2 to that power"
    return histograms.chart(
        spec,
        {"panel": "variant", "line": row, "x": "update", **estimate_headings("share of the elements")},
        alt=f"Histograms of the {title}, by update, for {join_words(panels)}. {finding}.",
        caption=_caption(histograms, quantity, octaves),
    )


def _log_medians(histograms: HistogramShares) -> dict[str, float]:
    """By ``panel|x`` the logarithm to base 2 of the geometric mean over seeds of the median."""
    groups = histograms.medians.group_by("panel", "x", maintain_order=True).agg("value")
    positive = ((panel, x, values) for panel, x, values in groups.iter_rows() if _drawable(values))
    return {f"{panel}|{x}": sum(map(math.log2, values)) / len(values) for panel, x, values in positive}


def _drawable(values: list[float]) -> bool:
    return all(value > 0 and math.isfinite(value) for value in values)


def _caption(histograms: HistogramShares, quantity: str, octaves: int) -> str:
    high = "an octave, a factor of 2" if octaves == 1 else f"{octaves} octaves, a factor of {2**octaves}"
    sentences = [
        f"{quantity_definition(quantity)}. A column is the state after so many updates, a row {high} "
        "(four stored bins each "
        "octave). Shades are shares of all elements, on one scale. "
        f"{MEAN.sentence(histograms.points, 'Shades')} Line: median element, geometric mean over seeds."
    ]
    zeros = any(histograms.zeros.values())
    sentences.append(f"Exactly 0, and in no row: {_shares(histograms.zeros)}." if zeros else "No element is 0.")
    if histograms.odd:
        sentences.append(f"Not finite, and in no row: {_shares(histograms.odd)}.")
    sentences.append(
        f"Rows at either end that hold less than {MIN_DRAWN_SHARE:.1%} everywhere are not drawn.".replace("%", " %")
    )
    if histograms.dropped:
        verb = "is" if histograms.dropped == 1 else "are"
        sentences.append(f"{count_noun(histograms.dropped, 'step')} between those drawn {verb} left out.")
    return " ".join(sentences)


def _shares(shares: Mapping[str, float]) -> str:
    """``at most 10 % of the elements in Post-LN``."""
    texts = {name: f"at most {format_short(100 * share)} %" for name, share in shares.items() if share}
    if len(set(texts.values())) == 1 and len(texts) == len(shares):
        return f"{next(iter(texts.values()))} of the elements of a step"
    return join_words(f"{share} {in_variant(name)}" for name, share in texts.items())


def _finding(histograms: HistogramShares, quantity: str) -> str:
    """What the median does from the first step to the last, in each variant."""
    steps = histograms.medians["x"].unique().sort().to_list()
    by_panel = {name: histograms.medians.filter(pl.col("panel") == name) for name in histograms.panels}
    changes = {name: _change(medians, steps[0], steps[-1]) for name, medians in by_panel.items()}
    span = (
        f"From update {steps[0]} to update {steps[-1]}" if len(steps) > 1 else f"After {count_noun(steps[0], 'update')}"
    )
    what = f"{span}, the median {quantity_name(quantity)}"
    if len(changes) > MAX_NAMED:
        words = (re.split(r" \(| to | [\d.]+×| by a factor", change)[0] for change in changes.values())
        verbs = Counter(words)
        return f"{what} {join_words(f'{verb} in {k} of {len(changes)} variants' for verb, k in verbs.items())}"
    texts = (change if name == SINGLE_SERIES else f"{change} {in_variant(name)}" for name, change in changes.items())
    return f"{what} {join_words(texts)}"


def _change(medians: pl.DataFrame, first: int, last: int) -> str:
    """From first to last within each seed and then over seeds; a direction only where the interval leaves no other."""
    values = {x: dict(medians.filter(pl.col("x") == x).select("seed", "value").iter_rows()) for x in (first, last)}
    pairs = [(values[first][seed], values[last][seed]) for seed in values[first] if seed in values[last]]
    if not pairs or not all(_drawable([*pair]) for pair in pairs):
        return "is 0" if pairs and all(end == 0 for _, end in pairs) else "has no finite ratio"
    if first == last:
        return f"is {format_short(t_interval([end for _, end in pairs], log=True).estimate)}"
    change = t_interval([end / start for start, end in pairs], log=True)
    if change.n > 1 and change.low <= 1 <= change.high:
        level = is_level(change.low, change.high, log=True)
        undecided = f"rises or falls, which {count_noun(change.n, 'seed')} do not tell"
        return f"{'stays level' if level else undecided} ({format_short(change.estimate)}×)"
    return growth_in_words(change.estimate)
