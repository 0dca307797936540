"""How many values of one kind there are, as histograms: a line for each variant, and a band over its seeds."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from lnlab.analyse.statistics.histograms import equal_bins
from lnlab.keys import Json
from lnlab.report.charts.axes import linear_axis, logarithmic_axis
from lnlab.report.data.figure import FigureData, as_seeds, estimate_headings
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.data.series import labelled_values, mean_points, missing_runs_sentence, source_rows_of
from lnlab.report.figures.lines import Lines
from lnlab.report.section import Section, sections
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name
from lnlab.report.words.statistic import MEAN
from lnlab.report.words.wording import count_noun, format_short, in_variant, join_words, two_at_most
from lnlab.select.select import Selected
from lnlab.tables import Results

_QUANTILES = (0.05, 0.95)
"""Between these quantiles lie nine tenths of the values."""


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
    selected = Selected(results, selection, columns=[panels] if panels else [])
    rows, runs = selected.rows, selected.runs
    missing, stored_rows = missing_runs_sentence(runs), source_rows_of(results, quantity, rows)
    names, families, labels = label_series(results, runs, panels or "")
    panel_names = {} if panels is None else labelled_values(results, rows, panels)
    panel = pl.lit(None) if panels is None else pl.col(panels).replace_strict(panel_names, default=None)
    finite = rows.filter(pl.col("value").is_finite()).with_columns(panel.cast(pl.String).alias("panel"))
    values = finite.join(labels, on="run", how="left", maintain_order="left")
    drawn_panels = tuple(panel_names.values()) if len(panel_names) > 1 else ()
    binned = values.filter(pl.col("value") > 0) if log else values
    if binned.is_empty():
        finding = f"Nothing of the {quantity_name(quantity)} can be drawn yet"
        return Section(finding, missing=missing, rows=stored_rows)
    value_bins = equal_bins(binned["value"].to_numpy(), bins, log=log)
    histograms = []
    for (name, series, line, seed), numbers in _groups(values, drawn_panels, "panel", "series", "line", "seed"):
        histogram = pl.DataFrame({"x": value_bins.middles, "value": value_bins.density(numbers)})
        place = {"panel": name, "series": series, "line": line, "seed": seed}
        histograms.append(as_seeds(histogram.with_columns(**{key: pl.lit(word) for key, word in place.items()})))
    seeds = pl.concat(histograms)
    points = mean_points(seeds, log=False)
    per = "decade" if log else "unit"
    width = f"{format_short(value_bins.width)} {'decades' if log else 'wide'}"
    title = f"{axis_title(quantity, where)} (log scale)" if log else axis_title(quantity, where)
    top = max(points["estimate"].to_list())
    highest = max(points["high"].fill_null(0.0).to_list())
    y = linear_axis(f"share of the values per {per}", [0.0, min(1.5 * top, max(top, highest))])  # bands may be cut off
    notes = ["The band is cut off at 0."] if points["low"].count() else []
    outside, ranges = [], dict[str | None, list[str]]()
    for (name, series, _), numbers in _groups(values, drawn_panels, "panel", "series", "line"):
        who = "" if series == SINGLE_SERIES else series
        if log and (count := int((numbers <= 0).sum())):
            of = f"{f' of {who}' if who else ''}{f' ({name})' if drawn_panels else ''}"
            outside.append(f"{count:,} of {numbers.size:,}{of}")
        low, high = map(format_short, np.quantile(numbers, _QUANTILES))
        ranges.setdefault(name, []).append(f"from {low} to {high}{f' {in_variant(who)}' if who else ''}")
    if outside:
        notes.append(f"Non-positive values are in no bin but count in the total: {join_words(outside)}.")
    if dropped := rows.height - finite.height:
        notes.append(f"{count_noun(dropped, 'number')} {'is' if dropped == 1 else 'are'} left out: not finite.")
    lists = {name: two_at_most(texts, sentences=False) for name, texts in ranges.items()}
    spans = two_at_most(f"{f'({name}) ' if drawn_panels else ''}{named}" for name, named in lists.items())
    return Lines(
        data=FigureData(
            seeds=seeds,
            points=points,
            names=names,
            families=families,
            panels=drawn_panels,
            missing=missing,
            rows=stored_rows,
        ),
        x=logarithmic_axis(title, value_bins.middles) if log else linear_axis(title, value_bins.middles),
        y=replace(y, domain=(0.0, y.domain[1]), ticks=tuple(tick for tick in y.ticks if tick >= 0)),
        statistic=MEAN,
        outlines=True,
        subject=f"{quantity_definition(quantity)} in {value_bins.edges.size - 1} bins of {width}: share of the values "
        "in a bin, over its width",
        notes=tuple(notes),
        shows=f"Histogram of the {title}, as outlines",
        finding=f"Nine tenths of the {quantity_name(quantity)}s lie {spans}",
        headings={
            **({"panel": "panel"} if drawn_panels else {}),
            "series": "variant",
            "x": f"{quantity_name(quantity)}, middle of the bin",
            **estimate_headings(f"share per {per}"),
        },
    ).section()


def _groups(values: pl.DataFrame, panels: tuple[str, ...], *by: str) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
    """The values of each group, in the order of panels and lines."""
    rows = values.group_by(*by, maintain_order=True).agg("value").rows()
    order = {panel: place for place, panel in enumerate(panels)}
    # without the name of a series, whose number says its place
    for *place, numbers in sorted(rows, key=lambda row: (order.get(row[0], 0), *row[2:-1])):
        yield tuple(place), np.array(numbers)
