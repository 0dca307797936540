"""Curves over training: means with their bands, runs that diverged, levels, and learning rates below."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.end_names import end_names
from lnlab.report.charts.training_curves import (
    MAX_HOVER_POINTS,
    Overlays,
    has_bands,
    training_curve_chart,
    training_curve_panels,
)
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import MIN_BAND_SEEDS
from lnlab.report.data.training_curves import TrainingCurves
from lnlab.report.figures.findings import not_told_apart
from lnlab.report.section import Figure
from lnlab.report.theme import MOST_PANELS, MOST_TOLD_APART
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.wording import MAX_NAMED, count_noun, format_apart, format_short, in_variant, join_words

LOSSES = ("loss", "nll")
"""Quantities that have the entropy of the words as a level."""
_ACCURACIES = ("accuracy", "bleu")
"""Quantities of which more is better."""
_FIRST_RATE = re.compile(r"learning rate [^\s,]+(, | )?")


@dataclass(frozen=True, kw_only=True)
class TrainingFigure(Figure):
    """Training curves.

    Attributes:
        x: training steps or epochs.
        y: of the lines.
        overlays: what is drawn over the lines and below them.
    """

    data: TrainingCurves
    x: Axis
    y: Axis
    overlays: Overlays

    @property
    def marks(self) -> tuple[str, str]:
        """Lines, with bands where these are few enough to be distinguished."""
        return "Lines", "" if too_many_for_bands(self.data) else "band"

    def drawing(self) -> dict[str, Json]:
        """As ``charts.training_curves.training_curve_chart``, or in a panel for each series where these are many."""
        if in_panels(self.data):
            return training_curve_panels(
                self.x, self.y, self.data.style, self.overlays, single_seeds=has_single_seeds(self.data)
            )
        return training_curve_chart(
            self.data.panels,
            self.x,
            self.y,
            self.data.style,
            self.overlays,
            hover=self.points.height <= MAX_HOVER_POINTS,
            single_seeds=has_single_seeds(self.data),
            names=None if self.data.panels else end_names(self.points, self.data.style, self.x, self.y),
        )


def in_panels(curves: TrainingCurves) -> bool:
    """Whether there are more series than a reader tells apart, and no more than there is room for.

    Splits are told apart by dashes, in one panel.
    """
    return MOST_TOLD_APART < len(curves.names) <= MOST_PANELS and not curves.panels


def too_many_for_bands(curves: TrainingCurves) -> bool:
    """Whether there are intervals, but so many lines in one panel that their bands would hide each other."""
    if in_panels(curves):
        return False
    few = has_bands(len(curves.names), curves.panels, windowed=not curves.batches.is_empty())
    return not few and curves.points["low"].count() > 0


def has_single_seeds(curves: TrainingCurves) -> bool:
    """Whether there are several seeds, but too few for bands."""
    n = curves.points["n"].max()
    return isinstance(n, int) and 1 < n < MIN_BAND_SEEDS


def diverged_count(curves: TrainingCurves) -> str:
    """``3 of 10 runs diverged``, or an empty text if none did."""
    diverged, total = (sum(pair[i] for pair in curves.divergence_counts.values()) for i in (0, 1))
    return f"{diverged} of {count_noun(total, 'run')} diverged" if diverged else ""


def training_finding(curves: TrainingCurves, quantity: str) -> str:
    """State where each line ends and how many runs of which series diverged. Of several splits, validation is read."""
    split = curves.split or ("validation" if "validation" in curves.panels else next(iter(curves.panels), ""))
    panel = pl.col("panel").eq_missing(pl.lit(split if curves.panels else None, pl.String))
    last = curves.points.filter(panel).sort("line", "x").group_by("series", maintain_order=True).last()
    final_values = dict(last.select("series", "estimate").iter_rows())
    diverged = []
    for name, (k, n) in curves.divergence_counts.items():
        plain = name.rpartition(" (")[0] if name.endswith(" finished)") else name  # without how many finished
        if k:
            diverged.append(
                f"{k} of {count_noun(n, 'run')}{'' if name == SINGLE_SERIES else f' {in_variant(plain)}'} diverged"
            )
    if len(diverged) > MAX_NAMED:
        diverged = [diverged_count(curves)]
    subject = " ".join(filter(None, ("The", "training" if split == "train" else split, quantity_name(quantity))))
    ends = {
        name: curves.seeds.filter(panel, pl.col("series") == name).filter(pl.col("x") == pl.col("x").max())
        for name in final_values
    }

    def alike(name: str) -> list[str]:
        return [other for other in ends if other != name and not_told_apart(ends[name], ends[other])]

    clause = ends_in_words(final_values, quantity, compared_arms(curves), alike) if final_values else ""
    clauses = [f"{subject} {clause}"] if clause else []
    return "; ".join([*clauses, join_words(diverged)] if diverged else clauses)


def compared_arms(curves: TrainingCurves) -> dict[str, Json]:
    """The arm of each series: its value of the first axis that varies beside the learning rate.

    A question compares that axis, and not a rate, a size or a schedule within one arm.
    """
    if any(_FIRST_RATE.match(name) for name in curves.names):
        return {name: _FIRST_RATE.sub("", name) for name in curves.names}
    return dict(zip(curves.names, curves.families, strict=True))


def ends_in_words(
    final_values: Mapping[str, float],
    quantity: str,
    arms: Mapping[str, Json],
    alike: Callable[[str], Sequence[str]] | None = None,
) -> str:
    """State where lines end, each arm at its best. Only numbers that differ in print are ordered.

    Args:
        final_values: by series.
        quantity: that is drawn.
        arms: by series, what it is compared as.
        alike: of a series, those indistinguishable from it over seeds: it is not called the lowest or the highest. Only
            the series that are named are compared, as all pairs of hundreds take seconds.
    """
    if len(final_values) == 1:
        ((name, value),) = final_values.items()
        return f"ends at {format_short(value)}{'' if name == SINGLE_SERIES else f' {in_variant(name)}'}"
    shown, best = dict(final_values), ""
    if quantity in (*LOSSES, *_ACCURACIES) and 1 < len({arms[name] for name in shown}) < len(shown):
        ranked = sorted(shown, key=shown.__getitem__, reverse=quantity in _ACCURACIES)
        # reversed, so that the best of an arm is what stays
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
    ranks = {named[0]: f"the lowest of {len(shown)}", named[1]: "the highest"}
    for name in named:
        others = [other for other in (alike(name) if alike else ()) if other in shown]
        if others:
            whom = others[0] if len(others) == 1 else f"{len(others)} others"
            ranks[name] = f"indistinguishable from {whom}"
    first, last = (f"{in_variant(name)}, {ranks[name]}" for name in named)
    return f"{best}ends at {low} {first}, and at {high} {last}"
