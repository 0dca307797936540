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

_STYLES = {"agrees": "supported", "differs": "contradicted", "half": "undecided", "missing": "not"}
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
    criterion = where_of(where)
    columns, reproduced_cells = found_cells(results, cells, where)
    rows = rows_behind(results, columns)
    if not any(cell.judged for cell in reproduced_cells):
        return Section("No run of these tables has ended yet", missing=unjudged(results, columns), rows=rows)
    words = re.findall(r"\w+", " ".join(str(value).lower() for value in {**criterion, **where}.values()))
    stems = {cell.place: f"cell-{'-'.join(words)}-{n}" for n, cell in enumerate(reproduced_cells, 1)} if curves else {}
    blocks = tuple(_block(name, table_cells, stems) for name, table_cells in _by_table(reproduced_cells))
    details = tuple(_details(results, reproduced_cells, stems)) if curves else ()
    matrix = Matrix(blocks, tuple(_notes(columns, cells, guesses, criterion)), details)
    finding = _finding(columns, reproduced_cells)
    return Section(finding, (), (_table(reproduced_cells, matrix),), unjudged(results, columns), rows)


def _by_table(cells: Sequence[Found]) -> list[tuple[str, list[Found]]]:
    return [(name, list(group)) for name, group in groupby(cells, key=lambda cell: cell.table)]


def _block(name: str, cells: Sequence[Found], stems: Mapping[Place, str]) -> Block:
    columns = list(dict.fromkeys(cell.word for cell in cells))
    by_place = {(cell.rate, cell.word): cell for cell in cells}
    rates = sorted({cell.rate for cell in cells}, reverse=True)
    rows = ((plain(rate), tuple(_cell(by_place[rate, column], stems) for column in columns)) for rate in rates)
    return Block(name, tuple(map(said, columns)), tuple(rows))


def _cell(cell: Found, stems: Mapping[Place, str]) -> MatrixCell:
    return MatrixCell(
        LETTERS[cell.printed],
        LETTERS[cell.mine] if cell.judged else "",
        f"{cell.k}/{cell.n}" if cell.judged else "",
        MARKS[cell.state],
        _STYLES[cell.state],
        spoken(cell),
        stems.get(cell.place, ""),
    )


def _details(results: Results, cells: Sequence[Found], stems: Mapping[Place, str]) -> list[Behind]:
    """The losses of every cell: of the training batches, thinned, and of the validation split."""
    traces = {"train": _lines(thinned(results)), "validation": _lines(curve(results, "nll", "validation"))}
    details = []
    for cell in cells:
        outcomes = {course.run: judged.converged for _, course, judged in cell.judged}
        lines = [
            Trace(finite(traces[name].get(run, [])), name, converged)
            for run, converged in outcomes.items()
            for name in traces
        ]
        entropies = [course.curve.entropy for _, course, _ in cell.judged if course.curve.entropy is not None]
        title = f"{cell.table}, {said(cell.word)}, learning rate {plain(cell.rate)}"
        drawing = draw(lines, max(entropies, default=None))
        details.append(Behind(stems[cell.place], title, told(cell), drawing))
    return details


def _lines(rows: pl.DataFrame) -> dict[str, list[tuple[int, float]]]:
    groups = rows.sort("step", maintain_order=True).group_by("run", maintain_order=True).agg("step", "value")
    return {run: list(zip(steps, values, strict=True)) for run, steps, values in groups.iter_rows()}


def _notes(columns: Sequence[Reproduced], cells: Printed, guesses: Guesses, criterion: Mapping[str, str]) -> list[str]:
    """The score, what trivial rules score, and the rule itself."""
    reproduced = [column.printed for column in columns]
    n_run = sum(len(column.cells) for column in reproduced)
    n_printed = sum(len(column.cells) for column in columns_of(cells))
    notes = [f"Agreement: {'; '.join(agreement(columns))}."]
    if guesses:
        scores = sorted((right(reproduced, rules), name) for name, rules in guesses.items())
        score_list = listing(f"“{name}” {score}" for score, name in scores)
        some = f"the {n_run} printed cells that were run, of {n_printed}"
        which = f"all {n_printed} printed cells" if n_run == n_printed else some
        notes.append(f"Of {which}, trivial rules get right: {score_list}.")
    entry = convergences[criterion["rule"]]
    formula = entry.summary.replace("``", "").rstrip(".")
    mode = f", {criterion['statistics']} statistics" if "statistics" in criterion else ""
    parameters = ", ".join(f"{name} {plain(p.default)}" for name, p in entry.keywords.items())
    notes.append(
        f"The rule, “{entry.name}”, on the {criterion['split']} loss{mode}: {formula}; {parameters}. L_e is the "
        "loss of epoch e of n, L_0 the first, H the entropy of the labels, in nats; C is the majority of the seeds, "
        "each judged alone."
    )
    return notes


def _finding(columns: Sequence[Reproduced], cells: Sequence[Found]) -> str:
    agree = sum(cell.state == "agrees" for cell in cells)
    parts = [f"{agree} of {len(cells)} cells are as published", boundaries(columns, errors(columns))]
    return "; ".join(filter(None, parts))


def _table(cells: Sequence[Found], matrix: Matrix) -> Table:
    entries = [_entry(cell) for cell in cells]
    caption = "Published, then here by the majority of runs, how many of the seeds converge, and whether both agree "
    caption += "(✓ they do, ✗ they do not, = half of the seeds, – not run). C converged, N did not."
    grid = Grid("", _headings(cells), tuple(_grid_rows(cells)), view=matrix)
    return Table(
        pl.DataFrame(entries, schema=_SCHEMA, orient="row"), dict(zip(_SCHEMA, _WORDS, strict=True)), caption, grid
    )


def _entry(cell: Found) -> tuple[object, ...]:
    low, high = clopper_pearson(cell.k, cell.n) if cell.n else (None, None)
    letters = (LETTERS[cell.printed], LETTERS[cell.mine] if cell.judged else None)
    return (cell.table, cell.rate, cell.word, *letters, cell.k, cell.n, low, high, cell.state, cell.time, cell.reasons)


def _headings(cells: Sequence[Found]) -> tuple[str, ...]:
    return ("table", "learning rate", *map(said, dict.fromkeys(cell.word for cell in cells)))


def _grid_rows(cells: Sequence[Found]) -> list[tuple[Cell, ...]]:
    """For papers: a row for each rate of each table, in each column all of a cell."""
    columns = list(dict.fromkeys(cell.word for cell in cells))
    rows: list[tuple[Cell, ...]] = []
    for name, group in _by_table(cells):
        by_place = {(cell.rate, cell.word): cell for cell in group}
        for index, rate in enumerate(sorted({cell.rate for cell in group}, reverse=True)):
            texts = [_text(by_place.get((rate, column))) for column in columns]
            rows.append((("" if index else name, False), (plain(rate), True), *((text, False) for text in texts)))
    return rows


def _text(cell: Found | None) -> str:
    if cell is None:
        return "–"
    ours = f"{LETTERS[cell.mine]} {cell.k}/{cell.n} " if cell.judged else ""
    return f"{LETTERS[cell.printed]}, {ours}{MARKS[cell.state]}"
