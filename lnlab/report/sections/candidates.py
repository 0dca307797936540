"""Candidates for what a source does not say, by how near each comes to its tables of C and N."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from lnlab.analyse.convergence.agreement import ReproducedColumn, boundary_errors, majority_cells
from lnlab.analyse.convergence.boundary import boundary_index
from lnlab.analyse.convergence.published import Printed, PrintedColumn, printed_columns
from lnlab.analyse.statistics.intervals import t_interval
from lnlab.claims.verdict_text import MINUS
from lnlab.keys import Json
from lnlab.report.data.convergence_cells import columns_in_order, convergence_source_rows, norm_name, unjudged_runs
from lnlab.report.data.figure import SEED_SCHEMA, FigureData, estimate_headings
from lnlab.report.data.series import mean_points
from lnlab.report.figures.dots import Dots
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.statistic import MEAN
from lnlab.report.words.wording import count_noun, format_interval, format_short, format_value, nonbreaking
from lnlab.tables import Results

_LEAST_SEEDS = 2
"""Seeds that an interval needs."""
_SCHEMA = {"candidate": pl.String, "error": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
_SCHEMA |= {"agree": pl.Int64, "cells": pl.Int64, "column": pl.String, "printed": pl.Int64, "here": pl.Float64}
_SCHEMA |= {"here_low": pl.Float64, "here_high": pl.Float64}
_WORDS = (
    *("candidate", "mean boundary error in grid steps", "95 % low", "95 % high", "seeds", "cells as published"),
    *("cells", "column", "published boundary", "boundary", "boundary 95 % low", "boundary 95 % high"),
)


class Candidate(BaseModel):
    """One choice: which runs and how they are judged, as in a convergence table, and what they are held against."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    name: str
    where: dict[str, Json]
    cells: Printed


@dataclass(frozen=True)
class CandidateScore:
    """A candidate against the print.

    Attributes:
        name: of the candidate.
        columns: what was run of it, in the order of the print.
        errors: by seed, of those that have all cells.
        printed: how many columns are printed.
    """

    name: str
    columns: Sequence[ReproducedColumn]
    errors: Mapping[int, float]
    printed: int

    @property
    def error(self) -> float:
        """The boundary error in steps of the grid, a mean over columns and seeds."""
        return fmean(self.errors.values())

    @property
    def whole(self) -> bool:
        """Whether every printed column was run, so that it can be compared with others that were."""
        return len(self.columns) == self.printed

    @property
    def agreeing(self) -> tuple[int, int]:
        """How many cells are as printed by the majority of seeds, of how many."""
        pairs = [
            p for c in self.columns for p in zip(c.printed.cells.values(), majority_cells(c).values(), strict=True)
        ]
        return sum(cell is ours for cell, ours in pairs), len(pairs)


@sections.register("candidates", implied=("converged",))
def candidates(
    results: Results, *, candidates: Annotated[tuple[Candidate, ...], Field(min_length=1)], at_most: float = 0.5
) -> Section:
    """``mean |b - b'|, b - b'``: what a source leaves open, the choice nearest to its tables first (Yu, 2024).

    A row a candidate: how far its boundaries of convergence lie from the printed ones in steps of the grid of rates, on
    average and one by one. Those of which not every column was run come last, as their means are over fewer. The
    heading counts the candidates within ``at_most`` steps.
    """
    scores = []
    for candidate in candidates:
        own = columns_in_order(results, candidate.cells, candidate.where)
        printed = len(printed_columns(candidate.cells))
        scores.append(CandidateScore(candidate.name, own, boundary_errors(own), printed))
    columns = [column for score in scores for column in score.columns]
    missing_note = unjudged_runs(results, columns)
    rows = convergence_source_rows(results, columns, curves=False)
    ranked = sorted((score for score in scores if score.errors), key=lambda score: (not score.whole, score.error))
    if not ranked:
        return Section("No candidate has been judged yet", missing=missing_note, rows=rows)
    complete = [score for score in ranked if score.whole] or ranked
    near = sum(score.error <= at_most for score in complete)
    verb = "is" if near == 1 else "are"
    how_many = f"{near} of {count_noun(len(complete), 'candidate')} {verb}" if near else "No candidate is"
    within = f"{how_many} within {format_value(at_most)} steps of the grid of the published boundaries"
    finding = f"{within}; nearest comes “{complete[0].name}” with {format_short(complete[0].error)}"
    headings = list(dict.fromkeys(_heading(column.printed) for score in ranked for column in score.columns))
    entries: list[tuple[object, ...]] = []
    body: list[tuple[Cell, ...]] = []
    for score in ranked:
        agree, cells = score.agreeing
        errors = list(score.errors.values())
        leading = (score.name, score.error, *_bounds(errors), len(errors), agree, cells)
        by_heading: dict[str, list[ReproducedColumn]] = {}
        for column in score.columns:
            by_heading.setdefault(_heading(column.printed), []).append(column)
            boundaries = list(_boundaries(column).values())
            name = f"{column.printed.table}, {norm_name(column.printed.word)}"
            entries.append((*leading, name, _published_boundary(column), fmean(boundaries), *_bounds(boundaries)))
        texts = [_shift(by_heading[heading]) if heading in by_heading else "–" for heading in headings]
        off = nonbreaking(format_interval(score.error, *_bounds(errors)))
        counted = f"{agree} of {cells}".replace(" ", "\u00a0")
        body.append(((score.name, False), *((text, True) for text in (off, counted, *texts))))
    exact = pl.DataFrame(entries, schema=_SCHEMA, orient="row")
    table = Table(
        exact,
        dict(zip(_SCHEMA, _WORDS, strict=True)),
        "Candidates, the nearest first. Steps off: mean distance of their convergence boundaries from the published "
        "ones, in steps of the learning-rate grid. Cells: number as published, by the majority of seeds. Other "
        f"columns: mean steps of a boundary above (+) or below ({MINUS}) the published one; without a bracket all "
        "seeds agree",
        Grid("", ("candidate", "steps off", "cells", *headings), tuple(body)),
        statistics=((MEAN, exact),),
        notes=() if all(score.whole for score in ranked) else ("Candidates with fewer columns come last.",),
    )
    names = tuple(score.name for score in ranked)
    values = [(None, s.name, n, 0.0, seed, error) for n, s in enumerate(ranked) for seed, error in s.errors.items()]
    seeds = pl.DataFrame(values, schema=SEED_SCHEMA, orient="row")
    figure = Dots(
        data=FigureData(
            seeds=seeds,
            points=mean_points(seeds, log=False),
            names=names,
            families=tuple(range(len(names))),
            missing=missing_note,
            rows=rows,
        ),
        title=("steps from the published boundaries,", "on the grid of learning rates"),
        levels={f"{format_value(at_most)} steps": at_most},
        statistic=MEAN,
        subject="Distance of the convergence boundaries from the published ones, in steps of the learning-rate grid, a "
        "mean over columns",
        notes=("Small dots: single seeds.",),
        shows="Dot plot of the distance from the published boundaries, a row for each candidate",
        finding=finding,
        headings={"series": "candidate", **estimate_headings("steps")},
    )
    return figure.section(table)


def _bounds(numbers: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """The ends of Student's interval over seeds, or twice None for too few seeds."""
    if len(numbers) < _LEAST_SEEDS:
        return None, None
    student_interval = t_interval(numbers)
    return student_interval.low, student_interval.high


def _published_boundary(column: ReproducedColumn) -> int:
    return boundary_index(list(column.printed.cells.values()))


def _boundaries(column: ReproducedColumn) -> dict[int, int]:
    """Seed -> the boundary of a column."""
    return {seed: boundary_index(list(cells.values())) for seed, cells in column.seeds.items()}


def _shift(columns: Sequence[ReproducedColumn]) -> str:
    """``+1``, ``0``, ``−1.3 [−1.8, −0.9]``: how many steps the boundaries of columns lie above the published ones.

    A mean over columns, then over seeds, with its interval where they differ.
    """
    boundaries = [_boundaries(column) for column in columns]
    published = fmean(map(_published_boundary, columns))
    seeds = sorted(set.intersection(*map(set, boundaries)))
    steps = [fmean(by_seed[seed] for by_seed in boundaries) - published for seed in seeds]
    mean = fmean(steps)
    low, high = _bounds(steps)
    sign = "+" if mean > 0 else ""
    if low == high:
        return f"{sign}{format_value(round(mean, 2))}"
    return nonbreaking(f"{sign}{format_interval(mean, low, high)}")


def _heading(column: PrintedColumn) -> str:
    """``1 layer, BatchNorm``: what tells a column from the others, whatever its table is called."""
    sizes = []
    for path, value in column.where.items():
        if isinstance(value, int | float):
            noun = path.rpartition(".")[2].replace("_", " ")
            sizes.append(f"{format_value(value)} {noun.removesuffix('s') if value == 1 else noun}")
    return ", ".join((*sizes, norm_name(column.word)))
