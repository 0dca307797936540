"""``b = max {i : lr_i converges}``: how far up a grid of learning rates a setting converges, within each seed.

A column of a table of C and N has one such boundary, in steps of the grid: 0 where no rate converges, 1 where the
smallest alone does. It says all of a column that is closed downwards: where a rate converges, so do all below it.
Cells of one column are no replicates, and any rule would get most of them right. A claim is therefore about boundaries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.analyse.convergence.curves import CONVERGENCE_FACTS, converged, loss_quantity_rows
from lnlab.analyse.quantities.rates import RATE_PATH, rates_and_groups
from lnlab.facts import QuantityWords
from lnlab.select.quantity import quantities
from lnlab.tables import Results, computed_once

_TAGS: dict[str, Any] = {**CONVERGENCE_FACTS, "over": RATE_PATH}
_NEEDS = "a loss of every run at two values of optimizer.lr or more"


@dataclass(frozen=True)
class _Column:
    """The runs of a seed that differ in their rate alone, rates rising, by one rule on one loss.

    Attributes:
        first: ``run variant seed step split statistics rule`` of the run that stands for all.
        rates: at least two.
        converged: at each rate.
    """

    first: tuple[object, ...]
    rates: tuple[float, ...]
    converged: tuple[bool, ...]


@quantities.register(
    "convergence_boundary",
    words=QuantityWords(
        "boundary of convergence",
        "steps of the grid",
        "place of the largest converging learning rate, 0 if there is none",
    ),
    needs=_NEEDS,
    **_TAGS,
)
def convergence_boundary(results: Results) -> pl.DataFrame:
    """``max {i : lr_i converges}``: the largest converging rate of the grid by its place, 0 for none (Yu, 2024)."""
    return _column_rows(results, "convergence_boundary", lambda column: boundary_index(column.converged))


@quantities.register(
    "max_converged_lr",
    rate=True,
    words=QuantityWords("largest converging learning rate", "per update", "largest of the grid; 0 if none converges"),
    needs=_NEEDS,
    **_TAGS,
)
def max_converged_lr(results: Results) -> pl.DataFrame:
    """``max {lr : converges}``: the largest converging rate of the grid, 0 where none converges (Yu, 2024)."""
    return _column_rows(
        results, "max_converged_lr", lambda column: (0.0, *column.rates)[boundary_index(column.converged)]
    )


def boundary_index(converged: Sequence[bool]) -> int:
    """The place, from 1, of the largest rate that converges, or 0 where none does. Rates rise."""
    return max((position for position, converges in enumerate(converged, 1) if converges), default=0)


@computed_once
def _columns(results: Results) -> list[_Column]:
    """The columns whose runs have all been judged, in the order of the plan."""
    runs = results.runs.filter(pl.col("steps") > 0).select("run", "variant", "seed")
    runs = runs.join(rates_and_groups(results), on="variant", maintain_order="left")
    runs = runs.with_columns(_runs=pl.len().over("_group", "seed"))
    judged = runs.join(converged(results).select("run", "step", *_LOSS_KEYS, "value"), on="run", maintain_order="left")
    columns = judged.group_by("_group", "seed", *_LOSS_KEYS, maintain_order=True).agg(
        pl.col("run", "variant", "step", "_runs").first(),
        rates=pl.col("_rate").sort(),
        converged=pl.col("value").sort_by("_rate", maintain_order=True).eq(1).fill_null(value=False),
    )
    # A run that was not judged could be the boundary, so that all of a grid must be.
    whole = columns.filter(pl.col("rates").list.len() >= pl.col("_runs"), pl.col("rates").list.n_unique() >= 2)
    rows = whole.select("run", "variant", "seed", "step", *_LOSS_KEYS, "rates", "converged").iter_rows()
    return [_Column(tuple(first), tuple(rising), tuple(flags)) for *first, rising, flags in rows]


_LOSS_KEYS = ("split", "statistics", "rule")


def _column_rows(results: Results, name: str, statistic: Callable[[_Column], float]) -> pl.DataFrame:
    """The number of every column, as rows of a quantity."""
    return loss_quantity_rows([(*column.first, float(statistic(column))) for column in _columns(results)], name)
