"""Printed tables of C and N against the reproduced ones: by the boundaries of their columns, not by their cells.

    theta_s = mean over columns of |b - b'|, in steps of the grid of learning rates

It is supported where the interval of theta over seeds lies at or below half a step, and contradicted where it lies
above a whole one. A column that is not closed downwards has two readings: the largest rate that converges, and the last
before the first that does not. The worse of the two counts. Most cells of such a table are right by any rule that knows
that small rates converge, so the number of equal cells stands beside those of trivial rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lnlab.analyse.convergence.boundary import boundary_index
from lnlab.analyse.quantities.rates import RATE_PATH
from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.outlook import seeds_needed_text
from lnlab.claims.region import Region
from lnlab.claims.sample import N_TRAINED, Sample, exclusion_notes
from lnlab.claims.student import interval_of, interval_text, measured_finding, unjudged_finding
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.parameters import TextForm
from lnlab.select.run_status import ending_text
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions, value_list
from lnlab.select.settings import NothingSelected, settings_of
from lnlab.tables import Results

BOUNDARY_STATISTIC = "mean boundary error in grid steps"
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_Rate = Annotated[float, Field(gt=0)]
_Letters = Annotated[str, TextForm("[CN]+", "one letter, C or N, for each of the rates")]
_GridSteps = Annotated[float, Field(ge=0)]
_Cells = Mapping[float, bool]
"""By rate, rising: whether it converges."""


class PrintedTable(BaseModel):
    """One table of the source: what its models have in common, and a column of letters for each value of ``across``."""

    model_config = _STRICT
    name: str
    where: dict[str, Json]
    columns: dict[str, _Letters]


class Printed(BaseModel):
    """Every table of the source. ``rates`` are those of the letters, in their order."""

    model_config = _STRICT
    rates: Annotated[tuple[_Rate, ...], Field(min_length=2)]
    across: str
    tables: Annotated[tuple[PrintedTable, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> "Printed":
        """Raise where a column has not one letter for each rate, or a rate stands there twice."""
        if len(set(self.rates)) < len(self.rates):
            raise ValueError("each rate stands there once")
        for table in self.tables:
            for word, letters in table.columns.items():
                if len(letters) != len(self.rates):
                    raise ValueError(f"{table.name}, {word}: write one letter, C or N, for each of the rates")
        return self


class Guess(BaseModel):
    """What a trivial rule says of the columns that have ``where``: converged up to this rate, and not above."""

    model_config = _STRICT
    where: dict[str, Json] = {}
    at_most: float


Guesses = dict[str, tuple[Guess, ...]]
"""Trivial rules by name. The first guess of a rule that fits a column counts."""


@dataclass(frozen=True)
class PrintedColumn:
    """One model at the rates that were run here.

    Attributes:
        where: what selects its runs.
        printed: its cells, by rate.
        runs: ``seed rate status reason value`` of its runs. A missing value is null.
    """

    where: Mapping[str, Json]
    printed: _Cells
    runs: pl.DataFrame

    @property
    def seeds(self) -> dict[int, _Cells]:
        """The cells of each seed that has one at every rate: without one of them its boundary is not known."""
        by_seed: dict[int, dict[float, bool]] = {}
        values = self.runs.drop_nulls("value").sort("seed", "rate")
        for seed, rate, value in values.select("seed", "rate", "value").iter_rows():
            by_seed.setdefault(seed, {})[rate] = value == 1
        return {seed: cells for seed, cells in by_seed.items() if list(cells) == list(self.printed)}

    @property
    def right_cells(self) -> int:
        """How many cells are as printed by the majority of their runs. A half is no majority."""
        shares = self.runs.group_by("rate").agg(pl.col("value").mean()).drop_nulls().iter_rows()
        return sum(share != 0.5 and (share > 0.5) is self.printed[rate] for rate, share in shares)


def printed_columns(results: Results, printed: Printed, of: Conditions) -> list[PrintedColumn]:
    """The printed columns that were run here.

    Args:
        results: of an experiment.
        printed: the tables of the source.
        of: what selects ``converged``: its rule, the split of its loss, and of which runs.

    Raises:
        LabError: that leaves several numbers a run.
    """
    selected, settings = Selected(results, {**of, "quantity": "converged"}), settings_of(results)
    values = selected.rows.select("run", "value")
    if values["run"].is_duplicated().any():
        raise LabError(Issue("ambiguous", "of", "a run has several numbers", "pin one: rule, split or statistics"))
    rates = settings.numbers(RATE_PATH).select("variant", rate="number")
    all_runs = selected.runs.select("run", "variant", "seed", "status", "reason")
    all_runs = all_runs.join(rates, on="variant").join(values, on="run", how="left", maintain_order="left")
    columns = []
    for table in printed.tables:
        for word, letters in table.columns.items():
            where = {**table.where, printed.across: word}
            cells = {rate: letter == "C" for rate, letter in sorted(zip(printed.rates, letters, strict=True))}
            at_rates = all_runs.filter(pl.col("rate").is_in(list(cells)))
            runs = at_rates.join(settings.select(where), on="variant", how="semi", maintain_order="left")
            if not runs.is_empty():
                run_rates = sorted(set(runs["rate"]))
                columns.append(PrintedColumn(where, {rate: cells[rate] for rate in run_rates}, runs))
    return columns


def boundary_error(ours: _Cells, printed: _Cells) -> float:
    """``|b - b'|`` in steps of the grid. For a column with gaps the worse of its two readings counts."""
    cells = list(ours.values())
    printed_boundary = boundary_index(list(printed.values()))
    # With gaps the first failure lies below the boundary; without, both are one place.
    first_failure = next((index for index, cell in enumerate(cells) if not cell), len(cells))
    return float(max(abs(boundary_index(cells) - printed_boundary), abs(first_failure - printed_boundary)))


def boundary_errors(columns: Sequence[PrintedColumn]) -> dict[int, float]:
    """The mean boundary error over columns of each seed that has all cells of all columns."""
    by_column = [column.seeds for column in columns]
    seeds = sorted(set.intersection(*map(set, by_column))) if columns else []
    return {
        seed: fmean(
            boundary_error(cells[seed], column.printed) for cells, column in zip(by_column, columns, strict=True)
        )
        for seed in seeds
    }


def count_right_guesses(columns: Sequence[PrintedColumn], guesses: tuple[Guess, ...]) -> int:
    """How many cells a trivial rule gets right. Where none of its guesses fits a column, nothing converges."""
    right = 0
    for column in columns:
        fits = (g for g in guesses if all(column.where.get(path) in value_list(v) for path, v in g.where.items()))
        guess = next(fits, None)
        right += sum((guess is not None and rate <= guess.at_most) is cell for rate, cell in column.printed.items())
    return right


@claims.register("table", measure="steps", about=("mean",), law=False)
def table(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    cells: Printed,
    guesses: Guesses = {},  # noqa: B006 - a field's default
    at_most: _GridSteps = 0.5,
    beyond: _GridSteps = 1.0,
) -> Finding:
    """``mean |b - b'| <= 1/2``: boundaries of convergence as printed, in steps of the grid of rates (Student, 1908).

    ``of`` is ``{quantity: converged, rule: ..., split: ...}``; ``cells`` are the printed tables, and the boundary of a
    column is its largest converging rate. Supported with the interval over seeds at or below ``at_most``, contradicted
    with it above ``beyond``. ``guesses`` are trivial rules whose right cells are reported beside ours.
    """
    if of.get("quantity") != "converged":
        raise LabError(Issue("wrong-type", "of.quantity", f"found {of.get('quantity')!r}", "write quantity: converged"))
    if beyond < at_most:
        raise LabError(
            Issue("out-of-range", "beyond", f"{beyond:g} is below at_most, {at_most:g}", "give at least as much")
        )
    columns = printed_columns(results, cells, of)
    if not columns:
        raise NothingSelected(
            Issue("empty-selection", "cells", "no run matches any column", "lnlab plan prints the runs there are")
        )
    # The boundary error of each seed that has all cells, and why the others have none; None: it is still to run.
    fates: dict[int, str | None] = {}
    for column in columns:
        for seed, status, reason, value in column.runs.select("seed", "status", "reason", "value").iter_rows():
            if value is None and fates.get(seed, "") is not None:
                waits = status in (None, "interrupted")
                fates[seed] = None if waits else ending_text(status, reason) if status != "finished" else "not measured"
    excluded = {seed: why for seed, why in fates.items() if why is not None}
    pending = tuple(sorted(seed for seed, why in fates.items() if why is None))
    sample = Sample(boundary_errors(columns), log=False, trained=True, excluded=excluded, pending=pending)

    allowed = Region(high=at_most)
    n_columns, n_cells = sum(len(t.columns) for t in cells.tables), sum(len(column.printed) for column in columns)
    remarks = [] if len(columns) == n_columns else [f"only {len(columns)} of {n_columns} columns were run"]
    right = sum(column.right_cells for column in columns)
    remarks.append(f"{right} of {n_cells} cells agree by majority of seeds")
    if guesses:
        scores = sorted((count_right_guesses(columns, rules), name) for name, rules in guesses.items())
        remarks.append(f"trivial rules: {', '.join(f'“{name}” {score}' for score, name in scores)}, of {n_cells}")
    if unjudged := unjudged_finding(BOUNDARY_STATISTIC, sample, allowed, N_TRAINED, criterion):
        return replace(unjudged, reason="; ".join((unjudged.reason, *remarks)))
    finding = measured_finding(BOUNDARY_STATISTIC, sample, allowed, criterion)
    verdict, reason = boundary_verdict(sample, allowed, beyond, criterion)
    reason = "; ".join((reason + exclusion_notes(sample), *remarks))
    return replace(finding, verdict=verdict, reason=reason, tested=True)


def boundary_verdict(sample: Sample, allowed: Region, beyond: float, criterion: Criterion) -> tuple[VerdictLabel, str]:
    """The verdict on complete seeds, and what decided. Between the two edges nothing does."""
    interval = interval_of(sample, criterion)
    text = interval_text(interval, criterion)
    if interval.high <= allowed.top:
        return "supported", f"{text} lies within the accepted range ({allowed})"
    if interval.low > beyond:
        return "contradicted", f"{text} lies above {beyond:g}"
    if interval.low > allowed.top:
        reason = f"{text} lies outside the accepted range ({allowed}) but not wholly above {beyond:g}"
        if interval.estimate <= beyond:
            return "undecided", f"{reason}; no number of seeds would decide, as the estimate lies between the two"
        return "undecided", f"{reason}; {seeds_needed_text(interval, Region(high=beyond), sample, criterion)}"
    needed = seeds_needed_text(interval, allowed, sample, criterion)
    return "undecided", f"{text} reaches beyond the accepted range ({allowed}); {needed}"
