"""Learning rates by models: how many runs converge, beside what a source prints, with the losses behind each cell."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from lnlab.analyse.convergence.agreement import RatesColumn, boundary_errors, majority_cells
from lnlab.analyse.convergence.published import Guesses, Printed, count_right_cells, printed_columns
from lnlab.analyse.convergence.rules import convergences
from lnlab.analyse.quantities.rates import RATE_PATH
from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.claims.kinds.table import agreement_remarks
from lnlab.keys import Json
from lnlab.report.cell_matrix import CellDetails, Matrix, MatrixCell, MatrixTable, Trace, draw_traces, finite_prefix
from lnlab.report.data.basin_runs import choices_sentences
from lnlab.report.data.convergence_cells import (
    AGREEMENT_MARKS,
    OUTCOME_LETTERS,
    ConvergenceCell,
    boundary_error_text,
    cell_description,
    cell_name,
    cell_sentences,
    columns_in_order,
    convergence_cells,
    convergence_criteria,
    convergence_source_rows,
    loss_rows,
    norm_name,
    own_columns,
    thinned_losses,
    unjudged_runs,
)
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.wording import format_value, in_variant, join_words, two_at_most
from lnlab.tables import Results

_STYLES = {"own": "own", "agrees": "supported", "differs": "contradicted", "half": "undecided", "missing": "not"}
_NOT_IN_GRID = MatrixCell(
    printed="", ours="", seeds="", mark="", style=_STYLES["own"], says="not in the grid", target=""
)
_SHARE = {"low": pl.Float64, "high": pl.Float64}
_SCHEMA = {"table": pl.String, "rate": pl.Float64, "column": pl.String, "published": pl.String, "here": pl.String}
_SCHEMA |= {"k": pl.Int64, "n": pl.Int64, **_SHARE, "agreement": pl.String, "time": pl.Float64, "others": pl.String}
_WORDS = (
    *("table", "learning rate", "column", "published", "here", "converged", "runs", "95 % low", "95 % high"),
    *("agreement", "median updates to nine tenths of the drop", "others"),
)


@sections.register("convergence_table", implied=("converged",))
def convergence_table(
    results: Results,
    decisions: Sequence[Mapping[str, Json]] = (),
    *,
    where: dict[str, Json],
    cells: Printed | None = None,
    across: str | None = None,
    guesses: Guesses = {},  # noqa: B006 - a field's default
    curves: bool = True,
) -> Section:
    """``C or N, k/n``: how many runs converge at each learning rate, with the losses behind each cell (Yu, 2024).

    ``where: {rule: ..., split: ...}`` says by which rule of convergence, on which loss, and of which runs. Without
    ``cells`` each model is a column, and nothing is compared; ``across`` names the axis whose values are columns, where
    the others shall make tables. ``cells`` are printed tables, with which each cell is compared, and ``guesses``
    trivial rules, whose right cells stand beside ours. ``curves: false`` leaves out the losses. Where the rates were
    chosen on tuning seeds, the chosen ones alone are judged, and the caption says from which grid.
    """
    criterion = convergence_criteria(where)
    printed = None if cells is None else columns_in_order(results, cells, where)
    columns = own_columns(results, where, across) if printed is None else printed
    reproduced_cells = convergence_cells(results, columns, where)
    rows = convergence_source_rows(results, columns, curves=curves)
    if not any(cell.judged for cell in reproduced_cells):
        return Section("No run of these tables has ended yet", missing=unjudged_runs(results, columns), rows=rows)
    words = re.findall(r"\w+", " ".join(str(value).lower() for value in {**criterion, **where}.values()))
    stems = {cell.place: f"cell-{'-'.join(words)}-{n}" for n, cell in enumerate(reproduced_cells, 1)} if curves else {}
    blocks = []
    for name, table_cells in _by_table(reproduced_cells):
        heads = list(dict.fromkeys(cell.column.word for cell in table_cells))
        # columns may have grids of their own, or one chosen rate each: the others have nothing at that rate
        lines = {
            rate: dict.fromkeys(heads, _NOT_IN_GRID)
            for rate in sorted({cell.rate for cell in table_cells}, reverse=True)
        }
        for cell in table_cells:
            lines[cell.rate][cell.column.word] = MatrixCell(
                printed=_printed_letter(cell),
                ours=OUTCOME_LETTERS[cell.majority] if cell.judged else "",
                seeds=f"{cell.k}/{cell.n}" if cell.judged else "",
                mark=AGREEMENT_MARKS[cell.state],
                style=_STYLES[cell.state],
                says=cell_description(cell),
                target=stems.get(cell.place, ""),
                shade=round(4 * cell.k / cell.n) if cell.judged else None,
            )
        of_rates = tuple((format_value(rate), tuple(line.values())) for rate, line in lines.items())
        blocks.append(MatrixTable(name, tuple(map(norm_name, heads)), of_rates))
    # the losses of every cell: of the training batches, thinned, and of the validation split
    details = []
    if curves:
        traces = {
            "train": _lines(thinned_losses(results)),
            "validation": _lines(loss_rows(results, "nll", "validation")),
        }
        for cell in reproduced_cells:
            runs = {course.run: judged.converged for _, course, judged in cell.judged}
            drawn = [
                Trace(finite_prefix(traces[split].get(run, [])), split, converged)
                for run, converged in runs.items()
                for split in traces
            ]
            entropies = [course.curve.entropy for _, course, _ in cell.judged if course.curve.entropy is not None]
            drawing = draw_traces(drawn, max(entropies, default=None))
            details.append(CellDetails(stems[cell.place], cell_name(cell), cell_sentences(cell), drawing))
    notes = []
    if cells is not None and printed is not None:
        notes.append(f"Agreement: {'; '.join(agreement_remarks(printed))}.")
        reproduced = [column.printed for column in printed]
        if guesses:
            n_run = sum(len(column.cells) for column in reproduced)
            n_printed = sum(len(column.cells) for column in printed_columns(cells))
            scores = sorted((count_right_cells(reproduced, rules), name) for name, rules in guesses.items())
            score_list = join_words(f"“{name}” {score}" for score, name in scores)
            some = f"the {n_run} printed cells that were run, of {n_printed}"
            which = f"all {n_printed} printed cells" if n_run == n_printed else some
            notes.append(f"Trivial rules, right on {which}: {score_list}.")
    rule = convergences[criterion["rule"]]  # in words: when a run has converged
    formula = rule.summary.replace("``", "").rstrip(".")
    mode = f", {criterion['statistics']} statistics" if "statistics" in criterion else ""
    parameters = ", ".join(f"{name} {format_value(p.default)}" for name, p in rule.keywords.items())
    notes.append(
        f"The rule, “{rule.name}”, on the {criterion['split']} loss{mode}: {formula}; {parameters}. "
        "L_e is the loss of epoch e of n, L_0 the first loss, H the entropy of the labels, in nats. C is decided by "
        "the majority of the seeds, each judged by itself."
    )
    matrix = Matrix(tuple(blocks), tuple(notes), tuple(details), compared=printed is not None)
    shown_runs = pl.concat([column.runs.select("run") for column in columns]).unique()
    choices = choices_sentences(decisions, results, shown_runs, RATE_PATH, "learning rates")
    if printed is None:
        finding = _chosen_finding(columns) if choices else _own_finding(columns)
    else:
        agree = sum(cell.state == "agrees" for cell in reproduced_cells)
        off = boundary_error_text(printed, boundary_errors(printed))
        finding = f"{agree} of {len(reproduced_cells)} cells are as published{f'; {off}' if off else ''}"
    entries: list[tuple[object, ...]] = []
    for cell in reproduced_cells:
        low, high = clopper_pearson(cell.k, cell.n) if cell.n else (None, None)
        letters = (_printed_letter(cell), OUTCOME_LETTERS[cell.majority] if cell.judged else None)
        ours = (cell.k, cell.n, low, high, cell.state, cell.time, cell.reasons)
        entries.append((cell.column.table, cell.rate, cell.column.word, *letters, *ours))
    exact = pl.DataFrame(entries, schema=_SCHEMA, orient="row")
    if matrix.compared:
        subject = (
            "Majority of the runs, number of converged seeds, and agreement with the published cell (✓ yes, ✗ no, = "
            "half of the seeds, – not run). C: converged. N: not converged"
        )
    else:
        at_rates = "" if choices else " at each learning rate"
        subject = f"Number of converged seeds{at_rates}. C: most converge. N: most do not"
        named = [] if any(cell.column.table for cell in reproduced_cells) else ["table"]
        exact = exact.drop("published", "agreement", *named)
    # for papers: a row for each rate of each table, in each column all of a cell
    heads = list(dict.fromkeys(cell.column.word for cell in reproduced_cells))
    body: list[tuple[Cell, ...]] = []
    for name, group in _by_table(reproduced_cells):
        by_place = {(cell.rate, cell.column.word): cell for cell in group}
        for index, rate in enumerate(sorted({cell.rate for cell in group}, reverse=True)):
            texts = []
            for there in (by_place.get((rate, head)) for head in heads):
                here = f"{OUTCOME_LETTERS[there.majority]} {there.k}/{there.n} " if there and there.judged else ""
                if there is None or there.printed is None:
                    texts.append(here.strip() or "–")
                else:
                    texts.append(f"{_printed_letter(there)}, {here}{AGREEMENT_MARKS[there.state]}")
            body.append(
                (("" if index else name, False), (format_value(rate), True), *((text, False) for text in texts))
            )
    table = Table(
        exact,
        {name: word for name, word in zip(_SCHEMA, _WORDS, strict=True) if name in exact.columns},
        subject,
        Grid("", ("table", "learning rate", *map(norm_name, heads)), tuple(body), view=matrix),
        notes=(choices, "Only these are judged.") if choices else (),
    )
    return Section(finding, tables=(table,), missing=unjudged_runs(results, columns), rows=rows)


def _by_table(cells: Sequence[ConvergenceCell]) -> list[tuple[str, list[ConvergenceCell]]]:
    return [(name, list(group)) for name, group in groupby(cells, key=lambda cell: cell.column.table)]


def _lines(rows: pl.DataFrame) -> dict[str, list[tuple[int, float]]]:
    groups = rows.sort("step", maintain_order=True).group_by("run", maintain_order=True).agg("step", "value")
    return {run: list(zip(steps, values, strict=True)) for run, steps, values in groups.iter_rows()}


def _chosen_finding(columns: Sequence[RatesColumn]) -> str:
    """Whether most seeds of each column converge at the rate that was chosen for it."""
    most = {", ".join(filter(None, (c.table, norm_name(c.word)))): all(majority_cells(c).values()) for c in columns}
    yes, no = ([name for name, converged in most.items() if converged is word] for word in (True, False))
    if not no or not yes:
        everywhere = " in every column" if len(columns) > 1 else ""
        return f"At the chosen learning rates most seeds {'' if yes else 'do not '}converge{everywhere}"
    return (
        f"At the chosen learning rates most seeds converge {two_at_most(map(in_variant, yes), sentences=False)}, and "
        f"not {two_at_most(map(in_variant, no), sentences=False)}"
    )


def _own_finding(columns: Sequence[RatesColumn]) -> str:
    """State up to which learning rate most seeds of each column converge."""
    several_tables = len({column.table for column in columns}) > 1
    rates, clauses = [], []
    for column in columns:
        words = [column.table] if several_tables else []
        words += [norm_name(column.word)] if column.word != SINGLE_SERIES else []
        converged = [rate for rate, most in majority_cells(column).items() if most]
        rates.append(format_value(max(converged)) if converged else "none")
        clauses.append(f"{rates[-1]} {in_variant(', '.join(words))}")
    if set(rates) == {"none"}:
        return "Most seeds converge at no learning rate"
    if len(columns) == 1:
        return f"Most seeds converge up to {rates[0]}"
    if len(set(rates)) == 1:
        clauses = [f"{rates[0]} with {'both' if len(rates) == 2 else f'all {len(rates)}'}"]
    return f"The largest learning rate at which most seeds converge is {two_at_most(clauses, sentences=False)}"


def _printed_letter(cell: ConvergenceCell) -> str:
    return "" if cell.printed is None else OUTCOME_LETTERS[cell.printed]
