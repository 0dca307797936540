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

Files = Mapping[str, bytes]
DIGITS = 7


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
    """A part with its plates and standing tables, or with the reason why it has none."""

    part: Part
    plates: tuple[Plate, ...] = ()
    tables: tuple[Grid, ...] = ()


def draw(parts: Sequence[Part]) -> list[Shown]:
    """Every part with its drawings; figures and tables are numbered across the page."""
    shown: list[Shown] = []
    for part in parts:
        figures = sum(len(s.plates) for s in shown)
        tables = sum(len(s.tables) for s in shown)
        try:
            shown.append(_shown(part, figures, tables))
        except (LabError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
            shown.append(Shown(replace(part, section=None, error=reason(error))))
    return shown


def _shown(part: Part, figures: int, tables: int) -> Shown:
    if part.section is None:
        return Shown(part)
    plates = tuple(_plate(n, chart) for n, chart in enumerate(part.section.charts, figures + 1))
    standing = tuple(_standing(n, table) for n, table in enumerate(part.section.tables, tables + 1))
    return Shown(part, plates, standing)


def _standing(number: int, table: Table) -> Grid:
    stem, caption = f"table-{number}", f"Table {number}. {table.caption}"
    if table.shown is None:
        return grid(table.rows, table.headings, caption, f"tables/{stem}.csv", stem)
    return replace(table.shown, caption=caption, file=f"tables/{stem}.csv", stem=stem)


def _plate(number: int, chart: Chart) -> Plate:
    stem = f"figure-{number}"
    spec = filled(chart)
    caption = f"What figure {number} shows."
    table = grid(chart.points, chart.headings, caption, f"tables/{stem}.csv", stem)
    return Plate(number, stem, chart, spec, render.svg(spec), table)


def filled(chart: Chart) -> dict[str, Json]:
    """The drawing with its data inside, thinned to what a page can bear; numbers that are not finite become null."""
    named = {"points": chart.points, "seeds": chart.seeds}
    asked = {layer.get("data", {}).get("name") for layer in _layers(chart.spec)}
    data = {name: _values(thin(rows)[0]) for name, rows in named.items() if name in asked}
    datasets = {**chart.spec.get("datasets", {}), **data}
    spec: dict[str, Json] = printable({**chart.spec, "description": chart.alt, "datasets": datasets})
    return spec


def _layers(spec: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    inner = [spec["spec"]] if "spec" in spec else spec.get("layer", spec.get("vconcat", []))
    return [spec, *(deeper for layer in inner for deeper in _layers(layer))]


def _values(rows: pl.DataFrame) -> list[dict[str, Json]]:
    """Seven digits are more than an eye can tell, and half of what a page would weigh."""
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    digits = (pl.col(c).round_sig_figs(DIGITS) for c in floats)
    finite = rows.with_columns(pl.when(d.is_finite()).then(d).alias(c) for c, d in zip(floats, digits, strict=True))
    return finite.to_dicts()


def files(plate: Plate, *, pdf: bool = False) -> dict[str, bytes]:
    """The files of a figure: SVG, PNG, the Vega-Lite source, the data, and PDF on demand."""
    stem = f"figures/{plate.stem}"
    made = {
        f"{stem}.svg": plate.svg.encode(),
        f"{stem}.png": render.png(plate.spec),
        f"{stem}.vl.json": render.dump(plate.spec).encode(),
        f"{stem}.parquet": parquet(plate.chart.seeds),
        f"tables/{plate.stem}.csv": csv(plate.chart.points, plate.chart.headings),
    }
    return made | ({f"{stem}.pdf": render.pdf(plate.spec)} if pdf else {})
