"""Charts as drawn: numbered across the page, with their files. A chart that cannot be drawn breaks its section only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.report.charts import render
from lnlab.report.charts.downsample import thin
from lnlab.report.compose import Part, reason
from lnlab.report.section import Chart, Table
from lnlab.report.table import Grid, csv, grid, parquet
from lnlab.report.words.wording import printable

_DIGITS = 7


@dataclass(frozen=True)
class Plate:
    """A chart with its number and its drawings."""

    number: int
    stem: str
    chart: Chart
    spec: Mapping[str, Json]
    svg: str
    table: Grid


@dataclass(frozen=True)
class Shown:
    """A part with its figures and numbered tables, or with the reason why it has none."""

    part: Part
    figures: tuple[Plate, ...] = ()
    tables: tuple[Grid, ...] = ()


def draw(parts: Sequence[Part]) -> list[Shown]:
    """Every part with its drawings; figures and tables are numbered across the page."""
    drawn: list[Shown] = []
    for part in parts:
        n_figures = sum(len(s.figures) for s in drawn)
        n_tables = sum(len(s.tables) for s in drawn)
        try:
            drawn.append(_drawn_part(part, n_figures, n_tables))
        except (LabError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
            drawn.append(Shown(replace(part, section=None, error=reason(error))))
    return drawn


def _drawn_part(part: Part, n_figures: int, n_tables: int) -> Shown:
    if part.section is None:
        return Shown(part)
    figures = tuple(_figure(n, chart) for n, chart in enumerate(part.section.charts, n_figures + 1))
    numbered_tables = tuple(_numbered_table(n, table) for n, table in enumerate(part.section.tables, n_tables + 1))
    return Shown(part, figures, numbered_tables)


def _numbered_table(number: int, table: Table) -> Grid:
    stem, caption = f"table-{number}", f"Table {number}. {table.caption}"
    if table.grid is None:
        return grid(table.rows, table.headings, caption, f"tables/{stem}.csv", stem)
    return replace(table.grid, caption=caption, file=f"tables/{stem}.csv", stem=stem)


def _figure(number: int, chart: Chart) -> Plate:
    stem = f"figure-{number}"
    spec = filled(chart)
    caption = f"What figure {number} shows."
    table = grid(chart.points, chart.headings, caption, f"tables/{stem}.csv", stem)
    return Plate(number, stem, chart, spec, render.svg(spec), table)


def filled(chart: Chart) -> dict[str, Json]:
    """The drawing with its data inside, thinned to what a page can bear; numbers that are not finite become null."""
    frames = {"points": chart.points, "seeds": chart.seeds}
    names_read = {layer.get("data", {}).get("name") for layer in _layers(chart.spec)}
    datasets_read = {name: _values(thin(rows)[0]) for name, rows in frames.items() if name in names_read}
    datasets = {**chart.spec.get("datasets", {}), **datasets_read}
    spec: dict[str, Json] = printable({**chart.spec, "description": chart.alt, "datasets": datasets})
    return spec


def _layers(spec: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    inner = [spec["spec"]] if "spec" in spec else spec.get("layer", spec.get("vconcat", []))
    return [spec, *(deeper for layer in inner for deeper in _layers(layer))]


def _values(rows: pl.DataFrame) -> list[dict[str, Json]]:
    """Seven digits are more than an eye can tell, and half of what a page would weigh."""
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    digits = (pl.col(c).round_sig_figs(_DIGITS) for c in floats)
    finite = rows.with_columns(pl.when(d.is_finite()).then(d).alias(c) for c, d in zip(floats, digits, strict=True))
    return finite.to_dicts()


def files(figure: Plate, *, pdf: bool = False) -> dict[str, bytes]:
    """The files of a figure: SVG, PNG, the Vega-Lite source, the data, and PDF on demand."""
    stem = f"figures/{figure.stem}"
    contents = {
        f"{stem}.svg": figure.svg.encode(),
        f"{stem}.png": render.png(figure.spec),
        f"{stem}.vl.json": render.dump(figure.spec).encode(),
        f"{stem}.parquet": parquet(figure.chart.seeds),
        f"tables/{figure.stem}.csv": csv(figure.chart.points, figure.chart.headings),
    }
    return contents | ({f"{stem}.pdf": render.pdf(figure.spec)} if pdf else {})
