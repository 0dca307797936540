"""``lr λ_max / 2``: how near the next update is to the edge of stability (Cohen et al., 2021, 2022).

On a quadratic every eigenvector has its own recurrence, and the one of λ_max is the first to grow as the rate rises. It
starts to grow at lr = (2 + 2 μ)/λ_max with the heavy ball u <- μ u + g, and at lr = (2 + 2 μ)/((1 + 2 μ) λ_max) with
Nesterov's step. With Adam, whose m is a mean and whose v is at rest, it starts at lr = (2 + 2 β1)/((1 - β1) λ_max) in
the coordinates of v. The rate is that of the next update, and at the last state that of the last one. RAdam multiplies
it by r_t, and has no such edge while it does not divide by √v̂.
"""

from collections.abc import Mapping

import polars as pl

from lnlab.analyse.quantities.learned import FAILED_BELOW, learned_fractions, with_task
from lnlab.analyse.quantities.training import as_run_quantity, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.rectification import ADAPTIVE_ABOVE, rectification
from lnlab.select.quantity import STATE, quantities, stored_rows
from lnlab.select.settings import settings_of
from lnlab.specfile.references import BEST
from lnlab.tables import Results

_RATE = "learning_rate"
HESSIAN_SHARPNESS, ADAM_SHARPNESS = "sharpness", "adam_sharpness_at_rest"


@quantities.register(
    "rate_times_sharpness",
    words=QuantityWords(
        "rate times sharpness",
        "2 is the edge of descent",
        "learning rate of the next update times the sharpness",
        "η λ",
    ),
    of=(HESSIAN_SHARPNESS, _RATE),
    trained=True,
)
def rate_times_sharpness(results: Results) -> pl.DataFrame:
    """``lr λ_max``: the next update's rate times the sharpness (Cohen et al., 2021).

    Plain descent is stable below 2. Whatever the optimizer is: Adam, too, is often judged by it.
    """
    return as_run_quantity(_times_rate(results, HESSIAN_SHARPNESS), "rate_times_sharpness")


@quantities.register(
    "rate_over_edge",
    words=QuantityWords(
        "rate over its edge",
        "1 is the edge",
        "learning rate of the next update over that at which the optimizer becomes unstable on a quadratic",
    ),
    of=(HESSIAN_SHARPNESS, ADAM_SHARPNESS, _RATE),
    trained=True,
)
def rate_over_edge(results: Results) -> pl.DataFrame:
    """``lr λ_max / (2 + 2 μ), lr λ_max (1 - β1) / (2 + 2 β1)``: 1 is the edge of stability (Cohen et al., 2022).

    With SGD λ_max is that of the Hessian, with Adam and its relatives ``adam_sharpness_at_rest``.
    """
    parts = []
    for name in (HESSIAN_SHARPNESS, ADAM_SHARPNESS):
        states = _times_rate(results, name)
        edges = _edges(results, states, name)
        states = states.join(edges, on=["variant", "step"], how="left", maintain_order="left")
        parts.append(states.with_columns(value=pl.col("value") / pl.col("_edge")))
    return as_run_quantity(pl.concat(parts, how="diagonal"), "rate_over_edge")


@quantities.register(
    "sharpness_at_equal_nll",
    words=QuantityWords(
        "sharpness at equal loss",
        "{nats} per {item}",
        "where a run first reaches the validation loss that all learning runs reach",
    ),
    of=(HESSIAN_SHARPNESS, "nll", "unigram_entropy"),
    trained=True,
    across=True,
    needs="the sharpness and the validation loss at the same states, and a run that learns a quarter",
    whole_run=True,
)
def sharpness_at_equal_nll(results: Results) -> pl.DataFrame:
    """``λ_max where L_t = L*``: the sharpness of runs of a seed at one loss (after Gilmer et al., 2022).

    L* is the highest last validation nll among the runs of the seed that learn a quarter of what the best variant does,
    so that all of these come to it. Between the states around it log λ_max is taken as linear in the loss. A run that
    does not get there has none.
    """
    level = _levels(results)
    losses = recorded_curve(results, "nll", "validation").select("run", "step", _nll="value")
    states = with_task(results, stored_rows(results, HESSIAN_SHARPNESS).select(*STATE, "value")).filter(
        pl.col("value") > 0
    )
    states = states.join(losses, on=["run", "step"], maintain_order="left").sort("step", maintain_order=True)
    states = states.join(level, on=["_task", "seed"], maintain_order="left")
    segments = states.with_columns(_sharp=pl.col("value").log()).with_columns(
        _before=pl.col("_nll").shift().over("run"), _was=pl.col("_sharp").shift().over("run")
    )
    # Rows rise in step, so that the first of a run is the earliest.
    first = segments.filter(pl.col("_nll") <= pl.col("_level")).group_by("run", maintain_order=True).first()
    share = (pl.col("_level") - pl.col("_nll")) / (pl.col("_before") - pl.col("_nll"))
    interpolated = pl.col("_sharp") + share * (pl.col("_was") - pl.col("_sharp"))
    # The first state of a run may be at the level already: then there is nothing to interpolate.
    value = pl.when(pl.col("_before").is_null()).then("_sharp").otherwise(interpolated).exp()
    return as_run_quantity(first.with_columns(value=value), "sharpness_at_equal_nll")


def stability_edge(optimizer: Mapping[str, Json], quantity: str) -> float | None:
    """The smallest unstable lr λ_max of an optimizer, or None where another λ_max counts for it."""
    if optimizer["kind"] == "sgd":
        momentum = float(optimizer["momentum"])
        bound = (2 + 2 * momentum) / (1 + 2 * momentum if optimizer["nesterov"] else 1)
        return bound if quantity == HESSIAN_SHARPNESS else None
    if "beta1" not in optimizer or quantity != ADAM_SHARPNESS:
        return None
    beta1 = float(optimizer["beta1"])
    return (2 + 2 * beta1) / (1 - beta1)


def rate_multiplier(optimizer: Mapping[str, Json], update: int) -> float | None:
    """The factor on an optimizer's rate at an update >= 1: r_t of RAdam, or None where it is not adaptive yet."""
    if optimizer["kind"] != "radam":
        return 1.0
    radam = rectification(update, float(optimizer["beta2"]))
    return radam.r_t if radam.rho_t > ADAPTIVE_ABOVE else None


def _edges(results: Results, states: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """``variant step _edge``: the ``lr λ_max`` from which on the update after a state is unstable, where one is."""
    by_variant = settings_of(results).by_variant
    variant_steps = states.select("variant", "step").unique(maintain_order=True).rows()
    rows: list[tuple[str, int, float | None]] = []
    for variant, step in variant_steps:
        optimizer = by_variant[variant].get("optimizer")
        bound = stability_edge(optimizer, quantity) if isinstance(optimizer, dict) else None
        multiplier = rate_multiplier(optimizer, step + 1) if isinstance(optimizer, dict) else None
        rows.append((variant, step, None if bound is None or multiplier is None else bound / multiplier))
    return pl.DataFrame(rows, {"variant": pl.String, "step": pl.Int64, "_edge": pl.Float64}, orient="row")


def _times_rate(results: Results, quantity: str) -> pl.DataFrame:
    """``run variant seed step value``: a stored quantity of states times the rate that they are left with."""
    states = stored_rows(results, quantity).select(*STATE, "value")
    rates = recorded_curve(results, _RATE, "train")
    # The rate of update t is recorded at step t, and the state before it is that of step t - 1.
    next_rates = rates.select("run", pl.col("step") - 1, _next="value")
    last_rates = rates.select("run", "step", _last="value")
    for neighbours in (next_rates, last_rates):
        states = states.join(neighbours, on=["run", "step"], how="left", maintain_order="left")
    return states.select(*STATE, value=pl.col("value") * pl.coalesce("_next", "_last"))


def _levels(results: Results) -> pl.DataFrame:
    """``_task seed _level``: L* of each task and seed. There is no row where no run learns."""
    learned = (
        learned_fractions(results, BEST).filter(pl.col("value") >= FAILED_BELOW, ~pl.col("cut")).select("run", "step")
    )
    last = recorded_curve(results, "nll", "validation").join(
        learned, on=["run", "step"], how="semi", maintain_order="left"
    )
    return with_task(results, last).group_by("_task", "seed", maintain_order=True).agg(_level=pl.col("value").max())
