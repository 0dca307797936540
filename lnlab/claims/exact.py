"""A bound that every single sample must keep: one counterexample contradicts it, whatever the seeds' mean is."""

import math
from collections.abc import Mapping

import polars as pl

from lnlab.claims.claim import Finding, VerdictLabel
from lnlab.claims.region import Region
from lnlab.keys import Json
from lnlab.seed_words import seeds_word
from lnlab.select.run_status import STOPPED
from lnlab.select.select import Selected
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results


def exact_bound_finding(
    results: Results, of: Mapping[str, Json], over: str | None, allowed: Region, tolerance: float
) -> Finding:
    """The finding of an exact bound. Each seed shows the sample furthest beyond (or nearest to) an edge.

    Args:
        results: of an experiment.
        of: which samples. All count, and none is averaged. Those of a run that a stop rule ended count at step 0.
        over: rows that have nothing in this column drop out.
        allowed: the bound.
        tolerance: relative to each edge (absolute where the edge is 0).

    Raises:
        NothingSelected: nothing is selected though everything has run.
    """
    selected = Selected(results, of, over)
    runs = selected.endings
    stopped_runs = runs.filter(pl.col("status") == STOPPED)["run"].implode()
    rows = selected.rows.filter(pl.col("step").eq(0) | ~pl.col("run").is_in(stopped_runs))
    rows = rows.drop_nulls([over, "value"] if over else ["value"])
    unfinished = runs.filter(pl.col("status").is_null() | (pl.col("status") != "finished"))
    if rows.is_empty() and unfinished.is_empty():
        raise NothingSelected(selected.why_empty)
    tolerated = Region(_shifted(allowed.low, -tolerance), _shifted(allowed.high, tolerance))
    # A NaN lies in no region, and so breaks the bound.
    n_violations = sum(x not in tolerated for x in rows["value"])
    n_unfinished = unfinished["seed"].n_unique()
    by_seed = rows.sort("seed").group_by("seed", maintain_order=True).agg("value").iter_rows()
    worst = {seed: max(values, key=lambda x: excess(x, allowed)) for seed, values in by_seed}
    verdict: VerdictLabel = "contradicted" if n_violations else "undecided" if n_unfinished else "supported"
    reason = f"{n_violations} of {len(rows)} samples break the bound ({allowed}; tolerance {tolerance:g})"
    return Finding(
        verdict,
        "worst sample",
        reason + (f"; {n_unfinished} {seeds_word()} have not finished" if n_unfinished else ""),
        estimate=max(worst.values(), key=lambda x: excess(x, allowed), default=None),
        region_low=allowed.low,
        region_high=allowed.high,
        n=len(worst),
        inside=sum(x in tolerated for x in worst.values()),
        seeds=worst,
    )


def excess(value: float, allowed: Region) -> float:
    """How far a value lies beyond the nearest edge, negative inside. A NaN is further than anything."""
    gap = max(value - allowed.top, allowed.bottom - value)
    return math.inf if math.isnan(gap) else gap


def _shifted(edge: float | None, relative: float) -> float | None:
    return None if edge is None else edge + relative * (abs(edge) or 1.0)
