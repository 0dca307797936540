"""What a grid of learning rates shows of a setting, within each seed.

Equal rates are not equal steps where the scale of the weights differs: settings are ranked by their best loss over a
grid whose optimum is inside, and by how large a rate they bear (Wortsman et al., 2023). One number stands for all runs
of a seed that differ in ``optimizer.lr`` alone, at the first of them. There is no number while one of them has no final
loss.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.analyse.quantities.learned import HALF_LEARNED, TRAINED_ABOVE, learned_fractions
from lnlab.analyse.quantities.training import as_run_quantity, final_losses, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.select.quantity import STATE, quantities, register_alike
from lnlab.select.settings import settings_of
from lnlab.tables import Results

RATE_PATH = "optimizer.lr"
_TAGS: dict[str, Any] = {"trained": True, "across": True, "over": RATE_PATH, "whole_run": True}
_NEEDS = "a final loss at two values of optimizer.lr or more"
_LOSSES, _SHARES = ("nll",), ("nll", "unigram_entropy")
_OF_LOSSES: dict[str, Any] = {"of": _LOSSES, "needs": _NEEDS, **_TAGS}


@dataclass(frozen=True)
class _Grid:
    """The runs of a seed that differ in their rate alone, rates rising.

    Attributes:
        first: ``run variant seed step`` of the run that stands for all.
        rates: at least two.
        losses: the last validation nll at each rate, infinite where the run diverged.
        shares: the learned fraction at each rate, or None.
        start: the validation nll before any update, or None.
    """

    first: tuple[str, str, int, int]
    rates: tuple[float, ...]
    losses: tuple[float, ...]
    shares: tuple[float | None, ...]
    start: float | None

    @property
    def best(self) -> int | None:
        """The place of the lowest loss, or None where every run diverged."""
        index = min(range(len(self.losses)), key=self.losses.__getitem__)
        return index if math.isfinite(self.losses[index]) else None


@quantities.register(
    "max_stable_lr",
    rate=True,
    words=QuantityWords("largest stable learning rate", "per update", "largest of the grid up to which runs train"),
    of=_SHARES,
    needs=_NEEDS,
    reference="best",
    **_TAGS,
)
def max_stable_lr(results: Results, reference: Json = None) -> pl.DataFrame:
    """``max {lr : phi > 0.9 from the best rate up to lr}``: the largest rate that still trains (Wortsman et al., 2023).

    phi is the learned fraction, of what ``reference`` has learned, or ``best`` of all. 0 where not even the best rate
    trains. Smaller rates need not train: they may be too slow for so many updates.
    """
    shares = learned_fractions(results, reference)
    return _grid_rows(results, "max_stable_lr", lambda grid: largest_rate(grid, TRAINED_ABOVE), shares)


@quantities.register(
    "max_half_lr",
    rate=True,
    words=QuantityWords(
        "largest tolerated learning rate", "per update", "largest of the grid up to which runs learn half"
    ),
    of=_SHARES,
    needs=_NEEDS,
    reference="best",
    **_TAGS,
)
def max_half_lr(results: Results, reference: Json = None) -> pl.DataFrame:
    """``max {lr : phi > 0.5 from the best rate up to lr}``: the largest rate that learns half (Wortsman et al., 2023).

    As ``max_stable_lr``, held to half of what ``reference`` has learned: for runs too short to come within a tenth of
    it. 0 where not even the best rate learns half.
    """
    shares = learned_fractions(results, reference)
    return _grid_rows(results, "max_half_lr", lambda grid: largest_rate(grid, HALF_LEARNED), shares)


@quantities.register(
    "lr_sensitivity",
    words=QuantityWords(
        "sensitivity to the learning rate",
        "{nats} per {item}",
        "mean over the grid of the final nll above its smallest",
        larger_is="worse",
    ),
    of=_LOSSES,
    needs=f"{_NEEDS}, and the validation loss at step 0",
    of_learning=True,
    best=True,
    **_TAGS,
)
def lr_sensitivity(results: Results) -> pl.DataFrame:
    """``E_lr[min(L(lr), L_0) - L*]``: what a rate of the grid costs on average, in nats (Wortsman et al., 2023).

    L_0 is the validation nll before any update, beyond which nothing counts, L* the lowest of the grid. NaN where every
    run diverged. Let ``train.evaluate`` begin at step 0.
    """
    return _grid_rows(results, "lr_sensitivity", rate_sensitivity)


_Statistic = Callable[[_Grid], float | None]
"""What is computed of a grid."""


def parabola_vertex(grid: _Grid, best: int) -> float:
    """The rate at the lowest point of the parabola through the best rate and its neighbours, rates as logarithms."""
    near = slice(best - 1, best + 2)
    # Where the first rate is best the slice would begin at -1, the other end of the grid.
    rates = grid.rates[near] if best else ()
    losses = grid.losses[near] if best else ()
    if len(rates) < 3 or not all(map(math.isfinite, losses)):
        return grid.rates[best]
    x = [math.log(rate / grid.rates[best]) for rate in rates]
    left, right = ((losses[i] - losses[1]) / x[i] for i in (0, 2))
    # The divided differences of three points; 0 where they lie on a line.
    curvature = (right - left) / (x[2] - x[0])
    slope = left - curvature * x[0]
    return grid.rates[best] * math.exp(-slope / (2 * curvature)) if curvature else grid.rates[best]


def largest_rate(grid: _Grid, above: float) -> float | None:
    """The largest rate up to which, from the best on, phi exceeds ``above``, or None where a phi is unknown."""
    if None in grid.shares:
        return None
    # Where every run diverged there is no best rate, and no share is above anything.
    largest = 0.0
    for rate, share in list(zip(grid.rates, grid.shares, strict=True))[grid.best or 0 :]:
        if share is None or share <= above:
            break
        largest = rate
    return largest


def rate_sensitivity(grid: _Grid) -> float | None:
    """The mean loss above the best, no loss counting as more than that at the start."""
    if grid.start is None:
        return None
    if grid.best is None:
        return math.nan
    return math.fsum(min(loss, grid.start) - grid.losses[grid.best] for loss in grid.losses) / len(grid.losses)


def _grids(results: Results, learned: pl.DataFrame | None = None) -> list[_Grid]:
    """The grids whose runs all have a final loss and were not cut short, in the order of the plan.

    Args:
        results: of an experiment.
        learned: the learned fraction of every run, where it is needed.
    """
    start = recorded_curve(results, "nll", "validation").filter(pl.col("step") == 0).select("run", _start="value")
    runs = results.runs.filter(pl.col("steps") > 0).select("run", "variant", "seed", "steps")
    runs = runs.join(rates_and_groups(results), on="variant", maintain_order="left")
    losses = final_losses(results).filter(~pl.col("cut"))
    shares = losses.with_columns(value=pl.lit(None, pl.Float64)) if learned is None else learned
    for rows, name in ((losses, "_loss"), (shares, "_share")):
        runs = runs.join(rows.select("run", pl.col("value").alias(name)), on="run", how="left", maintain_order="left")
    runs = runs.join(start, on="run", how="left", maintain_order="left")
    grids = []
    for _, rows in runs.group_by("_group", "seed", maintain_order=True):
        if rows["_rate"].n_unique() < 2 or rows["_loss"].has_nulls():
            continue
        first, rising = rows.row(0, named=True), rows.sort("_rate")
        starts = rows["_start"].drop_nulls()
        grids.append(
            _Grid(
                first=(first["run"], first["variant"], first["seed"], first["steps"]),
                rates=tuple(rising["_rate"]),
                losses=tuple(rising["_loss"]),
                shares=tuple(rising["_share"]),
                # Before any update all rates have the same model, so that one of them speaks for all.
                start=starts[0] if len(starts) else None,
            )
        )
    return grids


def rates_and_groups(results: Results) -> pl.DataFrame:
    """``variant _rate _group`` of the variants with a learning rate: those of one group differ in it alone."""
    settings = settings_of(results)
    rates = settings.numbers(RATE_PATH).select("variant", _rate="number")
    return rates.join(settings.groups(RATE_PATH).rename({"group": "_group"}), on="variant", maintain_order="left")


def _grid_rows(results: Results, name: str, statistic: _Statistic, learned: pl.DataFrame | None = None) -> pl.DataFrame:
    """The number of every grid, as rows of a quantity."""
    types = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64, "value": pl.Float64}
    rows = [(*grid.first, statistic(grid)) for grid in _grids(results, learned)]
    return as_run_quantity(pl.DataFrame(rows, schema=types, orient="row").select(*STATE, "value"), name)


def _of_grid(name: str, statistic: _Statistic, results: Results) -> pl.DataFrame:
    return _grid_rows(results, name, statistic)


_RATES: tuple[tuple[str, _Statistic, QuantityWords, str], ...] = (
    (
        "best_lr",
        lambda grid: math.nan if grid.best is None else grid.rates[grid.best],
        QuantityWords("best learning rate", "per update", "of the grid, that of the smallest final nll"),
        """``argmin_lr L(lr)``: the rate of the grid with the lowest final nll (Wortsman et al., 2023).

    NaN where every run diverged.
    """,
    ),
    (
        "optimal_lr",
        lambda grid: math.nan if grid.best is None else parabola_vertex(grid, grid.best),
        QuantityWords("optimal learning rate", "per update", "lowest point of a parabola around the best of the grid"),
        """``vertex of the parabola through L(log lr)``: at the grid's best rate and its neighbours (Yang et al., 2022).

    So the optimum lies between rates of the grid, and a shift is no whole number of octaves. The best rate itself where
    it is at an end of the grid or beside a run that diverged; NaN where every run did.
    """,
    ),
)
_OF_BEST: tuple[tuple[str, _Statistic, QuantityWords, str], ...] = (
    (
        "best_lr_nll",
        lambda grid: min(grid.losses),
        QuantityWords(
            "nll at the best learning rate", "{nats} per {item}", "smallest final nll of the grid", larger_is="worse"
        ),
        "``min_lr L(lr)``: the final nll at the best rate, infinite where every run diverged (Wortsman et al., 2023).",
    ),
)
_EDGE: tuple[tuple[str, _Statistic, QuantityWords, str], ...] = (
    (
        "basin_edge",
        lambda grid: math.nan if grid.best is None else float(grid.best in (0, len(grid.rates) - 1)),
        QuantityWords("optimum on the edge", "1 if it is", "whether the best learning rate is an end of the grid"),
        "``[argmin_lr L(lr) in {lr_1, lr_n}]``: 1 where the best rate is at an end of the grid (Wortsman et al., 2023)."
        "\n\nThere a better rate may lie outside; NaN where every run diverged.",
    ),
)
register_alike(_of_grid, _RATES, rate=True, best=True, **_OF_LOSSES)
register_alike(_of_grid, _OF_BEST, best=True, **_OF_LOSSES)
register_alike(_of_grid, _EDGE, fraction=True, best=True, **_OF_LOSSES)
