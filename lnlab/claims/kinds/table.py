"""A printed table of C and N against the reproduced one: by the boundaries of its columns, not by its cells.

    theta_s = mean over columns of |b - b'|, in steps of the grid of learning rates

Supported where the 95 % Student interval of theta over seeds lies at or below half a step, contradicted where it lies
above a whole one. The share of equal cells is told beside those of trivial rules, Cohen's kappa, and the ceiling: how
far our own seeds agree among themselves.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from lnlab.analyse.convergence.agreement import (
    Reproduced,
    ceiling,
    errors,
    kappa,
    majority,
    open_columns,
    rank_agreement,
    reproduced,
    shares,
    whole_seeds,
)
from lnlab.analyse.convergence.published import Guesses, Printed, columns_of, right
from lnlab.analyse.select.select import NothingSelected
from lnlab.analyse.select.series import ended
from lnlab.analyse.statistics.intervals import student
from lnlab.claims.claim import Finding, Word, claims
from lnlab.claims.region import Region, printed
from lnlab.claims.sample import N_TRAINED, Sample, notes, obstacle
from lnlab.claims.student import interval_of, measured, more_seeds
from lnlab.errors import LabError, Problem
from lnlab.keys import Json
from lnlab.tables import Results

STATISTIC = "mean boundary error in grid steps"
Steps = Annotated[float, Field(ge=0)]


@claims.register("table", several=True, measure="steps")
def table(
    results: Results,
    *,
    of: dict[str, Json],
    cells: Printed,
    guesses: Guesses = {},  # noqa: B006 - a field's default
    at_most: Steps = 0.5,
    beyond: Steps = 1.0,
) -> Finding:
    """``mean |b - b'| <= 1/2``: boundaries of convergence as printed, in steps of the grid of rates (Student, 1908).

    ``of`` is ``{quantity: converged, rule: ..., split: ...}``; ``cells`` are the printed tables, and the boundary of a
    column is its largest converging rate. Supported with the interval over seeds at or below ``at_most``, contradicted
    with it above ``beyond``. ``guesses`` are trivial rules whose right cells are told beside ours.
    """
    if of.get("quantity") != "converged":
        raise LabError(Problem("of.quantity", f"found {of.get('quantity')!r}", "write quantity: converged"))
    if beyond < at_most:
        raise LabError(Problem("beyond", f"{beyond:g} is below at_most, {at_most:g}", "give at least as much"))
    columns = reproduced(results, cells, of)
    if not columns:
        raise NothingSelected(Problem("cells", "no run has what a column says", "lnlab plan prints the runs there are"))
    sample, allowed = _sample(columns), Region(high=at_most)
    found = measured(STATISTIC, sample, allowed)
    told = _told(columns, cells, guesses)
    if reason := obstacle(sample, N_TRAINED):
        return replace(found, reason="; ".join((reason + notes(sample), *told)))
    verdict, reason = _ruling(sample, allowed, beyond)
    return replace(found, verdict=verdict, reason="; ".join((reason + notes(sample), *told)))


def _sample(columns: Sequence[Reproduced]) -> Sample:
    """The seeds with all cells, and what became of the others."""
    fates: dict[int, str | None] = {}
    for column in columns:
        for seed, status, reason, value in column.runs.select("seed", "status", "reason", "value").iter_rows():
            if value is None and fates.get(seed, "") is not None:
                waits = status in (None, "interrupted")
                fates[seed] = None if waits else ended(status, reason) if status != "finished" else "not measured"
    lost = {seed: why for seed, why in fates.items() if why is not None}
    pending = tuple(sorted(seed for seed, why in fates.items() if why is None))
    return Sample(errors(columns), log=False, trained=True, lost=lost, pending=pending)


def _ruling(sample: Sample, allowed: Region, beyond: float) -> tuple[Word, str]:
    found = interval_of(sample)
    ends = f"the 95 % interval {printed(found.low)} to {printed(found.high)}"
    if found.high <= allowed.top:
        return "supported", f"{ends} lies in the region ({allowed})"
    if found.low > beyond:
        return "contradicted", f"{ends} lies above {beyond:g}"
    if found.low > allowed.top:
        return "undecided", f"{ends} lies outside the region ({allowed}), and not wholly above {beyond:g}"
    return "undecided", f"{ends} reaches across the edge ({allowed}); {more_seeds(found, allowed, log=False)}"


def _told(columns: Sequence[Reproduced], cells: Printed, guesses: Guesses) -> list[str]:
    """What stands beside the verdict, in words."""
    every = len(columns_of(cells))
    said = [] if len(columns) == every else [f"only {len(columns)} of {every} columns were run"]
    said += agreement(columns)
    if guesses:
        total = sum(len(column.printed.cells) for column in columns)
        said.append(f"trivial rules: {_listed(columns, guesses)}, of {total}")
    return said


def agreement(columns: Sequence[Reproduced]) -> list[str]:
    """How many cells agree, how well boundaries are ranked, and how far our own seeds agree, as far as it is known."""
    pairs = [p for c in columns for p in zip(c.printed.cells.values(), majority(c).values(), strict=True)]
    said = [f"{sum(cell is mine for cell, mine in pairs)} of {len(pairs)} cells agree by majority of seeds"]
    if len(each := list(shares(columns).values())) > 1:
        found = student(each)
        said.append(f"{found.estimate:.1%} of the cells of a seed [{found.low:.1%}, {found.high:.1%}]")
    if (most := ceiling(columns)) is not None:
        said.append(f"two of our own seeds agree on {most:.1%}")
    numbers = {"kappa": kappa(columns), "tau-b of the boundaries": rank_agreement(columns)}
    said += [f"{name} {number:.2f}" for name, number in numbers.items() if number is not None]
    if whole_seeds(columns):
        said.append(f"{open_columns(columns):.2g} columns of a seed are not closed downwards")
    return said


def _listed(columns: Sequence[Reproduced], guesses: Guesses) -> str:
    """What trivial rules score on the cells that were run."""
    printed = [column.printed for column in columns]
    scores = sorted((right(printed, rules), name) for name, rules in guesses.items())
    return ", ".join(f"“{name}” {score}" for score, name in scores)
