"""A quantity over training: a line for each variant with its band over seeds, and every run that diverged."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts import training_curves
from lnlab.report.charts.curve_axes import X_TITLES, curve_overlays, curve_x_axis, curve_y_axis
from lnlab.report.data.curve_windows import MAX_CURVE_POINTS
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import MIN_BAND_SEEDS
from lnlab.report.data.training_curves import CurveAxis, TrainingCurves, collect_training_curves
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import mean_statistic
from lnlab.report.words.wording import MAX_NAMED, count_noun, format_apart, format_short, in_variant, join_words
from lnlab.tables import Results

_LOSSES = ("loss", "nll")
"""What the entropy of the words is a level of."""
_ACCURACIES = ("accuracy", "bleu")
"""Of what more is better."""
_FIRST_RATE = re.compile(r"learning rate [^\s,]+(, | )?")
_FREQUENCIES = "no better than frequencies alone"


@sections.register("curves")
def curves(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: CurveAxis = "step",
    unit: Literal["nats", "bits"] = "nats",
    scale: Literal["linear", "log"] = "linear",
    between: tuple[float, float] | None = None,
    inset: bool = False,
    lines: dict[str, float] | None = None,
) -> Section:
    """``mean over seeds of the quantity after each training step``: with the 95 % Student interval as a band.

    Runs that diverged are no part of a mean: each is a thin line up to a cross where it ended. Where fewer than 4 in 5
    runs of a variant finished, there is no mean, and those that did are thin dashed lines. Splits differ in their
    dashes. ``inset`` draws the learning rate below; ``lines`` are levels to compare with, by name, beside the entropy
    of the words, which is drawn where a loss is. ``between`` are the ends of the vertical axis.
    """
    if unit == "bits" and "nats" not in quantity_with_unit(quantity):
        raise ReportError(Issue("no-effect", "unit", f"the {quantity_name(quantity)} is not in nats", "leave it out"))
    curves = collect_training_curves(
        results, quantity, where or {}, x, log=scale == "log", per=math.log(2) if unit == "bits" else 1.0
    )
    if curves.seeds.is_empty() and curves.diverged.is_empty() and curves.survivors.is_empty():
        return curves.unmeasured(quantity)
    levels = _levels(curves, quantity) | (lines or {})
    chart = _chart(curves, (quantity, x, unit), levels, between, log=scale == "log", inset=inset)
    return curves.section(_finding(curves, quantity), chart)


def _levels(curves: TrainingCurves, quantity: str) -> dict[str, float]:
    """The entropy of the words, where all runs have the same."""
    if quantity not in _LOSSES or curves.entropy is None or curves.entropy[1] > 1.05 * curves.entropy[0]:
        return {}
    return {_FREQUENCIES: sum(curves.entropy) / 2}


def _chart(
    curves: TrainingCurves,
    words: tuple[str, CurveAxis, str],
    levels: Mapping[str, float],
    between: tuple[float, float] | None,
    *,
    log: bool,
    inset: bool,
) -> Chart:
    quantity, x, unit = words
    title = axis_title(quantity, None, unit)
    y_axis = curve_y_axis(curves, f"{title} (log scale)" if log else title, between, levels.get(_FREQUENCIES), log=log)
    x_axis = curve_x_axis(curves, x, inset=inset)
    visible = {name: level for name, level in levels.items() if y_axis.domain[0] <= level <= y_axis.domain[1]}
    overlays = curve_overlays(curves, x_axis, y_axis, visible, inset=inset)
    split = {"panel": "split"} if curves.panels else {}
    first_values = dict(curves.points.sort("x", descending=True).select("series", "estimate").iter_rows())
    starts = [first_values[str(row["series"])] for row in overlays.starts]
    quantity_text = quantity_with_unit(quantity, unit)
    return curves.chart(
        training_curves.training_curve_chart(
            curves.panels,
            x_axis,
            y_axis,
            curves.style,
            overlays,
            hover=curves.points.height <= training_curves.MAX_HOVER_POINTS,
            clip=between is not None or bool(overlays.starts),
            single_seeds=_has_single_seeds(curves),
        ),
        {**split, "series": "variant", "x": x_axis.title, **estimate_headings(quantity_name(quantity))},
        alt=f"Line chart of the {quantity_text}, against {X_TITLES[x]}. {_finding(curves, quantity)}.",
        caption=_caption(curves, (quantity, x, unit), visible, starts, log=log, inset=bool(overlays.rates)),
        log=log,
    )


def _has_single_seeds(curves: TrainingCurves) -> bool:
    """Whether there are several seeds, but too few for bands."""
    n = curves.points["n"].max()
    return isinstance(n, int) and 1 < n < MIN_BAND_SEEDS


def _caption(
    curves: TrainingCurves,
    words: tuple[str, CurveAxis, str],
    levels: Mapping[str, float],
    starts: Sequence[float],
    *,
    log: bool,
    inset: bool,
) -> str:
    quantity, x, unit = words
    bands = training_curves.has_bands(len(curves.names), curves.panels, windowed=not curves.batches.is_empty())
    of_split = f" of the {curves.split} split" if curves.split else ""
    sentences = [f"{quantity_definition(quantity, unit)}{of_split}, against {X_TITLES[x]}."]
    if not curves.points.is_empty():
        shown = "band" if bands or not curves.points["low"].count() else ""
        sentences.append(mean_statistic(log=log).sentence(curves.points, "Lines", shown))
        sentences += [] if shown else ["There are too many lines for bands."]
    if _has_single_seeds(curves):
        sentences.append("Thin lines: single seeds.")
    if curves.panels:
        sentences.append(f"Colours stand for variants, dashes for splits ({join_words(curves.panels)}).")
    if any(diverged for diverged, _ in curves.divergence_counts.values()):
        sentences.append(
            f"{_diverged_count(curves)} and are in no mean: thin lines, each with a cross at its last finite number, "
            "or at the end of the axis."
        )
    if not curves.survivors.is_empty():
        sentences.append(
            "Where fewer than 4 in 5 runs finished, no mean is taken: those that did are thin dashed lines."
        )
    if levels:
        sentences.append(
            f"Level lines: {join_words(f'{name} ({format_short(level)})' for name, level in levels.items())}."
        )
    if not curves.batches.is_empty():
        sentences.append("A point is the mean over a window of training steps; faint lines are single batches.")
    elif _longest(curves) > MAX_CURVE_POINTS // 2:
        sentences.append(f"A line is drawn in at most {MAX_CURVE_POINTS} places, evenly spaced.")
    if starts:
        low, high = min(starts), max(starts)
        values = (
            format_short(low)
            if format_short(low) == format_short(high)
            else f"{format_short(low)} to {format_short(high)}"
        )
        sentences.append(f"The axis ends below where lines begin (arrows, {values}).")
    return " ".join([*sentences, "Below, the learning rate of each training step."] if inset else sentences)


def _longest(curves: TrainingCurves) -> int:
    """Places of the line that has most."""
    return max(curves.points.group_by("panel", "series").len()["len"].to_list(), default=0)


def _diverged_count(curves: TrainingCurves) -> str:
    diverged, total = (sum(pair[i] for pair in curves.divergence_counts.values()) for i in (0, 1))
    return f"{diverged} of {count_noun(total, 'run')} diverged"


def _finding(curves: TrainingCurves, quantity: str) -> str:
    """Where each line ends, and how many runs of which series diverged."""
    split = curves.split or ("validation" if "validation" in curves.panels else next(iter(curves.panels), ""))
    panel = pl.col("panel").eq_missing(pl.lit(split if curves.panels else None, pl.String))
    last = curves.points.filter(panel).sort("line", "x").group_by("series", maintain_order=True).last()
    final_values = dict(last.select("series", "estimate").iter_rows())
    of_series = {name: "" if name == SINGLE_SERIES else f" {in_variant(_plain(name))}" for name in curves.names}
    diverged = [
        f"{k} of {count_noun(n, 'run')}{of_series[name]} diverged"
        for name, (k, n) in curves.divergence_counts.items()
        if k
    ]
    if len(diverged) > MAX_NAMED:
        diverged = [_diverged_count(curves)]
    subject = " ".join(filter(None, ("The", "training" if split == "train" else split, quantity_name(quantity))))
    clauses = [f"{subject} {_final_text(final_values, quantity, _compared_arms(curves))}"] if final_values else []
    return "; ".join([*clauses, join_words(diverged)] if diverged else clauses)


def _plain(name: str) -> str:
    """The name of a series without how many of its runs finished."""
    return name.rpartition(" (")[0] if name.endswith(" finished)") else name


def _compared_arms(curves: TrainingCurves) -> dict[str, Json]:
    """What each series is compared as: its value of the first axis that varies beside the learning rate.

    That axis is what a question compares; a rate, a size or a schedule within one arm is not.
    """
    if any(_FIRST_RATE.match(name) for name in curves.names):
        return {name: _FIRST_RATE.sub("", name) for name in curves.names}
    return dict(zip(curves.names, curves.families, strict=True))


def _final_text(final_values: Mapping[str, float], quantity: str, arms: Mapping[str, Json]) -> str:
    if len(final_values) == 1:
        ((name, value),) = final_values.items()
        return f"ends at {format_short(value)}{'' if name == SINGLE_SERIES else f' {in_variant(name)}'}"
    shown, best = dict(final_values), ""
    if quantity in (*_LOSSES, *_ACCURACIES) and 1 < len({arms[name] for name in shown}) < len(shown):
        ranked = sorted(shown, key=shown.__getitem__, reverse=quantity in _ACCURACIES)
        leaders = {arms[name]: name for name in reversed(ranked)}
        shown, best = {name: shown[name] for name in shown if name in leaders.values()}, "at best "
    named = list(shown)
    if len(named) > MAX_NAMED:
        named = [f(shown, key=shown.__getitem__) for f in (min, max)]
    low, high = format_apart([shown[name] for name in named])
    if low == high:
        where = in_variant(join_words(named)) if len(shown) <= MAX_NAMED else f"in all {len(shown)} variants"
        return f"{best}ends alike, at {low}, {where}"
    if len(shown) <= MAX_NAMED:
        return f"{best}ends at {low} {in_variant(named[0])} and {high} {in_variant(named[1])}"
    first, last = map(in_variant, named)
    return f"{best}ends at {low} {first}, the lowest of {len(shown)}, and at {high} {last}, the highest"
