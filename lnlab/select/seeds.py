"""The results of some seeds: those on which a claim is judged, or those that sections and all other claims read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from lnlab.keys import Json, canonical
from lnlab.select.settings import settings_of
from lnlab.tables import Results


def results_of_seeds(results: Results, seeds: Collection[int] | None) -> Results:
    """The results as if only these seeds had been run, built once for each set of seeds.

    What is derived over seeds, such as the median of a reference, is that of these seeds, too. None: of all seeds.
    """
    if not seeds:
        return results
    of_seeds = pl.col("seed").is_in(list(seeds))
    return results.once(f"results of seeds {sorted(seeds)}", lambda whole: results_where(whole, of_seeds))


def drawn_results(
    results: Results, seeds: Collection[int] | None, grid_seeds: Sequence[Mapping[str, Json]] = ()
) -> Results:
    """The results as sections draw them: without the runs that only single claims read.

    Args:
        results: of an experiment.
        seeds: of the experiment. None: all seeds.
        grid_seeds: the grids with seeds of their own: ``where`` has the conditions that their runs meet, ``seeds`` the
            seeds on which these are drawn.
    """
    if not grid_seeds:
        return results_of_seeds(results, seeds)
    drawn = pl.col("seed").is_in(list(seeds or ()))
    for grid in grid_seeds:
        variants = settings_of(results).where(grid["where"])["variant"]
        of_grid = pl.when(pl.col("variant").is_in(variants.implode()))
        drawn = of_grid.then(pl.col("seed").is_in(list(grid["seeds"]))).otherwise(drawn)
    name = f"results drawn on {canonical([sorted(seeds or ()), list(grid_seeds)])}"
    return results.once(name, lambda whole: results_where(whole, drawn))


def results_where(whole: Results, condition: pl.Expr) -> Results:
    """The results of the runs that meet a condition on the columns of ``Results.runs``."""
    runs = whole.runs.filter(condition)
    if runs.height == whole.runs.height:
        # The same object, so that what was derived from it is not derived again.
        return whole
    selected = pl.col("run").is_in(runs["run"].implode())
    return replace(
        whole,
        runs=runs,
        axes=whole.axes.filter(selected),
        tables={name: table.filter(selected) for name, table in whole.tables.items()},
        scans={name: partial(scan, selected) for name, scan in whole.scans.items()},
    )
