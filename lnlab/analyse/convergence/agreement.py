r"""How far a reproduced table of C and N agrees with the printed one.

    boundary error of a seed:  mean over columns of |b - b'|, in steps of the grid
    cells:   the share of equal ones, and Cohen's kappa = (p_o - p_e) / (1 - p_e)
    ranks:   Kendall's tau-b of the boundaries over columns

Most cells of such a table are right by any rule that knows that small rates converge, so a share of cells shows nothing
by itself. It is read against the shares of trivial rules, and the agreement of our own seeds among themselves. A column
that is not closed downwards has no single boundary. It has two readings: the largest rate that converges, and the last
before the first that does not. The worse of the two counts.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import polars as pl
import scipy  # scipy.stats takes long to import, and loads when it is first used

from lnlab.analyse.convergence.boundary import boundary_index, gap_count
from lnlab.analyse.convergence.published import Printed, PrintedColumn, printed_columns
from lnlab.analyse.quantities.rates import RATE_PATH
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions
from lnlab.select.settings import settings_of
from lnlab.tables import Results

_Cells = Mapping[float, bool]
"""By rate, rising: whether it converges."""


@dataclass(frozen=True)
class RatesColumn:
    """A model at a grid of learning rates.

    Attributes:
        table: the name of its table.
        word: what tells it from the other columns of its table.
        runs: ``run variant seed rate status reason value`` of its runs. A missing value is null.
        seeds: the cells of each seed that has them all.
    """

    table: str
    word: str
    runs: pl.DataFrame
    seeds: Mapping[int, _Cells]

    @property
    def rates(self) -> list[float]:
        """The learning rates that were run, rising."""
        return sorted(set(self.runs["rate"]))


@dataclass(frozen=True)
class ReproducedColumn(RatesColumn):
    """The same with the column that a source prints, at the rates that were run here."""

    printed: PrintedColumn


def reproduced_columns(results: Results, printed: Printed, of: Conditions) -> list[ReproducedColumn]:
    """The printed columns that were run here.

    Args:
        results: of an experiment.
        printed: the tables of the source.
        of: what selects ``converged``: its rule, the split of its loss, and of which runs.

    Raises:
        LabError: that leaves several numbers a run.
    """
    all_runs, settings = converged_runs(results, of), settings_of(results)
    columns = []
    for column in printed_columns(printed):
        at_rates = all_runs.filter(pl.col("rate").is_in(list(column.cells)))
        runs = at_rates.join(settings.select(column.where), on="variant", how="semi", maintain_order="left")
        if runs.is_empty():
            continue
        cells = {rate: column.cells[rate] for rate in sorted(set(runs["rate"]))}
        restricted = PrintedColumn(column.table, column.word, column.where, cells)
        columns.append(
            ReproducedColumn(
                table=column.table, word=column.word, runs=runs, seeds=cells_of_seeds(runs), printed=restricted
            )
        )
    return columns


def converged_runs(results: Results, of: Conditions) -> pl.DataFrame:
    """``run variant seed rate status reason value``: the runs of a selection, and whether each converged.

    Raises:
        LabError: that leaves several numbers a run.
    """
    selected = Selected(results, {**of, "quantity": "converged"})
    values = selected.rows.select("run", "value")
    if values["run"].is_duplicated().any():
        raise LabError(Issue("ambiguous", "of", "a run has several numbers", "pin one: rule, split or statistics"))
    rates = settings_of(results).numbers(RATE_PATH).select("variant", rate="number")
    all_runs = selected.runs.select("run", "variant", "seed", "status", "reason")
    all_runs = all_runs.join(rates, on="variant", how="left", maintain_order="left")
    return all_runs.join(values, on="run", how="left", maintain_order="left")


def cells_of_seeds(runs: pl.DataFrame) -> dict[int, _Cells]:
    """The cells of each seed that has one at every rate of these runs, rates rising."""
    rates = sorted(set(runs["rate"]))
    by_seed: dict[int, dict[float, bool]] = {}
    for seed, rate, value in runs.drop_nulls("value").sort("seed", "rate").select("seed", "rate", "value").iter_rows():
        by_seed.setdefault(seed, {})[rate] = value == 1
    # Without a cell at some rate the boundary is not known.
    return {seed: cells for seed, cells in by_seed.items() if list(cells) == rates}


def complete_seeds(columns: Sequence[ReproducedColumn]) -> list[int]:
    """The seeds that have all cells of all columns."""
    seed_sets = [set(column.seeds) for column in columns]
    return sorted(set.intersection(*seed_sets)) if seed_sets else []


def boundary_error(ours: _Cells, printed: _Cells) -> float:
    """``|b - b'|`` in steps of the grid. For a column with gaps the worse of its two readings counts."""
    cells = list(ours.values())
    printed_boundary = boundary_index(list(printed.values()))
    # With gaps the first failure lies below the boundary; without, both are one place.
    first_failure = next((index for index, cell in enumerate(cells) if not cell), len(cells))
    return float(max(abs(boundary_index(cells) - printed_boundary), abs(first_failure - printed_boundary)))


def boundary_errors(columns: Sequence[ReproducedColumn]) -> dict[int, float]:
    """The mean boundary error over columns of each complete seed."""
    return {
        seed: fmean(boundary_error(column.seeds[seed], column.printed.cells) for column in columns)
        for seed in complete_seeds(columns)
    }


def equal_cell_shares(columns: Sequence[ReproducedColumn]) -> dict[int, float]:
    """The share of cells that are as printed, for each complete seed."""
    printed = _flatten(column.printed.cells for column in columns)
    return {seed: _equal_share(_cells(columns, seed), printed) for seed in complete_seeds(columns)}


def agreement_ceiling(columns: Sequence[ReproducedColumn]) -> float | None:
    """The mean share of equal cells between two of our own seeds, beyond which no agreement can be expected."""
    seed_cells = [_cells(columns, seed) for seed in complete_seeds(columns)]
    return fmean(_equal_share(a, b) for a, b in combinations(seed_cells, 2)) if len(seed_cells) > 1 else None


def mean_open_columns(columns: Sequence[ReproducedColumn]) -> float:
    """How many columns of a seed are not closed downwards, on average."""
    seeds = complete_seeds(columns)
    return fmean(sum(gap_count(list(c.seeds[seed].values())) > 0 for c in columns) for seed in seeds) if seeds else 0.0


def majority_cells(column: RatesColumn) -> dict[float, bool | None]:
    """Return for each rate whether most of its runs converge, or None where half of them do or none was judged."""
    # Every rate has an entry, also one that no run was judged at, as cells are compared in their order.
    values: dict[float, list[float]] = {rate: [] for rate in column.rates}
    for rate, value in column.runs.select("rate", "value").drop_nulls().iter_rows():
        values.setdefault(rate, []).append(value)
    shares = {rate: fmean(numbers) if numbers else 0.5 for rate, numbers in values.items()}
    return {rate: None if share == 0.5 else share > 0.5 for rate, share in shares.items()}


def cohen_kappa(columns: Sequence[ReproducedColumn]) -> float | None:
    """Cohen's (1960) agreement beyond chance of the majorities with the print, over cells where there is one."""
    pairs = [
        (cell, ours)
        for c in columns
        for cell, ours in zip(c.printed.cells.values(), majority_cells(c).values(), strict=True)
    ]
    known = [(cell, ours) for cell, ours in pairs if ours is not None]
    if not known:
        return None
    p, q = (fmean(pair[i] for pair in known) for i in (0, 1))
    chance = p * q + (1 - p) * (1 - q)
    # Where print and majorities are one word throughout, no agreement is beyond chance.
    return None if chance == 1 else (fmean(a is b for a, b in known) - chance) / (1 - chance)


def boundary_rank_correlation(columns: Sequence[ReproducedColumn]) -> float | None:
    """Kendall's (1945) tau-b of printed boundaries and the seed means of ours, or None where all tie."""
    pairs = [
        (
            boundary_index(list(c.printed.cells.values())),
            fmean(boundary_index(list(cells.values())) for cells in c.seeds.values()),
        )
        for c in columns
        if c.seeds
    ]
    if len(pairs) < 2:
        return None
    tau = float(scipy.stats.kendalltau(*zip(*pairs, strict=True)).statistic)
    return None if math.isnan(tau) else tau


def _cells(columns: Sequence[ReproducedColumn], seed: int) -> list[bool]:
    return _flatten(column.seeds[seed] for column in columns)


def _flatten(columns: Iterable[_Cells]) -> list[bool]:
    return [cell for cells in columns for cell in cells.values()]


def _equal_share(a: Sequence[bool], b: Sequence[bool]) -> float:
    return fmean(x is y for x, y in zip(a, b, strict=True))
