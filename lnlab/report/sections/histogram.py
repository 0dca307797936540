"""Histograms of the entries of gradients and updates, step by step, with one panel for each variant."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated

import polars as pl
from pydantic import Field

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.keys import Json
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.histograms import MIN_DRAWN_SHARE, HistogramShares, collect_histograms
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.figures.shades import HistogramsOverSteps
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name
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
from lnlab.seed_words import counted_seeds, seeds_word
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
        return unmeasured(histograms, quantity)
    title = axis_title(quantity, where)
    high = "an octave, a factor of 2" if octaves == 1 else f"{octaves} octaves, a factor of {2**octaves}"
    zeros = f"Exactly 0, not drawn: {_largest_shares_text(histograms.zeros)}." if any(histograms.zeros.values()) else ""
    notes = [f"Line: median element, geometric mean over {seeds_word()}.", zeros or "No element is 0."]
    if histograms.odd:
        notes.append(f"Not finite, not drawn: {_largest_shares_text(histograms.odd)}.")
    least = f"{MIN_DRAWN_SHARE:.1%}".replace("%", " %")
    notes.append(f"Outer rows with less than {least} everywhere are not drawn.")
    if histograms.dropped:
        verb = "is" if histograms.dropped == 1 else "are"
        notes.append(f"{count_noun(histograms.dropped, 'intermediate step')} {verb} not drawn.")
    medians = histograms.medians.group_by("panel", "x", maintain_order=True).agg("value")
    return HistogramsOverSteps(
        data=histograms,
        title=title,
        octaves=octaves,
        medians={
            f"{panel}|{x}": sum(map(math.log2, values)) / len(values)
            for panel, x, values in medians.iter_rows()
            if _drawable(values)
        },
        statistic=MEAN,
        subject=f"{quantity_definition(quantity)}. Columns: updates. Rows: {high} (four stored bins each octave). "
        "Shades: share of all elements, on one scale",
        notes=tuple(notes),
        shows=f"Histograms of the {title}, by update, for {join_words(histograms.panels)}",
        finding=_finding(histograms, quantity),
        headings={
            "panel": "variant",
            "line": f"row, from 2 to the power of {octaves} times it" if octaves > 1 else "row, from 2 to that power",
            "x": "update",
            **estimate_headings("share of the elements"),
        },
    ).section()


def _drawable(values: list[float]) -> bool:
    return all(value > 0 and math.isfinite(value) for value in values)


def _largest_shares_text(shares: Mapping[str, float]) -> str:
    """``at most 10 % of the elements of a step``, of the largest share over steps in each panel."""
    texts = {name: f"at most {format_short(100 * share)} %" for name, share in shares.items() if share}
    if len(set(texts.values())) == 1 and len(texts) == len(shares):
        return f"{next(iter(texts.values()))} of the elements of a step"
    return join_words(f"{share} {in_variant(name)}" for name, share in texts.items())


def _finding(histograms: HistogramShares, quantity: str) -> str:
    """State how the median changes from the first step to the last, in each variant."""
    steps = histograms.medians["x"].unique().sort().to_list()
    changes: dict[str, str] = {}
    for name in histograms.panels:
        medians = histograms.medians.filter(pl.col("panel") == name)
        first, last = (
            dict(medians.filter(pl.col("x") == x).select("seed", "value").iter_rows()) for x in (steps[0], steps[-1])
        )
        pairs = [(first[seed], last[seed]) for seed in first if seed in last]
        if not pairs or not all(_drawable([*pair]) for pair in pairs):
            changes[name] = "is 0" if pairs and all(end == 0 for _, end in pairs) else "has no finite ratio"
        elif len(steps) == 1:
            changes[name] = f"is {format_short(t_interval([end for _, end in pairs], log=True).estimate)}"
        else:
            change = t_interval([end / start for start, end in pairs], log=True)
            changes[name] = growth_in_words(change.estimate)
            if change.n > 1 and change.low <= 1 <= change.high:
                level = is_level(change.low, change.high, log=True)
                undecided = f"shows no clear direction over {counted_seeds(len(pairs))}"
                changes[name] = f"{'stays level' if level else undecided} ({format_short(change.estimate)}×)"
    span = (
        f"From update {steps[0]} to update {steps[-1]}" if len(steps) > 1 else f"After {count_noun(steps[0], 'update')}"
    )
    what = f"{span}, the median {quantity_name(quantity)}"
    if len(changes) > MAX_NAMED:
        verbs = Counter(re.split(r" \(| to | [\d.]+×| by a factor", words)[0] for words in changes.values())
        return f"{what} {join_words(f'{verb} in {k} of {len(changes)} variants' for verb, k in verbs.items())}"
    texts = (change if name == SINGLE_SERIES else f"{change} {in_variant(name)}" for name, change in changes.items())
    return f"{what} {join_words(texts)}"
