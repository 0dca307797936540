"""The axes of training curves, and what is drawn over the lines: what the axes cut off, levels, runs that diverged."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts import training_curves
from lnlab.report.charts.axes import Axis, linear_axis, logarithmic_axis
from lnlab.report.charts.room import roomiest_corner
from lnlab.report.data.training_curves import CurveAxis, TrainingCurves
from lnlab.seed_words import seed_word

_BAND_MARGIN = 0.5
"""How much higher and lower than its lines the axis may go for their bands, as a share of their span."""
_ROOM_ABOVE = 1.1
"""How high the axis of a loss goes, times the entropy of the words."""
X_TITLES: Mapping[CurveAxis, str] = {"step": "training step t", "epoch": "epochs"}


def curve_x_axis(curves: TrainingCurves, x: CurveAxis, *, inset: bool) -> Axis:
    """The x-axis from the first place to the last, including drawn learning rates, with a small margin."""
    values = [*curves.points["x"], *curves.diverged["x"], *curves.survivors["x"], *(curves.rates["x"] if inset else ())]
    span = (max(values) - min(values)) or 1.0
    domain = (min(values) - 0.015 * span, max(values) + 0.02 * span)
    title = f"{X_TITLES[x]}, and epochs below" if curves.epoch_steps else X_TITLES[x]
    return replace(linear_axis(title, values), domain=domain, epoch=curves.epoch_steps or 0.0)


def curve_y_axis(curves: TrainingCurves, title: str, entropy: float | None, *, log: bool) -> Axis:
    """An axis over the lines, most of their bands, and where runs that diverged began.

    The axis of a loss ends a tenth above the entropy of the words or above the highest end of a line. First values only
    reflect the initialization and would flatten everything else.
    """
    starts = curves.diverged.group_by("run", "panel", maintain_order=True).first()["value"]
    lines = [*curves.points["estimate"], *starts, *curves.survivors["value"]]
    low, high = min(lines), max(lines)
    if log:
        return logarithmic_axis(title, lines)
    ends = curves.points.sort("x").group_by("panel", "series", maintain_order=True).last()["estimate"]
    if entropy is not None and len(ends):
        top = _ROOM_ABOVE * max(entropy, float(ends.max()))  # type: ignore[arg-type]
        if top < high:
            axis = linear_axis(title, [low, top])
            return replace(axis, domain=(axis.domain[0], top), ticks=tuple(t for t in axis.ticks if t <= top))
    margin = _BAND_MARGIN * (high - low)
    bands = [v for c in ("low", "high") for v in curves.points[c].drop_nulls()]
    return linear_axis(title, [*lines, *(min(max(v, low - margin), high + margin) for v in bands)])


def curve_overlays(
    curves: TrainingCurves, x: Axis, y: Axis, levels: Mapping[str, float], *, inset: bool
) -> training_curves.Overlays:
    """The overlays: marks where the axis cuts lines, diverged runs, levels, batches, and rates for an ``inset``."""
    low, high = y.domain
    last_points = curves.diverged.sort("x", maintain_order=True).group_by("run", "series", maintain_order=True).last()
    last_points = last_points.with_columns(
        pl.format(
            f"{seed_word()} {{}}, {{}} {{}}",
            "seed",
            pl.lit(y.title.partition(",")[0].partition(" (")[0]),
            pl.col("value").round_sig_figs(3),
        ).alias("told"),
        pl.col("value").clip(low, high),
    )
    inside = pl.col("value").is_between(low, high)
    was_inside = inside.cum_max().over("run", "panel")
    left = (~inside & was_inside).cum_sum().shift(1, fill_value=0).over("run", "panel")
    diverged_lines = curves.diverged.filter(was_inside & (left == 0)).with_columns(pl.col("value").clip(low, high))
    return training_curves.Overlays(
        diverged=diverged_lines.drop("seed").to_dicts(),
        survivors=curves.survivors.with_columns(pl.col("value").clip(low, high)).drop("seed").to_dicts(),
        crosses=last_points.select("series", "x", "value", "told").to_dicts(),
        rules=[
            {"y": level, "label": name, **roomiest_corner(curves.points, level, len(name), x.domain, y.domain)}
            for name, level in levels.items()
        ],
        batches=curves.batches.to_dicts(),
        cuts=_cuts(curves, high),
        rates=curves.rates.to_dicts() if inset else (),
    )


def _cuts(curves: TrainingCurves, top: float) -> list[dict[str, Json]]:
    """The first place where each line leaves the upper end of the axis, with its furthest number beyond it."""
    cuts: list[dict[str, Json]] = []
    for (_, name), line in curves.points.sort("x").group_by("panel", "series", maintain_order=True):
        places = list(line.select("x", "estimate").drop_nulls().iter_rows())
        beyond = [value > top for _, value in places]
        if any(beyond):
            at = next((i for i in range(1, len(places)) if beyond[i] != beyond[i - 1]), None)
            x = places[0][0]
            if at is not None:  # where the drawn line meets the end of the axis
                (x1, y1), (x2, y2) = places[at - 1 : at + 1]
                x = x1 + (x2 - x1) * (top - y1) / (y2 - y1)
            cuts.append({"series": name, "x": x, "value": top, "furthest": max(value for _, value in places)})
    return cuts
