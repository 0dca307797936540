"""A printed table of C and N against the reproduced one: by the boundaries of its columns, not by its cells.

    theta_s = mean over columns of |b - b'|, in steps of the grid of learning rates

It is supported where the interval of theta over seeds lies at or below half a step, and contradicted where it lies
above a whole one. The share of equal cells is reported with those of trivial rules, Cohen's kappa, and the ceiling: how
far our own seeds agree among themselves.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from lnlab.analyse.convergence.agreement import (
    ReproducedColumn,
    agreement_ceiling,
    boundary_errors,
    boundary_rank_correlation,
    cohen_kappa,
    complete_seeds,
    equal_cell_shares,
    majority_cells,
    mean_open_columns,
    reproduced_columns,
)
from lnlab.analyse.convergence.published import Guesses, Printed, count_right_cells, printed_columns
from lnlab.analyse.statistics.intervals import t_interval
from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.outlook import seeds_needed_text
from lnlab.claims.region import Region
from lnlab.claims.sample import N_TRAINED, Sample, exclusion_notes
from lnlab.claims.student import interval_of, interval_text, measured_finding, unjudged_finding
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.select.run_status import ending_text
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

BOUNDARY_STATISTIC = "mean boundary error in grid steps"
GridSteps = Annotated[float, Field(ge=0)]


@claims.register("table", measure="steps", about=("mean",), law=False)
def table(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    cells: Printed,
    guesses: Guesses = {},  # noqa: B006 - a field's default
    at_most: GridSteps = 0.5,
    beyond: GridSteps = 1.0,
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
    columns = reproduced_columns(results, cells, of)
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
    n_columns = len(printed_columns(cells))
    remarks = [] if len(columns) == n_columns else [f"only {len(columns)} of {n_columns} columns were run"]
    remarks += agreement_remarks(columns)
    if guesses:
        total = sum(len(column.printed.cells) for column in columns)
        run_columns = [column.printed for column in columns]
        scores = sorted((count_right_cells(run_columns, rules), name) for name, rules in guesses.items())
        text = ", ".join(f"“{name}” {score}" for score, name in scores)
        remarks.append(f"trivial rules: {text}, of {total}")
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


def agreement_remarks(columns: Sequence[ReproducedColumn]) -> list[str]:
    """How many cells agree, how well boundaries are ranked, and how far our own seeds agree, where known."""
    pairs = [
        pair
        for column in columns
        for pair in zip(column.printed.cells.values(), majority_cells(column).values(), strict=True)
    ]
    remarks = [f"{sum(cell is ours for cell, ours in pairs)} of {len(pairs)} cells agree by majority of seeds"]
    if len(seed_shares := list(equal_cell_shares(columns).values())) > 1:
        interval = t_interval(seed_shares)
        low, high = max(interval.low, 0.0), min(interval.high, 1.0)
        remarks.append(f"{interval.estimate:.1%} of cells per seed [{low:.1%}, {high:.1%}]")
    if (ceiling_share := agreement_ceiling(columns)) is not None:
        remarks.append(f"two of our own seeds agree on {ceiling_share:.1%}")
    numbers = {"kappa": cohen_kappa(columns), "tau-b of the boundaries": boundary_rank_correlation(columns)}
    remarks += [f"{name} {number:.2f}" for name, number in numbers.items() if number is not None]
    if complete_seeds(columns):
        remarks.append(f"in {mean_open_columns(columns):.2g} columns per seed a rate converges above one that does not")
    return remarks
