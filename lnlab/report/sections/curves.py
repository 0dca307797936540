"""A quantity over training: a line for each variant with its band over seeds, and every run that diverged."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import polars as pl

from lnlab.errors import Problem, ReportError
from lnlab.keys import Json
from lnlab.report.charts import theme, training_curves
from lnlab.report.charts.axes import Axis, linear, logarithmic
from lnlab.report.data.labels import ALONE
from lnlab.report.data.series import replicates
from lnlab.report.data.training_curves import MOST, Courses, X, collect
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.wording import count, definition, listing, short
from lnlab.report.words.wording import quantity as called
from lnlab.report.words.wording import unit as titled
from lnlab.tables import Results

_NAMED = 3
"""Series whose ends a heading has room for."""
LOSSES = ("loss", "nll")
"""What the entropy of the words is a level of."""
_ROOM = 0.5
"""How much higher and lower than its lines the axis may go for their bands, as a share of their span."""
FREQUENCIES = "no better than frequencies alone"
UPDATES: Mapping[X, str] = {"step": "updates", "epoch": "epochs"}


@sections.register("curves")
def curves(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: X = "step",
    unit: Literal["nats", "bits"] = "nats",
    scale: Literal["linear", "log"] = "linear",
    between: tuple[float, float] | None = None,
    inset: bool = False,
    lines: dict[str, float] | None = None,
) -> Section:
    """``mean over seeds of the quantity after each update``: with the 95 % Student interval as a band.

    Runs that diverged are no part of a mean: each is a thin line up to a cross where it ended. Splits are told apart by
    dashes. ``inset`` draws the learning rate below; ``lines`` are levels to compare with, by name, beside the entropy
    of the words, which is drawn where a loss is. ``between`` are the ends of the vertical axis.
    """
    if unit == "bits" and "nats" not in titled(quantity):
        raise ReportError(Problem("unit", f"the {called(quantity)} is not in nats", "leave it out"))
    found = collect(results, quantity, where or {}, x, log=scale == "log", per=math.log(2) if unit == "bits" else 1.0)
    if found.seeds.is_empty() and found.diverged.is_empty():
        finding = f"Nothing of the {called(quantity)} has been measured yet"
        return Section(finding, missing=" ".join((found.missing, *found.left_out)).strip(), rows=found.rows)
    levels = _levels(found, quantity) | (lines or {})
    chart = _chart(found, (quantity, x, unit), levels, between, log=scale == "log", inset=inset)
    return Section(_finding(found, quantity), (chart,), (), found.missing, found.rows)


def _levels(found: Courses, quantity: str) -> dict[str, float]:
    """The entropy of the words, where all runs have the same."""
    if quantity not in LOSSES or found.entropy is None or found.entropy[1] > 1.05 * found.entropy[0]:
        return {}
    return {FREQUENCIES: sum(found.entropy) / 2}


def _chart(
    found: Courses,
    words: tuple[str, X, str],
    levels: Mapping[str, float],
    between: tuple[float, float] | None,
    *,
    log: bool,
    inset: bool,
) -> Chart:
    quantity, x, unit = words
    title = titled(quantity, unit)
    y = _vertical(found, f"{title} (log scale)" if log else title, between, log=log)
    across = _across(found, x, inset=inset)
    shown = {name: level for name, level in levels.items() if y.domain[0] <= level <= y.domain[1]}
    look = theme.look(found.names, range(len(found.names)) if found.splits else found.families)
    beside = _beside(found, y, shown, inset=inset)
    split = {"panel": "split"} if found.splits else {}
    numbers = {"estimate": called(quantity), "low": "95 % low", "high": "95 % high", "n": "seeds"}
    caption = _caption(found, (quantity, x, unit), shown, log=log, inset=bool(beside.rates))
    return Chart(
        training_curves.curves(
            found.splits,
            across,
            y,
            look,
            beside,
            tips=found.points.height <= training_curves.FEW,
            cut=between is not None,
        ),
        found.points,
        found.seeds,
        {**split, "series": "variant", "x": across.title, **numbers},
        f"Line chart of the {title}, against {across.title}. {_finding(found, quantity)}.",
        " ".join((caption, *found.left_out)),
        log,
    )


def _across(found: Courses, x: X, *, inset: bool) -> Axis:
    """From the first place to the last, learning rates included where they are drawn, with little room."""
    values = [*found.points["x"], *found.diverged["x"], *(found.rates["x"] if inset else ())]
    span = (max(values) - min(values)) or 1.0
    return replace(linear(UPDATES[x], values), domain=(min(values) - 0.015 * span, max(values) + 0.02 * span))


def _vertical(found: Courses, title: str, between: tuple[float, float] | None, *, log: bool) -> Axis:
    """An axis over the lines, most of their bands, and where runs that diverged began.

    Raises:
        ReportError: its ends are in the wrong order, or not positive on a logarithmic one.
    """
    made = logarithmic if log else linear
    if between is not None:
        if not between[0] < between[1] or (log and between[0] <= 0):
            what = "two positive numbers" if log else "two numbers"
            raise ReportError(Problem("between", f"found {list(between)}", f"write {what}, the lower one first"))
        axis = made(title, between)
        ticks = tuple(tick for tick in axis.ticks if between[0] <= tick <= between[1])
        return replace(axis, domain=between, ticks=ticks)
    starts = found.diverged.group_by("run", "panel", maintain_order=True).first()["value"]
    lines = [*found.points["estimate"], *starts]
    low, high = min(lines), max(lines)
    if log:
        return logarithmic(title, lines)
    room = _ROOM * (high - low)
    bands = [v for c in ("low", "high") for v in found.points[c].drop_nulls()]
    return linear(title, [*lines, *(min(max(v, low - room), high + room) for v in bands)])


def _beside(found: Courses, y: Axis, levels: Mapping[str, float], *, inset: bool) -> training_curves.Beside:
    """Lines and crosses of runs that diverged, no further than the axis goes; levels; and the learning rates."""
    low, high = y.domain
    ends = found.diverged.sort("x", maintain_order=True).group_by("run", "series", maintain_order=True).last()
    ends = ends.with_columns(
        pl.format("seed {}, {} {}", "seed", pl.lit(y.title.partition(",")[0]), pl.col("value").round_sig_figs(3)).alias(
            "told"
        ),
        pl.col("value").clip(low, high),
    )
    outside = ~pl.col("value").is_between(low, high)
    before = outside.cum_sum().shift(1, fill_value=0).over("run", "panel")
    lost = found.diverged.filter(before == 0).with_columns(pl.col("value").clip(low, high))
    return training_curves.Beside(
        lost.drop("seed").to_dicts(),
        ends.select("series", "x", "value", "told").to_dicts(),
        [{"y": level, "label": name} for name, level in levels.items()],
        found.rates.to_dicts() if inset else (),
    )


def _caption(found: Courses, words: tuple[str, X, str], levels: Mapping[str, float], *, log: bool, inset: bool) -> str:
    quantity, x, unit = words
    mean, taken = ("geometric means", " on the logarithmic scale") if log else ("means", "")
    band = f"the band is their 95 % Student interval{taken} ({replicates(found.points)})"
    band = band if training_curves.bands(len(found.names), found.splits) else "too many lines for bands"
    band = band if found.points["low"].count() else "one seed, no band"
    of = f" of the {found.split} split" if found.split else ""
    said = [f"{definition(quantity, unit)}{of}, against {UPDATES[x]}."]
    said.append(f"Lines join {mean} over the seeds whose runs did not diverge; {band}.")
    if found.splits:
        said.append(f"Colours tell the variants apart, dashes the splits ({listing(found.splits)}).")
    if any(gone for gone, _ in found.lost.values()):
        said.append(
            f"{_counted(found)}: thin lines, each with a cross at its last finite number, or at the axis's end."
        )
    if levels:
        said.append(f"Level lines: {listing(f'{name} ({short(level)})' for name, level in levels.items())}.")
    if _longest(found) > MOST // 2:
        said.append(f"A line is drawn in at most {MOST} places, its extremes among them.")
    return " ".join([*said, "Below, the learning rate of each update."] if inset else said)


def _longest(found: Courses) -> int:
    """Places of the line that has most."""
    return max(found.points.group_by("panel", "series").len()["len"].to_list(), default=0)


def _counted(found: Courses) -> str:
    gone, every = (sum(pair[i] for pair in found.lost.values()) for i in (0, 1))
    return f"{gone} of {count(every, 'run')} diverged"


def _finding(found: Courses, quantity: str) -> str:
    """Where each line ends, and how many runs of which series diverged."""
    split = found.split or ("validation" if "validation" in found.splits else next(iter(found.splits), ""))
    panel = pl.col("panel").eq_missing(pl.lit(split if found.splits else None, pl.String))
    last = found.points.filter(panel).sort("line", "x").group_by("series", maintain_order=True).last()
    ends = dict(last.select("series", "estimate").iter_rows())
    of = {name: "" if name == ALONE else f" of {name}" for name in found.names}
    lost = [f"{k} of {count(n, 'run')}{of[name]} diverged" for name, (k, n) in found.lost.items() if k]
    if len(lost) > _NAMED:
        lost = [_counted(found)]
    what = " ".join(filter(None, ("The", "training" if split == "train" else split, called(quantity))))
    said = [f"{what} {_told(ends)}"] if ends else []
    return "; ".join([*said, listing(lost)] if lost else said)


def _told(ends: Mapping[str, float]) -> str:
    if list(ends) == [ALONE]:
        return f"ends at {short(ends[ALONE])}"
    if len(ends) <= _NAMED:
        return f"ends at {listing(f'{short(end)} in {name}' for name, end in ends.items())}"
    low, high = min(ends, key=lambda name: ends[name]), max(ends, key=lambda name: ends[name])
    least, most = (
        f"{short(ends[low])} in {low}, the lowest of {len(ends)}",
        f"{short(ends[high])} in {high}, the highest",
    )
    return f"ends at {least}, and at {most}"
