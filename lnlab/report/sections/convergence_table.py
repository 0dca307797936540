"""A printed table of C and N and ours in one: a link in each cell to the losses behind it, and the rule below."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from lnlab.analyse.convergence.agreement import Reproduced, errors
from lnlab.analyse.convergence.published import Guesses, Printed, columns_of, right
from lnlab.analyse.convergence.rules import convergences
from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.claims.kinds.table import agreement
from lnlab.keys import Json
from lnlab.report.cell_matrix import Behind, Block, Matrix, MatrixCell, Trace, draw, finite
from lnlab.report.data.convergence_cells import (
    LETTERS,
    MARKS,
    Found,
    Place,
    boundaries,
    found_cells,
    said,
    spoken,
    told,
    where_of,
)
from lnlab.report.data.convergence_rows import curve, rows_behind, thinned, unjudged
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.wording import listing, plain
from lnlab.tables import Results

STYLES = {"agrees": "supported", "differs": "contradicted", "half": "undecided", "missing": "not"}
_SHARE = {"low": pl.Float64, "high": pl.Float64}
_SCHEMA = {"table": pl.String, "rate": pl.Float64, "column": pl.String, "published": pl.String, "here": pl.String}
_SCHEMA |= {"k": pl.Int64, "n": pl.Int64, **_SHARE, "agreement": pl.String, "time": pl.Float64, "others": pl.String}
_WORDS = (
    *("table", "learning rate", "column", "published", "here", "converged", "runs", "95 % low", "95 % high"),
    *("agreement", "median updates to nine tenths of the drop", "others"),
)


@sections.register("convergence_table")
def convergence_table(
    results: Results,
    *,
    where: dict[str, Json],
    cells: Printed,
    guesses: Guesses = {},  # noqa: B006 - a field's default
    curves: bool = True,
) -> Section:
    """``C or N, k/n``: what is printed, and how many of our runs converge, with the losses behind each cell (Yu, 2024).

    ``where: {rule: ..., split: ...}`` says by which rule of convergence, on which loss, and of which runs; ``cells``
    are the printed tables, ``guesses`` trivial rules, whose right cells stand beside ours. ``curves: false`` leaves out
    the losses.
    """
    asked = where_of(where)
    columns, found = found_cells(results, cells, where)
    rows = rows_behind(results, columns)
    if not any(cell.judged for cell in found):
        return Section("No run of these tables has ended yet", missing=unjudged(results, columns), rows=rows)
    words = re.findall(r"\w+", " ".join(str(value).lower() for value in {**asked, **where}.values()))
    stems = {cell.place: f"cell-{'-'.join(words)}-{n}" for n, cell in enumerate(found, 1)} if curves else {}
    blocks = tuple(_block(name, each, stems) for name, each in _by_table(found))
    behind = tuple(_behind(results, found, stems)) if curves else ()
    matrix = Matrix(blocks, tuple(_notes(columns, cells, guesses, asked)), behind)
    finding = _finding(columns, found)
    return Section(finding, (), (_table(found, matrix),), unjudged(results, columns), rows)


def _by_table(found: Sequence[Found]) -> list[tuple[str, list[Found]]]:
    return [(name, list(each)) for name, each in groupby(found, key=lambda cell: cell.table)]


def _block(name: str, found: Sequence[Found], stems: Mapping[Place, str]) -> Block:
    words = list(dict.fromkeys(cell.word for cell in found))
    at = {(cell.rate, cell.word): cell for cell in found}
    rates = sorted({cell.rate for cell in found}, reverse=True)
    rows = ((plain(rate), tuple(_cell(at[rate, word], stems) for word in words)) for rate in rates)
    return Block(name, tuple(map(said, words)), tuple(rows))


def _cell(cell: Found, stems: Mapping[Place, str]) -> MatrixCell:
    return MatrixCell(
        LETTERS[cell.printed],
        LETTERS[cell.mine] if cell.judged else "",
        f"{cell.k}/{cell.n}" if cell.judged else "",
        MARKS[cell.state],
        STYLES[cell.state],
        spoken(cell),
        stems.get(cell.place, ""),
    )


def _behind(results: Results, found: Sequence[Found], stems: Mapping[Place, str]) -> list[Behind]:
    """The losses of every cell: of the training batches, thinned, and of the validation split."""
    traces = {"train": _lines(thinned(results)), "validation": _lines(curve(results, "nll", "validation"))}
    made = []
    for cell in found:
        fates = {course.run: judged.converged for _, course, judged in cell.judged}
        lines = [
            Trace(finite(traces[name].get(run, [])), name, converged)
            for run, converged in fates.items()
            for name in traces
        ]
        entropies = [course.curve.entropy for _, course, _ in cell.judged if course.curve.entropy is not None]
        title = f"{cell.table}, {said(cell.word)}, learning rate {plain(cell.rate)}"
        drawing = draw(lines, max(entropies, default=None))
        made.append(Behind(stems[cell.place], title, told(cell), drawing))
    return made


def _lines(rows: pl.DataFrame) -> dict[str, list[tuple[int, float]]]:
    each = rows.sort("step", maintain_order=True).group_by("run", maintain_order=True).agg("step", "value")
    return {run: list(zip(steps, values, strict=True)) for run, steps, values in each.iter_rows()}


def _notes(columns: Sequence[Reproduced], cells: Printed, guesses: Guesses, asked: Mapping[str, str]) -> list[str]:
    """The score, what trivial rules score, and the rule itself."""
    printed = [column.printed for column in columns]
    here, total = (sum(len(column.cells) for column in each) for each in (printed, columns_of(cells)))
    said = [f"Agreement: {'; '.join(agreement(columns))}."]
    if guesses:
        scores = sorted((right(printed, rules), name) for name, rules in guesses.items())
        each = listing(f"“{name}” {score}" for score, name in scores)
        which = f"all {total} printed cells" if here == total else f"the {here} printed cells that were run, of {total}"
        said.append(f"Of {which}, trivial rules get right: {each}.")
    entry = convergences[asked["rule"]]
    formula = entry.summary.replace("``", "").rstrip(".")
    mode = f", {asked['statistics']} statistics" if "statistics" in asked else ""
    given = ", ".join(f"{name} {plain(p.default)}" for name, p in entry.keywords.items())
    said.append(
        f"The rule, “{entry.name}”, on the {asked['split']} loss{mode}: {formula}; {given}. L_e is the loss of epoch e "
        "of n, L_0 the first, H the entropy of the labels, in nats; C is the majority of the seeds, each judged alone."
    )
    return said


def _finding(columns: Sequence[Reproduced], found: Sequence[Found]) -> str:
    agree = sum(cell.state == "agrees" for cell in found)
    parts = [f"{agree} of {len(found)} cells are as published", boundaries(columns, errors(columns))]
    return "; ".join(filter(None, parts))


def _table(found: Sequence[Found], matrix: Matrix) -> Table:
    entries = [_entry(cell) for cell in found]
    caption = "Published, then here by the majority of runs, how many of the seeds converge, and whether both agree "
    caption += "(✓ they do, ✗ they do not, = half of the seeds, – not run). C converged, N did not."
    shown = Grid("", _headings(found), tuple(_lines_of(found)), view=matrix)
    return Table(
        pl.DataFrame(entries, schema=_SCHEMA, orient="row"), dict(zip(_SCHEMA, _WORDS, strict=True)), caption, shown
    )


def _entry(cell: Found) -> tuple[object, ...]:
    low, high = clopper_pearson(cell.k, cell.n) if cell.n else (None, None)
    letters = (LETTERS[cell.printed], LETTERS[cell.mine] if cell.judged else None)
    return (cell.table, cell.rate, cell.word, *letters, cell.k, cell.n, low, high, cell.state, cell.time, cell.reasons)


def _headings(found: Sequence[Found]) -> tuple[str, ...]:
    return ("table", "learning rate", *map(said, dict.fromkeys(cell.word for cell in found)))


def _lines_of(found: Sequence[Found]) -> list[tuple[Cell, ...]]:
    """For papers: a row for each rate of each table, in each column all of a cell."""
    words = list(dict.fromkeys(cell.word for cell in found))
    made: list[tuple[Cell, ...]] = []
    for name, each in _by_table(found):
        at = {(cell.rate, cell.word): cell for cell in each}
        for place, rate in enumerate(sorted({cell.rate for cell in each}, reverse=True)):
            texts = [_text(at.get((rate, word))) for word in words]
            made.append((("" if place else name, False), (plain(rate), True), *((text, False) for text in texts)))
    return made


def _text(cell: Found | None) -> str:
    if cell is None:
        return "–"
    here = f"{LETTERS[cell.mine]} {cell.k}/{cell.n} " if cell.judged else ""
    return f"{LETTERS[cell.printed]}, {here}{MARKS[cell.state]}"
