"""The results of some seeds: those on which a claim is judged, or those that sections and all other claims read."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import polars as pl

from lnlab.tables import Results


def results_of_seeds(results: Results, seeds: Collection[int] | None) -> Results:
    """The results as if only these seeds had been run, built once for each set of seeds.

    What is derived over seeds, such as the median of a reference, is that of these seeds, too. None: of all seeds.
    """
    if not seeds:
        return results

    def of_seeds(whole: Results) -> Results:
        runs = whole.runs.filter(pl.col("seed").is_in(list(seeds)))
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

    return results.once(f"results of seeds {sorted(seeds)}", of_seeds)
