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
_WORDS = {True: "converged", False: "not converged", None: "half of them"}
_SAID = {"layer": "LayerNorm", "batch": "BatchNorm", "none": "no norm"}
Place = tuple[str, str, float]
"""A table, a column and a rate."""
_Behind = Mapping[str, tuple[Course, Judged]]
"""By run: its loss, and what the rule says of it."""


@dataclass(frozen=True)
class Found:
    """One cell.

    Attributes:
        table: the name of its table.
        word: its column.
        rate: its row.
        printed: whether the source says that it converged.
        mine: whether most of our runs do; None where it is half of them, or none was judged.
        runs: every run of it: ``run variant seed rate status reason value``.
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
        """Where it stands."""
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
    """The rule and the loss that a section asks for.

    Raises:
        ReportError: there is no such rule, or one of them is not named.
    """
    asked = {word: str(where[word]) for word in ("rule", "split", "statistics") if word in where}
    if not {"rule", "split"} <= asked.keys():
        raise ReportError(Problem("where", "names no rule or no split", "write where: {rule: learned, split: train}"))
    if asked["rule"] not in convergences.entries:
        known = listing(convergences.entries, "or")
        raise ReportError(Problem("where.rule", f"found '{asked['rule']}'", f"write {known}"))
    return asked


def found_cells(results: Results, printed: Printed, where: Mapping[str, Json]) -> tuple[list[Reproduced], list[Found]]:
    """The columns that were run, and their cells, table by table; of the runs that ``where`` takes."""
    columns = sorted(reproduced(results, printed, where), key=_order(results, printed))
    behind = _behind(results, where_of(where))
    return columns, [cell for column in columns for cell in _cells(column, behind)]


def _order(results: Results, printed: Printed) -> Callable[[Reproduced], tuple[int, int]]:
    """Tables as they are printed, their columns in the order of the sweep, as the keys of a mapping have none."""
    tables = [table.name for table in printed.tables]
    labels = results.axes.filter(pl.col("axis") == printed.across)["label"].unique(maintain_order=True).to_list()
    places = {word: place for place, word in enumerate(labels)}
    return lambda column: (tables.index(column.printed.table), places.get(column.printed.word, len(places)))


def _behind(results: Results, asked: Mapping[str, str]) -> _Behind:
    rule = convergences.builder(convergences.resolve(asked["rule"]))
    mode = asked.get("statistics")
    every = [c for c in courses(results) if c.split == asked["split"] and mode in (None, c.statistics)]
    judged = {course.run: (course, rule(course.curve)) for course in every}
    return {run: found for run, found in judged.items() if found[1].why != "short"}


def _cells(column: Reproduced, behind: _Behind) -> list[Found]:
    cells, mine = column.printed.cells, majority(column)
    made = []
    for rate in sorted(cells, reverse=True):
        runs = column.runs.filter(pl.col("rate") == rate).sort("seed")
        known = [(seed, *behind[run]) for run, seed in runs.select("run", "seed").iter_rows() if run in behind]
        here = column.printed
        made.append(Found(here.table, here.word, rate, cells[rate], mine[rate], runs, known))
    return made


def spoken(cell: Found) -> str:
    """A cell in one sentence, for those who cannot see it."""
    which = f"{cell.table}, {said(cell.word)}, learning rate {plain(cell.rate)}"
    if not cell.judged:
        return f"{which}: published {_WORDS[cell.printed]}, here not run"
    ours = f"here {cell.k} of {cell.n} converged"
    return f"{which}: published {_WORDS[cell.printed]}, {ours}: {cell.state}"


def told(cell: Found) -> tuple[str, ...]:
    """What is behind a cell, in sentences."""
    if not cell.judged:
        return (f"Published: {_WORDS[cell.printed]}. No run of it has ended here.",)
    low, high = clopper_pearson(cell.k, cell.n)
    first = f"Published: {_WORDS[cell.printed]}. Here {cell.k} of {count(cell.n, 'run')} converged"
    first += f" (95 % interval of the share {low:.2f} to {high:.2f}, exact)."
    gone = cell.runs.height - cell.n
    said = [first, f"Median updates to nine tenths of the drop: {number(cell.time)}."]
    said += [f"{count(gone, 'run')} could not be judged."] if gone else []
    said += [f"Seed {seed}: {judged.reason}." for seed, _, judged in cell.judged]
    return tuple(said)


def said(word: str) -> str:
    """A norm as readers call it."""
    return _SAID.get(word, word)


def boundaries(columns: Sequence[Reproduced], errors: Mapping[int, float]) -> str:
    """How far the boundaries lie from the printed ones, in words; empty where no seed has all cells."""
    if not errors:
        return ""
    values = list(errors.values())
    off = short(sum(values) / len(values))
    return f"boundaries of {count(len(columns), 'column')} are {off} steps of the grid off on average"
