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
from lnlab.printable import printable, printable_line
from lnlab.report.facts import ReportFacts
from lnlab.report.page.figures import DrawnPart
from lnlab.report.table import csv_bytes
from lnlab.report.words.verdict_words import statistic_text, verdict_count_sentence

_PACKAGES = ("polars", "altair", "vl-convert-python")
"""All that the notebook needs beside a kernel: the last one draws SVG, so that no script is fetched."""
_OPENING = '''\
import json
from pathlib import Path

import altair as alt
import polars as pl

alt.renderers.enable("svg")  # draws here, and asks no network for scripts


def drawing(stem, **frames):
    """The figure of the page with these rows."""
    spec = json.loads(Path(f"figures/{stem}.vl.json").read_text(encoding="utf-8"))
    spec["datasets"] |= {name: rows.to_dicts() for name, rows in frames.items() if name in spec["datasets"]}
    return alt.Chart.from_dict(spec)'''
_VERDICT_COLUMNS = ("claim", "verdict", "statistic", "estimate", "low", "high", "n", "inside")
_VERDICTS = f"""\
verdicts = pl.read_parquet("data/verdicts.parquet")
verdicts.select({", ".join(f'"{name}"' for name in _VERDICT_COLUMNS)})"""
_FIGURE = """\
seeds = pl.read_parquet("figures/{stem}.parquet")
points = pl.read_parquet("figures/{stem}-points.parquet")
drawing("{stem}", points=points, seeds=seeds)"""
_KINDS = {"facet": "FacetChart", "vconcat": "VConcatChart", "concat": "ConcatChart"}
_FORMAT: Any = nbformat  # it has no types
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$&<>:])")


def notebook_text(facts: ReportFacts, verdicts: Sequence[Verdict], drawn_parts: Sequence[DrawnPart]) -> str:
    """The notebook as JSON text. Equal reports give equal bytes."""
    question = f"*{escape_markdown(facts.question)}*" if facts.question else ""
    cite = f"Paper: {escape_markdown(facts.source['cite'])}" if facts.source.get("cite") else ""
    head = (
        f"# {escape_markdown(facts.title)}",
        question,
        f"**{escape_markdown(verdict_count_sentence(verdicts))}**",
        cite,
        f"Every cell reads the tables beside this notebook. All it needs: `pip install {' '.join(_PACKAGES)}`.",
    )
    cells = [_markdown("title", "\n\n".join(filter(None, head))), _code("opening", _OPENING)]
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
            cells.append(_markdown(f"{figure.stem}-caption", caption))
            cells.append(_code(f"{figure.stem}-figure", _FIGURE.format(stem=figure.stem), output))
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


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it stands, on one line, and a character that a reader would obey as its escape."""
    return (
        _MARKDOWN.sub(r"\\\1", printable_line(text))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
        .replace("\\&", "&amp;")
    )


def _text(frame: pl.DataFrame) -> dict[str, str]:
    # as polars prints it to anybody, whatever the settings of this process
    with pl.Config(restore_defaults=True):
        return {"text/plain": printable(str(frame))}


def _id(name: str) -> str:
    # nbformat would draw it at random, and no notebook would be the same bytes again
    return digest(["cell", name])[:12]


def _markdown(name: str, source: str) -> Any:
    return _FORMAT.v4.new_markdown_cell(source, id=_id(name))


def _code(name: str, source: str, output: Mapping[str, str] | None = None) -> Any:
    outputs = [] if output is None else [_FORMAT.v4.new_output("execute_result", dict(output), execution_count=None)]
    return _FORMAT.v4.new_code_cell(source, id=_id(name), outputs=outputs)
