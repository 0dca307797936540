"""A statement about all numbers of a seed at once, and on how many seeds it holds: k of n.

    share of seeds on which every number (every difference of a pair) lies in the region     (Clopper & Pearson, 1934)

It judges the pattern of a table: closed downwards, nested, unmoved by depth. One exception makes a seed fail, as one
cell would in a printed table.
"""

import json
from collections.abc import Callable, Sequence
from typing import Literal

import polars as pl

from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.kinds.status import SeedTally, share_finding
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import arm_names
from lnlab.claims.student import HALF_OF_SEEDS
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.select.run_status import ending_text
from lnlab.select.select import Selected
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

_ALL_EQUAL = "all equal"
SeedCondition = Callable[[Sequence[float]], bool]


@claims.register("everywhere", measure="share", about=("share",), law=False)
def everywhere(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    to: dict[str, Json] | None = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    equal: bool = False,
    expect: Literal["holds", "fails"] = "holds",
) -> Finding:
    """``k of n``: seeds on which every selected number lies in the range, more than half (Clopper & Pearson, 1934).

    With ``to`` it is every difference, the number less that of the run in which only what ``to`` names is changed.
    ``equal: true`` in place of a range asks that the numbers of a seed are all the same. ``expect: fails``: it holds
    on fewer than half. What is selected may be any number of settings; a seed counts once it has them all. Trained
    sides are compared where both finish.
    """
    if equal and (between, at_least, at_most) != (None, None, None):
        raise LabError(Issue("conflict", "equal", "declares both a range and that all are equal", "keep one of them"))
    allowed = None if equal else declared_region(between, at_least, at_most)
    holds: SeedCondition = (
        (lambda xs: len(set(xs)) < 2) if allowed is None else (lambda xs: all(x in allowed for x in xs))
    )
    what = "difference" if to is not None else "number"
    statement = f"{of.get('quantity', 'value')} {_ALL_EQUAL}" if allowed is None else f"every {what} {allowed}"
    sides = [Selected(results, side) for side in ([of] if to is None else [of, {**of, **to}])]
    tally = _tally(results, sides, list(to or ()), holds)
    half = Region(low=HALF_OF_SEEDS) if expect == "holds" else Region(high=HALF_OF_SEEDS)
    finding = share_finding(tally, statement, half, criterion)
    if to is not None and not tally.pending:
        for name, side in zip(arm_names(of, to), sides, strict=True):
            runs = side.leading
            measured = side.rows.filter(pl.col("value").is_finite())["run"]
            lost = runs.filter((pl.col("status") == "diverged") & ~pl.col("run").is_in(measured.implode())).height
            # With room for rounding: 0.8 of 5 runs are 4.
            if lost and runs.height - lost < criterion.finish * runs.height - 1e-9:
                needed = f"a comparison of trained numbers needs that {criterion.finish:.0%} finish"
                reason = f"{name} diverged in {lost} of {runs.height} runs; {needed}"
                return Finding(
                    "not testable here", finding.statistic, reason, region_low=half.low, region_high=half.high
                )
    return finding


def _tally(results: Results, sides: Sequence[Selected], changed: Sequence[str], holds: SeedCondition) -> SeedTally:
    """Count each seed by whether its numbers hold, or why they cannot be known."""
    if any(side.endings.is_empty() for side in sides):
        raise NothingSelected(
            Issue("empty-selection", "of", "no run matches the whole selection", "lnlab plan prints the runs there are")
        )
    all_runs = pl.concat([side.endings.select("seed", "status", "reason") for side in sides]).sort("seed")
    runs = [side.leading for side in sides]
    if len(sides) == 1:
        rows = _rows(sides[0]).group_by("seed", maintain_order=True).agg("value")
        numbers: dict[int, list[float]] = dict(rows.iter_rows())
    else:
        numbers = _differences(results, sides, changed)
    expected = dict(runs[0].group_by("seed").len().iter_rows())
    met: dict[int, bool] = {}
    unknown: dict[int, str] = {}
    pending: list[int] = []
    for seed in all_runs["seed"].unique().sort():
        values = numbers.get(seed, [])
        seed_runs = all_runs.filter(seed=seed)
        if seed_runs["status"].is_null().any() or "interrupted" in seed_runs["status"]:
            pending.append(seed)
        elif len(values) == expected.get(seed):
            met[seed] = holds(values)
        elif "diverged" in seed_runs["status"]:
            met[seed] = False
        else:
            fates = seed_runs.select("status", "reason").unique().iter_rows()
            reasons = [ending_text(status, reason) for status, reason in fates if status != "finished"]
            unknown[seed] = "; ".join(sorted(reasons)) or "not measured"
    return SeedTally(met, unknown, tuple(pending), unknown)


def _rows(side: Selected) -> pl.DataFrame:
    """``run seed value``: one number a run.

    Raises:
        LabError: a run has several.
        NothingSelected: nothing is there though everything has run.
    """
    leading = pl.col("run").is_in(side.leading["run"].implode())
    rows = side.rows.filter(leading, pl.col("value").is_not_null())
    if rows.is_empty() and not side.leading["status"].has_nulls():
        raise NothingSelected(side.why_empty)
    if rows["run"].is_duplicated().any():
        raise LabError(
            Issue("ambiguous", "of", "a run has several numbers", "pin one: split, statistics, rule or step")
        )
    return rows.select("run", "seed", "value")


def _differences(results: Results, sides: Sequence[Selected], changed: Sequence[str]) -> dict[int, list[float]]:
    """Return by seed a - b over the pairs of runs that differ in what ``to`` names alone.

    Raises:
        LabError: a run has more than one partner.
    """
    # Each run by its value of every axis that varies on its side and is not changed by ``to``.
    coordinates: list[dict[str, dict[str, str]]] = []
    for side in sides:
        runs = side.leading
        axes = results.axes.filter(pl.col("run").is_in(runs["run"].implode()), ~pl.col("axis").is_in(list(changed)))
        varying = axes.group_by("axis").agg(pl.col("value").n_unique()).filter(pl.col("value") > 1)["axis"]
        by_run: dict[str, dict[str, str]] = {run: {} for run in runs["run"]}
        of_axes = axes.filter(pl.col("axis").is_in(varying.implode())).select("run", "axis", "value")
        for run, axis, value in of_axes.iter_rows():
            by_run[run][axis] = value
        coordinates.append(by_run)
    names = sorted(set().union(*({axis for values in by_run.values() for axis in values} for by_run in coordinates)))
    frames = []
    for side, by_run in zip(sides, coordinates, strict=True):
        position = {run: json.dumps([values.get(axis) for axis in names]) for run, values in by_run.items()}
        frames.append(
            _rows(side).with_columns(at=pl.col("run").replace_strict(position, default="", return_dtype=pl.String))
        )
    if any(frame.select("seed", "at").is_duplicated().any() for frame in frames):
        raise LabError(
            Issue(
                "ambiguous",
                "to",
                "more than one run pairs with each run of 'of'",
                "change the setting that distinguishes them",
            )
        )
    pairs = frames[0].join(frames[1], on=["seed", "at"], how="inner", suffix="_b", maintain_order="left")
    differences = pairs.with_columns(value=pl.col("value") - pl.col("value_b"))
    return dict(differences.group_by("seed", maintain_order=True).agg("value").iter_rows())
