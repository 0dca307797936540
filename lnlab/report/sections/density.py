"""How many values of one kind there are, as histograms: a line for each variant, and a band over its seeds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from lnlab.analyse.statistics.histograms import HistogramBins, equal_bins
from lnlab.keys import Json
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import Axis, linear_axis, logarithmic_axis
from lnlab.report.data.figure import FigureData, as_seeds, estimate_headings
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.data.series import (
    labelled_values,
    mean_points,
    missing_runs_sentence,
    source_rows_of,
)
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.quantity_words import quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import MEAN
from lnlab.report.words.wording import count_noun, format_short, in_variant, join_words, two_at_most
from lnlab.select.select import runs_with, select_measured_rows
from lnlab.tables import Results

_QUANTILES = (0.05, 0.95)
"""Between these quantiles lie nine tenths of the values."""


@dataclass(frozen=True)
class _Pooled:
    """All values of each line.

    Attributes:
        values: ``panel series line seed value``, finite.
        panels: in order; none where there is only one.
        names: the series, in order.
        families: as in ``FigureData``.
        dropped: numbers that are not finite.
    """

    values: pl.DataFrame
    panels: tuple[str, ...]
    names: tuple[str, ...]
    families: tuple[int, ...]
    dropped: int


@sections.register("density")
def density(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    panels: str | None = None,
    bins: Annotated[int, Field(ge=2, le=200)] = 10,
    scale: Literal["log", "linear"] = "log",
) -> Section:
    """``count / (values · width)`` in ``bins`` of one width, one line per variant: 95 % over seeds (Student, 1908).

    All values that ``where`` leaves of a run are taken together; on the log scale bins are equally wide in decades, and
    values that are not positive are counted and named. ``panels`` is a path of the setting: a panel for each value.
    """
    selection = {"quantity": quantity, **(where or {})}
    log = scale == "log"
    rows = select_measured_rows(results, selection, [panels] if panels else [])
    missing_note = missing_runs_sentence(runs_with(results, selection))
    pooled = _pooled(results, rows, selection, panels)
    stored_rows = source_rows_of(results, quantity, rows)
    binned = pooled.values.filter(pl.col("value") > 0) if log else pooled.values
    if binned.is_empty():
        return Section(
            f"Nothing of the {quantity_name(quantity)} can be drawn yet", missing=missing_note, rows=stored_rows
        )
    value_bins = equal_bins(binned["value"].to_numpy(), bins, log=log)
    seeds = pl.concat([_of_seed(value_bins, *group) for group in _groups(pooled, "panel", "series", "line", "seed")])
    shares = FigureData(
        seeds=seeds,
        points=mean_points(seeds, log=False),
        names=pooled.names,
        families=pooled.families,
        panels=pooled.panels,
        missing=missing_note,
        rows=stored_rows,
    )
    finding = _finding(pooled, quantity)
    caption = _caption(pooled, value_bins, quantity, shares.points)
    return shares.section(finding, _chart(shares, value_bins, quantity, finding, caption))


def _pooled(results: Results, rows: pl.DataFrame, selection: dict[str, Json], panel_path: str | None) -> _Pooled:
    names, families, labels = label_series(results, runs_with(results, selection), panel_path or "")
    panel_names = {} if panel_path is None else labelled_values(results, rows, panel_path)
    panel = pl.lit(None) if panel_path is None else pl.col(panel_path).replace_strict(panel_names, default=None)
    finite = rows.filter(pl.col("value").is_finite()).with_columns(panel.cast(pl.String).alias("panel"))
    joined = finite.join(labels, on="run", how="left", maintain_order="left")
    values = joined.select("panel", "series", "line", "seed", "value")
    panels = tuple(panel_names.values()) if len(panel_names) > 1 else ()
    return _Pooled(values=values, panels=panels, names=names, families=families, dropped=rows.height - finite.height)


def _chart(shares: FigureData, bins: HistogramBins, quantity: str, finding: str, caption: str) -> Chart:
    per = "decade" if bins.log else "unit"
    title = f"{quantity_with_unit(quantity)} (log scale)" if bins.log else quantity_with_unit(quantity)
    x = logarithmic_axis(title, bins.middles) if bins.log else linear_axis(title, bins.middles)
    y = _y_axis(f"share of the values per {per}", shares.points)
    panel = {"panel": "panel"} if shares.panels else {}
    middle = f"{quantity_name(quantity)}, middle of the bin"
    return shares.chart(
        line_charts.density_chart(shares.panels, x, y, shares.style),
        {**panel, "series": "variant", "x": middle, **estimate_headings(f"share per {per}")},
        alt=f"Histogram of the {title}, as outlines. {finding}.",
        caption=caption,
    )


def _groups(pooled: _Pooled, *by: str) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
    """The values of each group, in the order of panels and lines."""
    rows = pooled.values.group_by(*by, maintain_order=True).agg("value").rows()
    order = {panel: place for place, panel in enumerate(pooled.panels)}
    for *place, values in sorted(rows, key=lambda row: (order.get(row[0], 0), *row[2:-1])):
        yield tuple(place), np.array(values)


def _of_seed(bins: HistogramBins, place: tuple[Any, ...], values: np.ndarray) -> pl.DataFrame:
    """The histogram of one seed, as ``SEED_SCHEMA``."""
    panel, series, line, seed = place
    columns = {"x": bins.middles, "value": bins.density(values)}
    labels = {"panel": panel, "series": series, "line": line, "seed": seed}
    return as_seeds(pl.DataFrame(columns).with_columns(**{k: pl.lit(v) for k, v in labels.items()}))


def _y_axis(title: str, estimates: pl.DataFrame) -> Axis:
    """An axis from 0; a band that is much higher than its line is cut off."""
    top = max(estimates["estimate"].to_list())
    highest = max(estimates["high"].fill_null(0.0).to_list())
    axis = linear_axis(title, [0.0, min(1.5 * top, max(top, highest))])
    return replace(axis, domain=(0.0, axis.domain[1]), ticks=tuple(t for t in axis.ticks if t >= 0))


def _caption(pooled: _Pooled, bins: HistogramBins, quantity: str, estimates: pl.DataFrame) -> str:
    width = f"{format_short(bins.width)} {'decades' if bins.log else 'wide'}"
    sentences = [
        f"{quantity_definition(quantity)} in {bins.edges.size - 1} bins of {width}, as the share of the values in a "
        f"bin over its width. {MEAN.sentence(estimates, 'Lines', 'band', note=', cut off at 0')}"
    ]
    if bins.log and (outside := _outside(pooled)):
        sentences.append(f"Values that are not positive stand in no bin, but count as values: {join_words(outside)}.")
    if pooled.dropped:
        sentences.append(
            f"{count_noun(pooled.dropped, 'number')} {'is' if pooled.dropped == 1 else 'are'} left out: not finite."
        )
    return " ".join(sentences)


def _outside(pooled: _Pooled) -> list[str]:
    """How many values of each line are not positive."""
    texts = []
    for place, values in _groups(pooled, "panel", "series", "line"):
        if outside := int((values <= 0).sum()):
            panel, series, _ = place
            who = "" if series == SINGLE_SERIES else f" of {series}"
            texts.append(f"{outside:,} of {values.size:,}{who}{f' ({panel})' if pooled.panels else ''}")
    return texts


def _finding(pooled: _Pooled, quantity: str) -> str:
    """Where nine tenths of each line's values lie."""
    ranges: dict[str | None, list[str]] = {}
    for (panel, series, _), values in _groups(pooled, "panel", "series", "line"):
        low, high = np.quantile(values, _QUANTILES)
        where = "" if series == SINGLE_SERIES else f" {in_variant(series)}"
        ranges.setdefault(panel, []).append(f"from {format_short(low)} to {format_short(high)}{where}")
    lists = {panel: two_at_most(texts, sentences=False) for panel, texts in ranges.items()}
    text = two_at_most(f"{f'({panel}) ' if pooled.panels else ''}{named}" for panel, named in lists.items())
    return f"Nine tenths of the {quantity_name(quantity)}s lie {text}"
