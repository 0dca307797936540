"""A quantity over training: a line for each variant with its band over seeds, and every run that diverged."""

from collections.abc import Mapping, Sequence
from typing import Literal

from lnlab.analyse.quantities.rates import RATE_PATH
from lnlab.keys import Json
from lnlab.report.charts.curve_axes import X_TITLES, curve_overlays, curve_x_axis, curve_y_axis
from lnlab.report.data.basin_runs import choices_sentences
from lnlab.report.data.curve_windows import MAX_CURVE_POINTS
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.training_curves import CurveAxis, collect_training_curves
from lnlab.report.figures.training import (
    LOSSES,
    TrainingFigure,
    diverged_count,
    has_single_seeds,
    in_panels,
    too_many_for_bands,
    training_finding,
)
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import mean_statistic
from lnlab.report.words.wording import format_short, join_words
from lnlab.seed_words import seeds_word
from lnlab.select.select import runs_with
from lnlab.tables import Results

_FREQUENCIES = "token frequencies alone"


@sections.register("curves")
def curves(
    results: Results,
    decisions: Sequence[Mapping[str, Json]] = (),
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: CurveAxis = "step",
    scale: Literal["linear", "log"] = "linear",
    inset: bool = False,
    lines: dict[str, float] | None = None,
) -> Section:
    """``mean over seeds of the quantity after each training step``: with the 95 % Student interval as a band.

    Runs that diverged are no part of a mean: each is a thin line up to a cross where it ended. Where fewer than 4 in 5
    runs of a variant finished, there is no mean, and those that did are thin dashed lines. Splits differ in their
    dashes. More than 8 variants have a panel each. ``inset`` draws the learning rate below, but not below such panels;
    ``lines`` are levels to compare with, by name, beside the entropy of the words, which is drawn where a loss is.
    Where learning rates were chosen on tuning seeds, the caption states them, and which lie at the edge of their grid.
    """
    log = scale == "log"
    curves = collect_training_curves(results, quantity, where or {}, x, log=log, rates=inset)
    if curves.seeds.is_empty() and curves.diverged.is_empty() and curves.survivors.is_empty():
        return unmeasured(curves, quantity)
    levels: dict[str, float] = {}
    if quantity in LOSSES and curves.entropy is not None and curves.entropy[1] <= 1.05 * curves.entropy[0]:
        levels[_FREQUENCIES] = sum(curves.entropy) / 2  # where all runs have about the same
    levels |= lines or {}
    title = f"{axis_title(quantity)}{' (log scale)' if log else ''}"
    y_axis = curve_y_axis(curves, title, levels.get(_FREQUENCIES), log=log)
    x_axis = curve_x_axis(curves, x, inset=inset)
    visible = {name: level for name, level in levels.items() if y_axis.domain[0] <= level <= y_axis.domain[1]}
    overlays = curve_overlays(curves, x_axis, y_axis, visible, inset=inset and not in_panels(curves))
    notes = ["One panel per variant; grey: all others."] if in_panels(curves) else []
    notes += ["Too many lines for bands."] if too_many_for_bands(curves) else []
    if has_single_seeds(curves):
        notes.append(f"Thin lines: single {seeds_word()}.")
    if curves.panels:
        notes.append(f"Colours stand for variants, dashes for splits ({join_words(curves.panels)}).")
    if diverged := diverged_count(curves):
        notes.append(
            f"{diverged} and are excluded from the mean: thin lines, each with a cross at its last finite value or at "
            "the end of the axis."
        )
    if not curves.survivors.is_empty():
        notes.append("Where fewer than 4 in 5 runs finished, there is no mean; finished runs are thin dashed lines.")
    if visible:
        named = join_words(f"{name} ({format_short(level)})" for name, level in visible.items())
        notes.append(f"Level lines: {named}.")
    longest = max(curves.points.group_by("panel", "series").len()["len"].to_list(), default=0)
    if not curves.batches.is_empty():
        notes.append("Points: means over a window of training steps. Faint lines: single batches.")
    elif longest > MAX_CURVE_POINTS // 2:
        notes.append(f"Each line has at most {MAX_CURVE_POINTS} evenly spaced points.")
    if overlays.cuts:
        furthest = max(row["furthest"] for row in overlays.cuts)
        notes.append(f"The y-axis is cut; lines with an arrow continue up to {format_short(furthest)}.")
    shown = runs_with(results, {"quantity": quantity, **(where or {})})
    notes.append(choices_sentences(decisions, results, shown, RATE_PATH, "learning rates"))
    if overlays.rates:
        notes.append("Below: learning rate of each training step.")
    of_split = f" of the {curves.split} split" if curves.split else ""
    return TrainingFigure(
        data=curves,
        x=x_axis,
        y=y_axis,
        overlays=overlays,
        statistic=mean_statistic(log=log),
        subject=f"{quantity_definition(quantity)}{of_split}, against {X_TITLES[x]}",
        notes=tuple(notes),
        shows=f"Line chart of the {quantity_with_unit(quantity)}, against {X_TITLES[x]}",
        finding=training_finding(curves, quantity),
        headings={
            **({"panel": "split"} if curves.panels else {}),
            "series": "variant",
            "x": x_axis.title,
            **estimate_headings(quantity_name(quantity)),
        },
    ).section()
