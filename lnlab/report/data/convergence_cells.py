"""The cells of a printed table of C and N: what is printed, how many of our runs converge, and why others do not."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from lnlab.analyse.convergence.agreement import Reproduced, majority, reproduced
from lnlab.analyse.convergence.curves import Course, courses, time_of
from lnlab.analyse.convergence.published import Printed
from lnlab.analyse.convergence.rules import Judged, convergences
from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.errors import Problem, ReportError
from lnlab.keys import Json
from lnlab.report.words.wording import count, listing, number, plain, short
from lnlab.tables import Results

MARKS = {"agrees": "✓", "differs": "✗", "half": "=", "missing": "–"}
LETTERS = {True: "C", False: "N", None: "?"}
_OUTCOME_WORDS = {True: "converged", False: "not converged", None: "half of them"}
_NORM_NAMES = {"layer": "LayerNorm", "batch": "BatchNorm", "none": "no norm"}
Place = tuple[str, str, float]
"""A table, a column and a rate."""
_JudgedCurves = Mapping[str, tuple[Course, Judged]]
"""By run: its loss curve and the verdict of the convergence rule."""


@dataclass(frozen=True)
class Found:
    """One cell.

    Attributes:
        table: the name of its table.
        word: its column.
        rate: its row.
        printed: whether the source says that it converged.
        mine: whether most of our runs converged; None where half of them did, or none was judged.
        runs: the runs of this cell: ``run variant seed rate status reason value``.
        judged: those that were judged, by seed.
    """

    table: str
    word: str
    rate: float
    printed: bool
    mine: bool | None
    runs: pl.DataFrame
    judged: Sequence[tuple[int, Course, Judged]]

    @property
    def place(self) -> Place:
        """Its address: table, column and rate."""
        return self.table, self.word, self.rate

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
        """A word of ``MARKS``."""
        if not self.judged:
            return "missing"
        return "half" if self.mine is None else "agrees" if self.mine is self.printed else "differs"

    @property
    def time(self) -> float | None:
        """The median of the updates to nine tenths of the drop, infinite for runs that have not converged."""
        times = [time_of(course) if judged.converged else float("inf") for _, course, judged in self.judged]
        return median(times) if times else None

    @property
    def reasons(self) -> str:
        """Why runs have not converged, counted; empty where all have."""
        counts = Counter(judged.why for _, _, judged in self.judged if not judged.converged)
        return ", ".join(f"{k} {why}" for why, k in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def where_of(where: Mapping[str, Json]) -> dict[str, str]:
    """The convergence rule and the loss that a section names.

    Raises:
        ReportError: there is no such rule, or the rule or the split is not named.
    """
    criteria = {word: str(where[word]) for word in ("rule", "split", "statistics") if word in where}
    if not {"rule", "split"} <= criteria.keys():
        raise ReportError(Problem("where", "names no rule or no split", "write where: {rule: learned, split: train}"))
    if criteria["rule"] not in convergences.entries:
        known = listing(convergences.entries, "or")
        raise ReportError(Problem("where.rule", f"found '{criteria['rule']}'", f"write {known}"))
    return criteria


def found_cells(results: Results, printed: Printed, where: Mapping[str, Json]) -> tuple[list[Reproduced], list[Found]]:
    """The columns that were run, and their cells, table by table; of the runs that ``where`` selects."""
    columns = sorted(reproduced(results, printed, where), key=_order(results, printed))
    judged_curves = _judged_curves(results, where_of(where))
    return columns, [cell for column in columns for cell in _cells(column, judged_curves)]


def _order(results: Results, printed: Printed) -> Callable[[Reproduced], tuple[int, int]]:
    """A sort key: tables as they are printed, their columns in the order of the sweep (YAML mappings have none)."""
    tables = [table.name for table in printed.tables]
    labels = results.axes.filter(pl.col("axis") == printed.across)["label"].unique(maintain_order=True).to_list()
    places = {word: place for place, word in enumerate(labels)}
    return lambda column: (tables.index(column.printed.table), places.get(column.printed.word, len(places)))


def _judged_curves(results: Results, criteria: Mapping[str, str]) -> _JudgedCurves:
    rule = convergences.builder(convergences.resolve(criteria["rule"]))
    mode = criteria.get("statistics")
    matching_courses = [c for c in courses(results) if c.split == criteria["split"] and mode in (None, c.statistics)]
    judged = {course.run: (course, rule(course.curve)) for course in matching_courses}
    return {run: (course, judgement) for run, (course, judgement) in judged.items() if judgement.why != "short"}


def _cells(column: Reproduced, judged_curves: _JudgedCurves) -> list[Found]:
    printed, majorities = column.printed, majority(column)
    cells = []
    for rate in sorted(printed.cells, reverse=True):
        runs = column.runs.filter(pl.col("rate") == rate).sort("seed")
        seeds = runs.select("run", "seed").iter_rows()
        judged = [(seed, *judged_curves[run]) for run, seed in seeds if run in judged_curves]
        cells.append(Found(printed.table, printed.word, rate, printed.cells[rate], majorities[rate], runs, judged))
    return cells


def spoken(cell: Found) -> str:
    """A cell in one sentence, for screen readers."""
    which = f"{cell.table}, {said(cell.word)}, learning rate {plain(cell.rate)}"
    if not cell.judged:
        return f"{which}: published {_OUTCOME_WORDS[cell.printed]}, here not run"
    ours = f"here {cell.k} of {cell.n} converged"
    return f"{which}: published {_OUTCOME_WORDS[cell.printed]}, {ours}: {cell.state}"


def told(cell: Found) -> tuple[str, ...]:
    """The numbers behind a cell, in sentences."""
    if not cell.judged:
        return (f"Published: {_OUTCOME_WORDS[cell.printed]}. No run of it has ended here.",)
    low, high = clopper_pearson(cell.k, cell.n)
    first = f"Published: {_OUTCOME_WORDS[cell.printed]}. Here {cell.k} of {count(cell.n, 'run')} converged"
    first += f" (95 % interval of the share {low:.2f} to {high:.2f}, exact)."
    unjudged = cell.runs.height - cell.n
    sentences = [first, f"Median updates to nine tenths of the drop: {number(cell.time)}."]
    sentences += [f"{count(unjudged, 'run')} could not be judged."] if unjudged else []
    sentences += [f"Seed {seed}: {judged.reason}." for seed, _, judged in cell.judged]
    return tuple(sentences)


def said(word: str) -> str:
    """A norm as readers call it."""
    return _NORM_NAMES.get(word, word)


def boundaries(columns: Sequence[Reproduced], errors: Mapping[int, float]) -> str:
    """How far the boundaries lie from the printed ones, in words; empty where no seed has all cells."""
    if not errors:
        return ""
    values = list(errors.values())
    off = short(sum(values) / len(values))
    return f"boundaries of {count(len(columns), 'column')} are {off} steps of the grid off on average"
