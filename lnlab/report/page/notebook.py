"""The notebook: the same figures from the same tables, outputs inside, runnable with the packages that it names."""

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import nbformat
import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_rows import verdict_frame
from lnlab.claims.verdict_text import VERDICT_SYMBOLS, verdict_label
from lnlab.keys import digest
from lnlab.report.facts import ReportFacts
from lnlab.report.page.figures import DrawnFigure, DrawnPart
from lnlab.report.table import csv_bytes
from lnlab.report.words.statistic import MEAN_AND_BOUNDS, MEAN_AND_RANGE
from lnlab.report.words.verdict_words import statistic_text, verdict_count_sentence

_PACKAGES = ("polars", "altair", "vl-convert-python")
"""All that the notebook needs beside a kernel: the last one draws SVG, so that no script is fetched."""
_OPENING = '''\
import json
import math
import warnings
from pathlib import Path

import altair as alt
import polars as pl

alt.renderers.enable("svg")  # draws here, and asks no network for scripts


def student(n, coverage=0.95):
    """Student's two-sided quantile, n - 1 degrees of freedom (Abramowitz and Stegun, 1964, 26.7.3 and 26.7.4)."""

    def inside(t):  # P(-t < T < t)
        angle, term, total = math.atan2(t, math.sqrt(n - 1)), 1.0, 0.0
        odd = (n - 1) % 2
        for k in range(odd, n - 2, 2):
            term *= 1 if k == 0 else math.cos(angle) if k == 1 else math.cos(angle) ** 2 * (k - 1) / k
            total += term
        return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total

    low, high = 0.0, 1.0
    while inside(high) < coverage:
        high *= 2
    for _ in range(60):
        low, high = ((low + high) / 2, high) if inside((low + high) / 2) < coverage else (low, (low + high) / 2)
    return high


def over_seeds(seeds, log, fraction=False):
    """Mean and 95 % Student interval over seeds, on the logarithmic scale where the figure is, within 0 and 1."""
    value = pl.col("value").log() if log else pl.col("value")
    place, x = "x", []
    if "along" in seeds.columns:  # of pairs, x is a number of each seed, too
        place, x = "along", [pl.col("x").log().mean().exp()]
    found = seeds.group_by("panel", "series", "line", place, maintain_order=True).agg(
        value.mean().alias("mean"), value.std().alias("sd"), value.count().cast(pl.Int64).alias("n"), *x
    )
    quantiles = {n: student(n) if n > 3 else None for n in found["n"].unique()}
    if quantiles and not any(quantiles.values()):
        warnings.warn("points of fewer than four seeds have no band", stacklevel=2)
    half = pl.col("sd") * pl.col("n").replace_strict(quantiles, return_dtype=pl.Float64) / pl.col("n").sqrt()
    ends = {"estimate": pl.col("mean"), "low": pl.col("mean") - half, "high": pl.col("mean") + half}
    found = found.with_columns(**{k: e.exp() if log else e for k, e in ends.items()})
    if fraction:
        found = found.with_columns(pl.col("low").clip(lower_bound=0.0), pl.col("high").clip(upper_bound=1.0))
    return found.select("panel", "series", "line", "x", "estimate", "low", "high", "n")


def drawing(stem, **frames):
    """The figure of the page with these rows."""
    spec = json.loads(Path(f"figures/{stem}.vl.json").read_text(encoding="utf-8"))
    spec["datasets"] |= {name: rows.to_dicts() for name, rows in frames.items() if name in spec["datasets"]}
    return alt.Chart.from_dict(spec)'''
_MEDIANS = '''\


def medians(seeds):
    """Median, lowest and highest over seeds; null where it is not finite, as of runs that diverged."""
    value = pl.col("value")
    found = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(
        estimate=value.median(), low=value.min(), high=value.max(), n=value.count().cast(pl.Int64)
    )
    ends = (pl.when(pl.col(c).is_finite()).then(c).alias(c) for c in ("estimate", "low", "high"))
    return found.with_columns(ends).select("panel", "series", "line", "x", "estimate", "low", "high", "n")'''
_RANGES = '''\


def ranges(seeds, floor):
    """Mean, lowest and highest over replicates, for a logarithmic axis that ends at the floor; one has no range."""
    value, several = pl.col("value"), pl.len() > 1
    found = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(
        estimate=value.mean(),
        low=pl.when(several).then(value.min()),
        high=pl.when(several).then(value.max()),
        n=value.count().cast(pl.Int64),
    )
    visible = pl.col("high") > floor
    return found.with_columns(
        estimate=pl.when(pl.col("estimate") > floor).then("estimate"),
        low=pl.when(visible).then(pl.col("low").clip(lower_bound=floor)),
        high=pl.when(visible).then("high"),
    ).select("panel", "series", "line", "x", "estimate", "low", "high", "n")'''
_BOUNDS = '''\


def bounds(seeds, floor):
    """Means over replicates of a count and of its bounds, for a logarithmic axis that ends at the floor."""
    found = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(
        estimate=pl.col("value").mean(),
        low=pl.col("low").mean(),
        high=pl.col("high").mean(),
        n=pl.col("value").count().cast(pl.Int64),
        marks=pl.col("marks").first(),
    )
    visible = (pl.col("estimate") > 0) & (pl.col("high") > floor)  # no band beyond both ends of the bulk
    return found.with_columns(
        estimate=pl.when(pl.col("estimate") > floor).then("estimate"),
        low=pl.when(visible).then(pl.col("low").clip(lower_bound=floor)),
        high=pl.when(visible).then("high"),
    ).select("panel", "series", "line", "x", "estimate", "low", "high", "n", "marks")'''
_VERDICT_COLUMNS = ("claim", "verdict", "statistic", "estimate", "low", "high", "n", "inside")
_VERDICTS = f"""\
verdicts = pl.read_parquet("data/verdicts.parquet")
verdicts.select({", ".join(f'"{name}"' for name in _VERDICT_COLUMNS)})"""
_FIGURE = """\
seeds = pl.read_parquet("figures/{stem}.parquet")
points = {points}
drawing("{stem}", points=points, seeds=seeds)"""
_KINDS = {"facet": "FacetChart", "vconcat": "VConcatChart", "concat": "ConcatChart"}
_FORMAT: Any = nbformat  # it has no types
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$&<>:])")


def notebook_text(facts: ReportFacts, verdicts: Sequence[Verdict], drawn_parts: Sequence[DrawnPart]) -> str:
    """The notebook as JSON text. Equal reports give equal bytes."""
    statistics = {figure.chart.statistic for drawn in drawn_parts for figure in drawn.figures}
    opening = [_OPENING]
    opening += [_MEDIANS] if any(statistic and statistic.centre == "median" for statistic in statistics) else []
    opening += [_RANGES] if MEAN_AND_RANGE in statistics else []
    opening += [_BOUNDS] if MEAN_AND_BOUNDS in statistics else []
    question = f"*{escape_markdown(facts.question)}*" if facts.question else ""
    cite = f"Paper: {escape_markdown(facts.source['cite'])}" if facts.source.get("cite") else ""
    head = (
        f"# {escape_markdown(facts.title)}",
        question,
        f"**{escape_markdown(verdict_count_sentence(verdicts))}**",
        cite,
        f"Every cell reads the tables beside this notebook. All it needs: `pip install {' '.join(_PACKAGES)}`.",
    )
    cells = [_markdown("title", "\n\n".join(filter(None, head))), _code("opening", "".join(opening))]
    if verdicts:
        cells.append(_code("verdicts", _VERDICTS, _text(verdict_frame(verdicts).select(_VERDICT_COLUMNS))))
    by_id = {v.claim: v for v in verdicts}
    for drawn in drawn_parts:
        part = drawn.part
        kicker = escape_markdown(part.title) if part.title else ""
        note = part.error or (part.section.missing if part.section else "")
        claim_items = [
            f"- {VERDICT_SYMBOLS.get(v.verdict, '?')} **{escape_markdown(verdict_label(v))}**: "
            f"{escape_markdown(v.says)} ({escape_markdown(statistic_text(v))})"
            for v in (by_id[claim] for claim in part.claims if claim in by_id)
        ]
        body = (f"## {escape_markdown(part.head)}", kicker, escape_markdown(note), "\n".join(claim_items))
        cells.append(_markdown(f"section-{part.number}", "\n\n".join(filter(None, body))))
        for figure in drawn.figures:
            caption = f"**Figure {figure.number}.** {escape_markdown(figure.chart.caption)}"
            kind = next((name for key, name in _KINDS.items() if key in figure.spec), "LayerChart")
            output = {"image/svg+xml": figure.svg, "text/plain": f"alt.{kind}(...)"}
            source = _FIGURE.format(stem=figure.stem, points=_points_call(figure))
            cells.append(_markdown(f"{figure.stem}-caption", caption))
            cells.append(_code(f"{figure.stem}-figure", source, output))
        tables = part.section.tables if part.section else ()
        for table, grid in zip(tables, drawn.tables, strict=True):
            # as the cell prints it, which reads the file: exact numbers, and not what the page makes of them
            exact = pl.read_csv(BytesIO(csv_bytes(table.rows, table.headings)))
            cells.append(_markdown(f"{grid.stem}-caption", escape_markdown(grid.caption)))
            cells.append(_code(grid.stem, f'pl.read_csv("{grid.file}")', _text(exact)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = _FORMAT.v4.new_notebook(cells=cells, metadata=metadata)
    _FORMAT.validate(document)
    # nbformat.writes would validate it once more, and only log what it finds
    return str(_FORMAT.v4.writes_json(document)) + "\n"


def _points_call(figure: DrawnFigure) -> str:
    """The points of a figure from its seeds, by the statistic that its caption names."""
    chart = figure.chart
    if chart.statistic == MEAN_AND_BOUNDS:
        return f"bounds(seeds, floor={chart.data.floor:.7g})"
    if chart.statistic == MEAN_AND_RANGE:
        call = f"ranges(seeds, floor={chart.data.floor:.7g})"
        if "marks" not in chart.points.columns:
            return call
        heading = chart.headings["marks"]  # a count, which no seed has
        return f'{call}.with_columns(pl.read_csv("tables/{figure.stem}.csv")["{heading}"].alias("marks"))'
    if chart.statistic is not None and chart.statistic.centre == "median":
        return "medians(seeds)"
    fraction = ""
    if not chart.log and {"low", "high"} <= set(chart.points.columns):
        # a band ends at exactly 0 or 1 where it is that of a fraction, as no other interval does
        ends = chart.points.select((pl.col("low") == 0).any() | (pl.col("high") == 1).any()).item()
        fraction = ", fraction=True" if ends else ""
    return f"over_seeds(seeds, log={chart.log}{fraction})"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it stands, on one line."""
    return (
        _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
        .replace("\\&", "&amp;")
    )


def _text(frame: pl.DataFrame) -> dict[str, str]:
    # as polars prints it to anybody, whatever the settings of this process
    with pl.Config(restore_defaults=True):
        return {"text/plain": str(frame)}


def _id(name: str) -> str:
    # nbformat would draw it at random, and no notebook would be the same bytes again
    return digest(["cell", name])[:12]


def _markdown(name: str, source: str) -> Any:
    return _FORMAT.v4.new_markdown_cell(source, id=_id(name))


def _code(name: str, source: str, output: Mapping[str, str] | None = None) -> Any:
    outputs = [] if output is None else [_FORMAT.v4.new_output("execute_result", dict(output), execution_count=None)]
    return _FORMAT.v4.new_code_cell(source, id=_id(name), outputs=outputs)
