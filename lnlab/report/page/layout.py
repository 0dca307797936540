"""Lay out each section on the page: its width, what of it is folded, and its drawings as compact data."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lnlab.keys import Json
from lnlab.report.page.figures import DrawnPart
from lnlab.report.theme import THEME

_SENTENCE_END = re.compile(r"(?<=[.)]) (?=[A-Z])")
_FEW_COLUMNS = 5
_NARROW = 420
"""Pixels of a column of the page where it has several."""
_SIZE = re.compile(r'<svg[^>]*? width="(\d+)(?:\.\d+)?" height="(\d+)')


def part_of_page(drawn: DrawnPart, *, single: bool) -> dict[str, Any]:
    """A section as the templates take it. A page that is a ``single`` file has its drawings inside."""
    part = drawn.part
    section = part.section
    drawings: list[dict[str, Any]] = []
    for figure in drawn.figures:
        pixels = _SIZE.search(figure.svg)
        width, height = pixels.groups() if pixels else ("", "")
        # pixels that all panels take beside each other; a figure without panels fits any column
        panels = figure.spec.get("facet", {}).get("sort", ()) if "columns" in figure.spec else ()
        natural_width = len(panels) * figure.spec["spec"]["width"] if panels else 0
        natural_width += sum(panel["width"] for panel in figure.spec.get("concat", ()))
        # the theme stands once in a page
        config = {name: value for name, value in figure.spec.get("config", {}).items() if THEME.get(name) != value}
        datasets = {name: _packed(rows) for name, rows in figure.spec["datasets"].items()}
        data_uri = "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()
        drawings.append(
            {
                "number": figure.number,
                "stem": figure.stem,
                "chart": figure.chart,
                "table": figure.table,
                "spec": {**figure.spec, "config": config, "datasets": datasets},
                "wide": natural_width > _NARROW,
                "alone": "" if single else f"figures/{figure.stem}",
                "source": data_uri if single else f"figures/{figure.stem}.svg",
                "width": width,
                "height": height,
            }
        )
    standing = [] if drawings else drawn.tables
    # how much of a row the section takes: all of it, half for a small table, else a column
    size = ""
    if part.error or len(drawings) > 1 or any(drawing["wide"] for drawing in drawings):
        size = "wide"
    elif standing:
        small = all(len(table.headings) <= _FEW_COLUMNS for table in standing)
        size = "half" if small else "wide"
    return {
        "number": part.number,
        "title": part.title,
        "heading": part.head,
        "error": part.error,
        "missing": section.missing if section else "",
        "figures": drawings,
        "standing": standing,
        "folded": drawn.tables if drawings else [],
        "claims": part.claims,
        "size": size,
    }


def fold_repeated_sentences(figures: Iterable[dict[str, Any]]) -> None:
    """Leave in each caption its first sentence and what no earlier caption says. ``repeated`` holds the others."""
    earlier: set[str] = set()
    for figure in figures:
        first, *others = _SENTENCE_END.split(figure["chart"].caption)
        figure["caption"] = " ".join([first, *(sentence for sentence in others if sentence not in earlier)])
        figure["repeated"] = " ".join(sentence for sentence in others if sentence in earlier)
        earlier.update(others)


def _packed(rows: Sequence[Mapping[str, Json]]) -> Mapping[str, Json] | Sequence[Mapping[str, Json]]:
    """Pack rows so that column names and words stand once. The script of the page unpacks them.

    Rows that differ in their columns stay as they are.
    """
    columns = sorted(rows[0]) if rows else []
    if not rows or any(sorted(row) != columns for row in rows):
        return rows
    texts = [name for name in columns if all(isinstance(row[name], str) for row in rows)]
    words = {name: list(dict.fromkeys(row[name] for row in rows)) for name in texts}
    places = {name: {word: place for place, word in enumerate(words[name])} for name in texts}
    cells = [[places[name][row[name]] if name in places else row[name] for name in columns] for row in rows]
    return {"columns": columns, "words": words, "rows": cells}
