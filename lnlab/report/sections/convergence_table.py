"""A printed table of C and N and ours in one: a link in each cell to the losses behind it, and the rule below."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from lnlab.analyse.convergence.agreement import ReproducedColumn, boundary_errors
from lnlab.analyse.convergence.published import Guesses, Printed, count_right_cells, printed_columns
from lnlab.analyse.convergence.rules import convergences
from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.claims.kinds.table import agreement_remarks
from lnlab.keys import Json
from lnlab.report.cell_matrix import CellDetails, Matrix, MatrixCell, MatrixTable, Trace, draw_traces, finite_prefix
from lnlab.report.data.convergence_cells import (
    AGREEMENT_MARKS,
    OUTCOME_LETTERS,
    CellAddress,
    ConvergenceCell,
    boundary_error_text,
    cell_description,
    cell_sentences,
    convergence_cells,
    convergence_criteria,
    norm_name,
)
from lnlab.report.data.convergence_rows import convergence_source_rows, loss_rows, thinned_losses, unjudged_runs
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.wording import format_value, join_words
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
    criterion = convergence_criteria(where)
    columns, reproduced_cells = convergence_cells(results, cells, where)
    rows = convergence_source_rows(results, columns, curves=curves)
    if not any(cell.judged for cell in reproduced_cells):
        return Section("No run of these tables has ended yet", missing=unjudged_runs(results, columns), rows=rows)
    words = re.findall(r"\w+", " ".join(str(value).lower() for value in {**criterion, **where}.values()))
    stems = {cell.place: f"cell-{'-'.join(words)}-{n}" for n, cell in enumerate(reproduced_cells, 1)} if curves else {}
    blocks = tuple(_block(name, table_cells, stems) for name, table_cells in _by_table(reproduced_cells))
    details = tuple(_details(results, reproduced_cells, stems)) if curves else ()
    matrix = Matrix(blocks, tuple(_notes(columns, cells, guesses, criterion)), details)
    finding = _finding(columns, reproduced_cells)
    return Section(
        finding, tables=(_table(reproduced_cells, matrix),), missing=unjudged_runs(results, columns), rows=rows
    )


def _by_table(cells: Sequence[ConvergenceCell]) -> list[tuple[str, list[ConvergenceCell]]]:
    return [(name, list(group)) for name, group in groupby(cells, key=lambda cell: cell.table)]


def _block(name: str, cells: Sequence[ConvergenceCell], stems: Mapping[CellAddress, str]) -> MatrixTable:
    columns = list(dict.fromkeys(cell.word for cell in cells))
    by_place = {(cell.rate, cell.word): cell for cell in cells}
    rates = sorted({cell.rate for cell in cells}, reverse=True)
    rows = ((format_value(rate), tuple(_cell(by_place[rate, column], stems) for column in columns)) for rate in rates)
    return MatrixTable(name, tuple(map(norm_name, columns)), tuple(rows))


def _cell(cell: ConvergenceCell, stems: Mapping[CellAddress, str]) -> MatrixCell:
    return MatrixCell(
        printed=OUTCOME_LETTERS[cell.printed],
        ours=OUTCOME_LETTERS[cell.majority] if cell.judged else "",
        seeds=f"{cell.k}/{cell.n}" if cell.judged else "",
        mark=AGREEMENT_MARKS[cell.state],
        style=_STYLES[cell.state],
        says=cell_description(cell),
        target=stems.get(cell.place, ""),
        shade=round(4 * cell.k / cell.n) if cell.judged else None,
    )


def _details(results: Results, cells: Sequence[ConvergenceCell], stems: Mapping[CellAddress, str]) -> list[CellDetails]:
    """The losses of every cell: of the training batches, thinned, and of the validation split."""
    traces = {"train": _lines(thinned_losses(results)), "validation": _lines(loss_rows(results, "nll", "validation"))}
    details = []
    for cell in cells:
        outcomes = {course.run: judged.converged for _, course, judged in cell.judged}
        lines = [
            Trace(finite_prefix(traces[name].get(run, [])), name, converged)
            for run, converged in outcomes.items()
            for name in traces
        ]
        entropies = [course.curve.entropy for _, course, _ in cell.judged if course.curve.entropy is not None]
        title = f"{cell.table}, {norm_name(cell.word)}, learning rate {format_value(cell.rate)}"
        drawing = draw_traces(lines, max(entropies, default=None))
        details.append(CellDetails(stems[cell.place], title, cell_sentences(cell), drawing))
    return details


def _lines(rows: pl.DataFrame) -> dict[str, list[tuple[int, float]]]:
    groups = rows.sort("step", maintain_order=True).group_by("run", maintain_order=True).agg("step", "value")
    return {run: list(zip(steps, values, strict=True)) for run, steps, values in groups.iter_rows()}


def _notes(
    columns: Sequence[ReproducedColumn], cells: Printed, guesses: Guesses, criterion: Mapping[str, str]
) -> list[str]:
    """The score, what trivial rules score, and the rule itself."""
    reproduced = [column.printed for column in columns]
    n_run = sum(len(column.cells) for column in reproduced)
    n_printed = sum(len(column.cells) for column in printed_columns(cells))
    notes = [f"Agreement: {'; '.join(agreement_remarks(columns))}."]
    if guesses:
        scores = sorted((count_right_cells(reproduced, rules), name) for name, rules in guesses.items())
        score_list = join_words(f"“{name}” {score}" for score, name in scores)
        some = f"the {n_run} printed cells that were run, of {n_printed}"
        which = f"all {n_printed} printed cells" if n_run == n_printed else some
        notes.append(f"Of {which}, trivial rules get right: {score_list}.")
    entry = convergences[criterion["rule"]]
    formula = entry.summary.replace("``", "").rstrip(".")
    mode = f", {criterion['statistics']} statistics" if "statistics" in criterion else ""
    parameters = ", ".join(f"{name} {format_value(p.default)}" for name, p in entry.keywords.items())
    notes.append(
        f"The rule, “{entry.name}”, on the {criterion['split']} loss{mode}: {formula}; {parameters}. L_e is the "
        "loss of epoch e of n, L_0 the first, H the entropy of the labels, in nats; C is the majority of the seeds, "
        "each judged alone."
    )
    return notes


def _finding(columns: Sequence[ReproducedColumn], cells: Sequence[ConvergenceCell]) -> str:
    agree = sum(cell.state == "agrees" for cell in cells)
    parts = [f"{agree} of {len(cells)} cells are as published", boundary_error_text(columns, boundary_errors(columns))]
    return "; ".join(filter(None, parts))


def _table(cells: Sequence[ConvergenceCell], matrix: Matrix) -> Table:
    entries = [_entry(cell) for cell in cells]
    caption = "Here by the majority of runs, how many of the seeds converge, and whether that is as published "
    caption += "(✓ it is, ✗ it is not, = half of the seeds, – not run). C converged, N did not."
    grid = Grid("", _headings(cells), tuple(_grid_rows(cells)), view=matrix)
    return Table(
        pl.DataFrame(entries, schema=_SCHEMA, orient="row"), dict(zip(_SCHEMA, _WORDS, strict=True)), caption, grid
    )


def _entry(cell: ConvergenceCell) -> tuple[object, ...]:
    low, high = clopper_pearson(cell.k, cell.n) if cell.n else (None, None)
    letters = (OUTCOME_LETTERS[cell.printed], OUTCOME_LETTERS[cell.majority] if cell.judged else None)
    return (cell.table, cell.rate, cell.word, *letters, cell.k, cell.n, low, high, cell.state, cell.time, cell.reasons)


def _headings(cells: Sequence[ConvergenceCell]) -> tuple[str, ...]:
    return ("table", "learning rate", *map(norm_name, dict.fromkeys(cell.word for cell in cells)))


def _grid_rows(cells: Sequence[ConvergenceCell]) -> list[tuple[Cell, ...]]:
    """For papers: a row for each rate of each table, in each column all of a cell."""
    columns = list(dict.fromkeys(cell.word for cell in cells))
    rows: list[tuple[Cell, ...]] = []
    for name, group in _by_table(cells):
        by_place = {(cell.rate, cell.word): cell for cell in group}
        for index, rate in enumerate(sorted({cell.rate for cell in group}, reverse=True)):
            texts = [_text(by_place.get((rate, column))) for column in columns]
            rows.append(
                (("" if index else name, False), (format_value(rate), True), *((text, False) for text in texts))
            )
    return rows


def _text(cell: ConvergenceCell | None) -> str:
    if cell is None:
        return "–"
    ours = f"{OUTCOME_LETTERS[cell.majority]} {cell.k}/{cell.n} " if cell.judged else ""
    return f"{OUTCOME_LETTERS[cell.printed]}, {ours}{AGREEMENT_MARKS[cell.state]}"
