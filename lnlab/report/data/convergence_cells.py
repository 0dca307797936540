"""The cells of a table of C and N: how many runs converge, why others do not, and what a source prints there.

Beside them the stored rows behind the cells, and which runs cannot be judged.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from lnlab.analyse.convergence.agreement import (
    RatesColumn,
    ReproducedColumn,
    cells_of_seeds,
    converged_runs,
    majority_cells,
    reproduced_columns,
)
from lnlab.analyse.convergence.curves import (
    LOSS_QUANTITIES,
    LossRecord,
    decisive_losses,
    loss_records,
    time_to_drop,
)
from lnlab.analyse.convergence.published import Printed
from lnlab.analyse.convergence.rules import Judgement, convergences
from lnlab.analyse.quantities.rates import RATE_PATH
from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.downsample import thin_points
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.data.series import missing_runs_sentence
from lnlab.report.words.wording import (
    axis_value_name,
    count_noun,
    format_number,
    format_short,
    format_value,
    join_words,
)
from lnlab.select.settings import settings_of
from lnlab.tables import Results

AGREEMENT_MARKS = {"own": "", "agrees": "✓", "differs": "✗", "half": "=", "missing": "–"}
OUTCOME_LETTERS = {True: "C", False: "N", None: "?"}
_OUTCOME_WORDS = {True: "converged", False: "not converged", None: "half of them"}
_NORM_NAMES = {"layer": "LayerNorm", "batch": "BatchNorm", "frozen_batch": "frozen BatchNorm", "none": "no norm"}
_MOST = 50
"""Points that a line has at most."""
CellAddress = tuple[str, str, float]
"""A table, a column and a rate."""


@dataclass(frozen=True)
class ConvergenceCell:
    """One cell of a table of C and N.

    Attributes:
        column: where it stands, with all runs of that model.
        rate: its row.
        printed: whether the source says that it converged, or None if it prints nothing.
        majority: whether most of our runs converged, or None if half of them did or none was judged.
        runs: the runs of this cell: ``run variant seed rate status reason value``.
        judged: those that were judged, by seed.
    """

    column: RatesColumn
    rate: float
    printed: bool | None
    majority: bool | None
    runs: pl.DataFrame
    judged: Sequence[tuple[int, LossRecord, Judgement]]

    @property
    def place(self) -> CellAddress:
        """Its address: table, column and rate."""
        return self.column.table, self.column.word, self.rate

    @property
    def k(self) -> int:
        """How many runs converge."""
        return sum(judged.converged for _, _, judged in self.judged)

    @property
    def n(self) -> int:
        """How many were judged."""
        return len(self.judged)

    @property
    def state(self) -> str:
        """A word of ``AGREEMENT_MARKS``, or ``own`` where there is nothing to agree with."""
        if not self.judged:
            return "missing"
        if self.printed is None:
            return "own"
        return "half" if self.majority is None else "agrees" if self.majority is self.printed else "differs"

    @property
    def time(self) -> float | None:
        """The median of the updates to nine tenths of the drop, infinite for runs that have not converged."""
        times = [time_to_drop(course) if judged.converged else float("inf") for _, course, judged in self.judged]
        return median(times) if times else None

    @property
    def reasons(self) -> str:
        """The reasons why runs did not converge, with their counts. Empty if all converged."""
        counts = Counter(judged.why for _, _, judged in self.judged if not judged.converged)
        return ", ".join(f"{k} {why}" for why, k in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def convergence_criteria(where: Mapping[str, Json]) -> dict[str, str]:
    """The convergence rule and the loss that a section names.

    Raises:
        ReportError: there is no such rule, or the rule or the split is not named.
    """
    criteria = {word: str(where[word]) for word in ("rule", "split", "statistics") if word in where}
    if not {"rule", "split"} <= criteria.keys():
        raise ReportError(
            Issue("unknown-name", "where", "names no rule or no split", "write where: {rule: learned, split: train}")
        )
    if criteria["rule"] not in convergences.entries:
        known = join_words(convergences.entries, "or")
        raise ReportError(Issue("wrong-type", "where.rule", f"found '{criteria['rule']}'", f"write {known}"))
    return criteria


def convergence_cells(
    results: Results, columns: Sequence[RatesColumn], where: Mapping[str, Json]
) -> list[ConvergenceCell]:
    """The cells of each column with the runs that ``where`` selects, from the largest rate to the smallest."""
    criteria = convergence_criteria(where)
    rule, mode = convergences.builder(convergences.resolve(criteria["rule"])), criteria.get("statistics")
    judged_curves: dict[str, tuple[LossRecord, Judgement]] = {}  # by run
    for course in loss_records(results):
        if course.split == criteria["split"] and mode in (None, course.statistics):
            judged_curves[course.run] = (course, rule(course.curve))
    # a curve of which there is not enough is not judged, which is no verdict that it failed
    judged_curves = {run: pair for run, pair in judged_curves.items() if pair[1].why != "short"}
    cells = []
    for column in columns:
        printed = column.printed.cells if isinstance(column, ReproducedColumn) else {}
        majorities = majority_cells(column)
        for rate in reversed(column.rates):
            runs = column.runs.filter(pl.col("rate") == rate).sort("seed")
            seeds = runs.select("run", "seed").iter_rows()
            judged = [(seed, *judged_curves[run]) for run, seed in seeds if run in judged_curves]
            cells.append(
                ConvergenceCell(
                    column=column,
                    rate=rate,
                    printed=printed.get(rate),
                    majority=majorities[rate],
                    runs=runs,
                    judged=judged,
                )
            )
    return cells


def own_columns(results: Results, where: Mapping[str, Json], across: str | None) -> list[RatesColumn]:
    """A column for every variant without its learning rate, of the runs that ``where`` selects.

    Args:
        results: of an experiment.
        where: the rule, the split of its loss, and which runs.
        across: the axis whose values are columns. All other axes that vary then make tables. None means one table.
    """
    convergence_criteria(where)
    runs = converged_runs(results, where).filter(pl.col("rate").is_not_null())
    labels = label_series(results, runs, RATE_PATH)[2]
    if across is None:
        words = labels.select("run", pl.lit("").alias("table"), word="series", place=pl.lit(0), line="line")
    else:
        axis = results.axes.filter(pl.col("axis") == across)
        if axis.is_empty():
            known = join_words(results.axes["axis"].unique(maintain_order=True))
            raise ReportError(Issue("no-effect", "across", f"{across} does not vary", f"name one of {known}"))
        short = settings_of(results).short_labels(across)
        names = [
            axis_value_name(across, json.loads(v), short[label]) for v, label in axis.select("value", "label").rows()
        ]
        order = list(dict.fromkeys(names))  # that of the sweep
        line = pl.Series([order.index(name) for name in names], dtype=pl.Int32)
        values = axis.select("run", word=pl.Series(names, dtype=pl.String), line=line)
        tables = label_series(results, runs, RATE_PATH, beside=across)[2]
        words = tables.select("run", table="series", place="line").join(
            values, on="run", how="inner", maintain_order="left"
        )
    grouped = runs.join(words, on="run", how="inner", maintain_order="left").sort("place", "line", maintain_order=True)
    return [
        RatesColumn("" if table == SINGLE_SERIES else table, word, rows.select(runs.columns), cells_of_seeds(rows))
        for (table, word), rows in grouped.group_by("table", "word", maintain_order=True)
    ]


def columns_in_order(results: Results, printed: Printed, where: Mapping[str, Json]) -> list[ReproducedColumn]:
    """The columns that were run, table by table, with the runs that ``where`` selects."""
    convergence_criteria(where)
    tables = [table.name for table in printed.tables]
    # within a table in the order of the sweep: YAML mappings have none
    labels = results.axes.filter(pl.col("axis") == printed.across)["label"].unique(maintain_order=True).to_list()
    places = {word: place for place, word in enumerate(labels)}

    def order(column: ReproducedColumn) -> tuple[int, int]:
        return tables.index(column.printed.table), places.get(column.printed.word, len(places))

    return sorted(reproduced_columns(results, printed, where), key=order)


def loss_rows(results: Results, quantity: str, split: str) -> pl.DataFrame:
    """Every row of one loss."""
    return results.tables["curves"].filter(pl.col("quantity") == quantity, pl.col("split") == split)


def thinned_losses(results: Results) -> pl.DataFrame:
    """The training losses at no more than ``_MOST`` steps a run, extremes included. Thinning is idempotent."""

    def thinned(results: Results) -> pl.DataFrame:
        rows = loss_rows(results, "loss", "train").filter(pl.col("value").is_finite()).sort("run", "step")
        long = pl.len().over("run") > _MOST
        marked = rows.filter(long).with_columns(panel=pl.lit(None, pl.String), series="run")
        if marked.is_empty():
            return rows
        thinned_rows = thin_points(marked, _MOST * marked["run"].n_unique())[0].drop("panel", "series")
        return pl.concat([rows.filter(~long), thinned_rows]).sort("run", "step")

    return results.once("thinned_losses", thinned)


def convergence_source_rows(
    results: Results, columns: Sequence[RatesColumn], *, curves: bool
) -> dict[str, pl.DataFrame]:
    """The stored rows behind columns: those that decide, and of other training losses those drawn, if they are."""
    runs = list({run for column in columns for run in column.runs["run"]})
    table = results.tables["curves"].filter(pl.col("run").is_in(runs), pl.col("quantity").is_in(LOSS_QUANTITIES))
    drawn = [thinned_losses(results).filter(pl.col("run").is_in(runs))] if curves else []
    return {"curves": pl.concat([decisive_losses(table), *drawn]).unique(maintain_order=True)}


def unjudged_runs(results: Results, columns: Sequence[RatesColumn]) -> str:
    """State which runs are missing. A diverged run is not, as its divergence is a judgement."""
    runs = pl.concat([column.runs for column in columns]).unique("run") if columns else results.runs
    return missing_runs_sentence(runs.with_columns(pl.col("status").replace("diverged", "finished")))


def cell_name(cell: ConvergenceCell) -> str:
    """Name a cell by its table, column and rate. A table that no source prints may have no name."""
    words = [word for word in (cell.column.table, norm_name(cell.column.word)) if word and word != SINGLE_SERIES]
    return ", ".join([*words, f"learning rate {format_value(cell.rate)}"])


def cell_description(cell: ConvergenceCell) -> str:
    """A cell in one sentence, for screen readers."""
    which = cell_name(cell)
    if cell.printed is None:
        return f"{which}: {cell.k} of {cell.n} converged" if cell.judged else f"{which}: not run"
    if not cell.judged:
        return f"{which}: published {_OUTCOME_WORDS[cell.printed]}, here not run"
    ours = f"here {cell.k} of {cell.n} converged"
    return f"{which}: published {_OUTCOME_WORDS[cell.printed]}, {ours}: {cell.state}"


def cell_sentences(cell: ConvergenceCell) -> tuple[str, ...]:
    """The numbers behind a cell, in sentences."""
    published = "" if cell.printed is None else f"Published: {_OUTCOME_WORDS[cell.printed]}. "
    if not cell.judged:
        return (f"{published}No run of it has ended{' here' if published else ''}.",)
    low, high = clopper_pearson(cell.k, cell.n)
    first = f"{published}{'Here ' if published else ''}{cell.k} of {count_noun(cell.n, 'run')} converged"
    first += f" (95 % interval of the share {low:.2f} to {high:.2f}, exact)."
    unjudged = cell.runs.height - cell.n
    sentences = [first, f"Median updates to nine tenths of the drop: {format_number(cell.time)}."]
    sentences += [f"{count_noun(unjudged, 'run')} could not be judged."] if unjudged else []
    sentences += [f"Seed {seed}: {judged.reason}." for seed, _, judged in cell.judged]
    return tuple(sentences)


def norm_name(word: str) -> str:
    """A norm as readers call it."""
    return _NORM_NAMES.get(word, word)


def boundary_error_text(columns: Sequence[ReproducedColumn], errors: Mapping[int, float]) -> str:
    """State how far the boundaries lie from the printed ones. Empty if no seed has all cells."""
    if not errors:
        return ""
    values = list(errors.values())
    off = format_short(sum(values) / len(values))
    return f"boundaries of {count_noun(len(columns), 'column')} are off by {off} grid steps on average"
