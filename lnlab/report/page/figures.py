"""Charts as drawn: numbered across the page, with their files. A chart that cannot be drawn breaks its section only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.report.charts import render
from lnlab.report.compose import ReportPart, error_line
from lnlab.report.data.downsample import thin_points
from lnlab.report.rounding import rounded_frame, rounded_json
from lnlab.report.section import Figure
from lnlab.report.table import Grid, csv_bytes, reader_grid
from lnlab.report.words.control_characters import without_control_characters
from lnlab.tables import smallest_parquet

_DIGITS = {"x": 7}
"""Significant digits of places in a drawing, as steps can be long numbers. All other numbers have six."""
_OF_TABLE = ("points", "seeds")
"""The data sets of a drawing that follow from the table of a figure: over seeds, and each seed."""


@dataclass(frozen=True)
class DrawnFigure:
    """A chart with its number and its drawings."""

    number: int
    stem: str
    chart: Figure
    spec: Mapping[str, Json]
    svg: str
    table: Grid


@dataclass(frozen=True)
class DrawnPart:
    """A part with its figures and numbered tables, or with the reason why it has none."""

    part: ReportPart
    figures: tuple[DrawnFigure, ...] = ()
    tables: tuple[Grid, ...] = ()


def draw_parts(parts: Sequence[ReportPart]) -> list[DrawnPart]:
    """Draw every part. Figures and tables are numbered across the page."""
    drawn: list[DrawnPart] = []
    for part in parts:
        n_figures = sum(len(s.figures) for s in drawn) + 1
        n_tables = sum(len(s.tables) for s in drawn) + 1
        try:
            charts, tables = (part.section.charts, part.section.tables) if part.section else ((), ())
            figures: list[DrawnFigure] = []
            for n, chart in enumerate(charts, n_figures):
                stem, spec = f"figure-{n}", spec_with_data(chart)
                behind = f"What figure {n} shows."
                grid = reader_grid(chart.points, chart.headings, behind, f"tables/{stem}.csv", stem)
                figures.append(DrawnFigure(n, stem, chart=chart, spec=spec, svg=render.to_svg(spec), table=grid))
            grids = tuple(table.numbered(n) for n, table in enumerate(tables, n_tables))
            drawn.append(DrawnPart(part, tuple(figures), grids))
        except (LabError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
            drawn.append(DrawnPart(replace(part, section=None, error=error_line(error))))
    return drawn


def spec_with_data(chart: Figure) -> dict[str, Json]:
    """The drawing with its data inside, thinned to what a page can hold. Numbers that are not finite become null."""
    frames = dict(zip(_OF_TABLE, (chart.points, chart.seeds), strict=True))
    names_read = {layer.get("data", {}).get("name") for layer in _layers(chart.spec)}
    datasets_read = {}
    for name, every in frames.items():
        if name not in names_read:
            continue
        rows = thin_points(every)[0]
        # rounded beyond what an eye can tell, and without a panel where there is none
        floats = [column for column, kind in rows.schema.items() if kind.is_float()]
        digits = [pl.col(column).round_sig_figs(_DIGITS.get(column, 6)) for column in floats]
        rows = rows.with_columns(pl.when(d.is_finite()).then(d).alias(c) for c, d in zip(floats, digits, strict=True))
        no_panels = "panel" in rows.columns and rows["panel"].null_count() == rows.height
        datasets_read[name] = rows.drop(["panel"] if no_panels else []).to_dicts()
    drawing = rounded_json(chart.spec)
    # inner data sets are named by their order: Altair names them by digests of numbers before rounding
    inline = drawing.get("datasets", {})
    text = json.dumps({name: part for name, part in drawing.items() if name != "datasets"})
    names = {old: f"data-{number}" for number, old in enumerate(sorted(inline, key=text.index), 1)}
    for old, new in names.items():
        text = text.replace(old, new)
    numbered = {new: inline[old] for old, new in names.items()}
    whole = {**json.loads(text), "description": chart.alt, "datasets": {**numbered, **datasets_read}}
    spec: dict[str, Json] = without_control_characters(whole)
    return spec


def _layers(spec: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    inner = [spec["spec"]] if "spec" in spec else spec.get("layer", spec.get("vconcat", spec.get("concat", [])))
    return [spec, *(deeper for layer in inner for deeper in _layers(layer))]


def figure_files(figure: DrawnFigure, *, png: bool = False) -> dict[str, bytes]:
    """The files of a figure: SVG, the Vega-Lite source with the rows that it draws, all numbers, and PNG on demand."""
    stem = f"figures/{figure.stem}"
    contents = {
        f"{stem}.svg": figure.svg.encode(),
        f"{stem}.vl.json": render.spec_text(figure.spec).encode(),
        f"{stem}.parquet": smallest_parquet(rounded_frame(figure.chart.seeds)),
        f"{stem}-points.parquet": smallest_parquet(rounded_frame(figure.chart.points)),
        f"tables/{figure.stem}.csv": csv_bytes(figure.chart.points, figure.chart.headings),
    }
    if png:
        contents[f"{stem}.png"] = render.to_png(figure.spec)
    return contents
