"""Candidates for what a source does not say, by how near each comes to its tables of C and N."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from lnlab.analyse.convergence.agreement import Reproduced, errors, majority
from lnlab.analyse.convergence.boundary import boundary
from lnlab.analyse.convergence.published import Printed, PrintedColumn, columns_of
from lnlab.analyse.statistics.intervals import student
from lnlab.keys import Json
from lnlab.report.data.convergence_cells import found_cells, said
from lnlab.report.data.convergence_rows import rows_behind, unjudged
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.wording import MINUS, count, interval, plain, short, tight
from lnlab.tables import Results

_FEWEST = 2
"""Seeds that an interval needs."""
_SCHEMA = {"candidate": pl.String, "error": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
_SCHEMA |= {"agree": pl.Int64, "cells": pl.Int64, "column": pl.String, "printed": pl.Int64, "here": pl.Float64}
_WORDS = (
    *("candidate", "mean boundary error in grid steps", "95 % low", "95 % high", "seeds", "cells as published"),
    *("cells", "column", "published boundary", "boundary"),
)


class Candidate(BaseModel):
    """One choice: which runs and how they are judged, as in a convergence table, and what they are held against."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    name: str
    where: dict[str, Json]
    cells: Printed


@dataclass(frozen=True)
class Held:
    """A candidate against the print.

    Attributes:
        name: of the candidate.
        columns: what was run of it, in the order of the print.
        errors: by seed, of those that have all cells.
        printed: how many columns are printed.
    """

    name: str
    columns: Sequence[Reproduced]
    errors: Mapping[int, float]
    printed: int

    @property
    def error(self) -> float:
        """Steps of the grid, mean over columns and seeds."""
        return fmean(self.errors.values())

    @property
    def whole(self) -> bool:
        """Whether every printed column was run, so that it can be compared with others that were."""
        return len(self.columns) == self.printed

    @property
    def agreeing(self) -> tuple[int, int]:
        """How many cells are as printed by the majority of seeds, of how many."""
        pairs = [p for c in self.columns for p in zip(c.printed.cells.values(), majority(c).values(), strict=True)]
        return sum(cell is mine for cell, mine in pairs), len(pairs)


@sections.register("candidates")
def candidates(
    results: Results, *, candidates: Annotated[tuple[Candidate, ...], Field(min_length=1)], at_most: float = 0.5
) -> Section:
    """``mean |b - b'|, b - b'``: what a source leaves open, the choice nearest to its tables first (Yu, 2024).

    A row a candidate: how far its boundaries of convergence lie from the printed ones in steps of the grid of rates, on
    average and one by one. Those of which not every column was run come last, as their means are over fewer. The
    heading counts the candidates within ``at_most`` steps.
    """
    every = [_held(results, each) for each in candidates]
    columns = [column for each in every for column in each.columns]
    gone, rows = unjudged(results, columns), rows_behind(results, columns)
    judged = sorted((each for each in every if each.errors), key=lambda each: (not each.whole, each.error))
    if not judged:
        return Section("No candidate has been judged yet", missing=gone, rows=rows)
    return Section(_finding(judged, at_most), (), (_table(judged),), gone, rows)


def _held(results: Results, candidate: Candidate) -> Held:
    columns, _ = found_cells(results, candidate.cells, candidate.where)
    return Held(candidate.name, columns, errors(columns), len(columns_of(candidate.cells)))


def _finding(held: Sequence[Held], at_most: float) -> str:
    every = [each for each in held if each.whole] or held
    near, first = sum(each.error <= at_most for each in every), every[0]
    many = (
        "No candidate is" if not near else f"{near} of {count(len(every), 'candidate')} {'is' if near == 1 else 'are'}"
    )
    how = f"nearest comes “{first.name}” with {short(first.error)}"
    return f"{many} within {plain(at_most)} steps of the grid of the published boundaries; {how}"


def _table(held: Sequence[Held]) -> Table:
    headings = list(dict.fromkeys(_heading(column.printed) for each in held for column in each.columns))
    rows = [row for each in held for row in _entries(each)]
    seeds = sorted({len(each.errors) for each in held})
    over = f"n = {seeds[0]}" + (f" to {seeds[-1]}" if len(seeds) > 1 else "")
    caption = (
        "Candidates, the nearest first: how far their boundaries of convergence lie from the published ones, in steps "
        f"of the grid of learning rates, as a mean over columns and seeds ({over}; in brackets the 95 % interval, "
        "Student); cells that are as published by the majority of seeds; and of each column how many steps its "
        f"boundary lies above (+) or below ({MINUS}) the published one, as a mean over seeds."
    )
    if not all(each.whole for each in held):
        caption += " Those of which fewer columns were run stand last, whatever their distance."
    shown = Grid("", ("candidate", "steps off", "cells", *headings), tuple(_line(each, headings) for each in held))
    return Table(
        pl.DataFrame(rows, schema=_SCHEMA, orient="row"), dict(zip(_SCHEMA, _WORDS, strict=True)), caption, shown
    )


def _line(held: Held, headings: Sequence[str]) -> tuple[Cell, ...]:
    agree, cells = held.agreeing
    shifts = {_heading(column.printed): _here(column) - _printed(column) for column in held.columns}
    told = (_shift(shifts[word]) if word in shifts else "–" for word in headings)
    return (
        (held.name, False),
        (tight(interval(held.error, *_ends(held))), True),
        (f"{agree} of {cells}".replace(" ", "\u00a0"), True),
        *((text, True) for text in told),
    )


def _entries(held: Held) -> list[tuple[object, ...]]:
    about = (held.name, held.error, *_ends(held), len(held.errors), *held.agreeing)
    return [(*about, _heading(c.printed), _printed(c), _here(c)) for c in held.columns]


def _ends(held: Held) -> tuple[float, float] | tuple[None, None]:
    if len(held.errors) < _FEWEST:
        return None, None
    found = student(list(held.errors.values()))
    return found.low, found.high


def _printed(column: Reproduced) -> int:
    return boundary(list(column.printed.cells.values()))


def _here(column: Reproduced) -> float:
    return fmean(boundary(list(cells.values())) for cells in column.seeds.values())


def _shift(steps: float) -> str:
    """``+1``, ``0``, ``−2``."""
    return f"{'+' if steps > 0 else ''}{plain(round(steps, 2))}"


def _heading(column: PrintedColumn) -> str:
    """``1 layer, BatchNorm``: what tells a column from the others, whatever its table is called."""
    among = [f"{plain(v)} {_counted(path, v)}" for path, v in column.where.items() if isinstance(v, int | float)]
    return ", ".join((*among, said(column.word)))


def _counted(path: str, value: Json) -> str:
    word = path.rpartition(".")[2].replace("_", " ")
    return word.removesuffix("s") if value == 1 else word
