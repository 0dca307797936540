"""``q where ‖θ_t - θ_0‖ = D*``: states of two runs that are equally far from where they began.

At the same step a run with warm-up has moved less than one without, so that whatever differs may be of the distance
alone. D* is the distance to which all compared variants come: in each seed the smallest of their largest displacements.
Between the two states around it log q is taken as linear in the displacement, which is 0 at step 0. A run whose first
state lies beyond D* has no number.
"""

import polars as pl

from lnlab.analyse.quantities.quantity import SITE, STATE, quantities, stored_rows
from lnlab.analyse.select.references import reference_variants
from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.tables import Results

DISTANCE = "total_displacement"
_NEEDS = "the total displacement at the states of every compared variant, one of them no farther than all come to"
_LINE = ["run", *SITE]


@quantities.register(
    "hidden_norm_sq_at_displacement",
    words=QuantityWords(
        "squared hidden norm", "per coordinate", "of a token, where all compared runs have moved equally far"
    ),
    of=("hidden_norm_sq", DISTANCE),
    trained=True,
    across=True,
    needs=_NEEDS,
    reference="compared",
)
def hidden_norm_sq_at_displacement(results: Results, reference: Json = None) -> pl.DataFrame:
    """``E‖x‖²/d where ‖θ_t - θ_0‖ = D*``: the stream, equally far from the start (Nagarajan and Kolter, 2019)."""
    return at_matched_displacement(results, "hidden_norm_sq", reference)


@quantities.register(
    "norm_inverse_sigma_at_displacement",
    words=QuantityWords(
        "inverse sigma",
        "per coordinate",
        "mean of one over the standard deviation of a token, where all compared runs have moved equally far",
    ),
    of=("norm_inverse_sigma", DISTANCE),
    trained=True,
    across=True,
    needs=_NEEDS,
    reference="compared",
)
def norm_inverse_sigma_at_displacement(results: Results, reference: Json = None) -> pl.DataFrame:
    """``E 1/σ_in where ‖θ_t - θ_0‖ = D*``: a norm's factor on the gradient, equally far (Xiong et al., 2020)."""
    return at_matched_displacement(results, "norm_inverse_sigma", reference)


@quantities.register(
    "update_amplification_at_displacement",
    words=QuantityWords(
        "amplification",
        "ratio of squares",
        "output change by an update over its squared length, where all compared runs have moved equally far",
    ),
    of=("update_amplification", DISTANCE),
    trained=True,
    across=True,
    needs=_NEEDS,
    reference="compared",
)
def update_amplification_at_displacement(results: Results, reference: Json = None) -> pl.DataFrame:
    """``E‖ΔF‖²/‖Δθ‖² where ‖θ_t - θ_0‖ = D*``: what an update amplifies, equally far (after Liu et al., 2020)."""
    return at_matched_displacement(results, "update_amplification", reference)


def at_matched_displacement(results: Results, quantity: str, reference: Json) -> pl.DataFrame:
    """A stored quantity of each run, at every site, where it is first at D*; its step is the run's last state."""
    states = _states(results, quantity)
    states = states.join(_levels(results, states, reference), on=["variant", "seed"], maintain_order="left")
    segments = states.with_columns(_log=pl.col("value").log()).with_columns(
        _before=pl.col("_moved").shift().over(_LINE),
        _was=pl.col("_log").shift().over(_LINE),
        step=pl.col("step").max().over("run"),
    )
    reached = segments.filter(pl.col("_moved") >= pl.col("_level"))
    first = reached.group_by(_LINE, maintain_order=True).first()
    share = (pl.col("_level") - pl.col("_before")) / (pl.col("_moved") - pl.col("_before"))
    between = pl.col("_was") + share * (pl.col("_log") - pl.col("_was"))
    at_state = pl.col("_moved") == pl.col("_level")
    value = pl.when(at_state).then("_log").otherwise(between).exp()
    rows = first.with_columns(value=value, quantity=pl.lit(f"{quantity}_at_displacement")).drop_nulls("value")
    return rows.select(*STATE, "quantity", *SITE, "value")


def _states(results: Results, quantity: str) -> pl.DataFrame:
    """Rows of the quantity with ``_moved``, the displacement of their state; steps rising."""
    known = stored_rows(results, DISTANCE).filter(pl.col("value").is_finite()).select("run", "step", _moved="value")
    at_start = known.select("run").unique(maintain_order=True)
    at_start = at_start.with_columns(step=pl.lit(0, known.schema["step"]), _moved=0.0)
    values = stored_rows(results, quantity).filter(pl.col("value") > 0, pl.col("value").is_finite())
    return values.join(pl.concat([at_start, known]), on=["run", "step"], maintain_order="left").sort(
        "step", maintain_order=True
    )


def _levels(results: Results, states: pl.DataFrame, reference: Json) -> pl.DataFrame:
    """``variant seed _level``: D* of the variants that each is compared with."""
    farthest = states.group_by("variant", "seed", maintain_order=True).agg(_level=pl.col("_moved").max())
    pairs = [(variant, other) for variant, others in reference_variants(results, reference).items() for other in others]
    compared = pl.DataFrame(pairs, {"_of": pl.String, "variant": pl.String}, orient="row")
    joined = compared.join(farthest, on="variant", maintain_order="left")
    smallest = joined.group_by("_of", "seed", maintain_order=True).agg(pl.col("_level").min())
    return smallest.rename({"_of": "variant"})
