"""``q where ‖θ_t - θ_0‖ = D*``: states of two runs that are equally far from where they began.

At the same step a run with warm-up has moved less than one without, so a difference may come from the distance alone.
At every step D* is therefore the smallest displacement among the compared variants, within each seed. The others are
measured where they first reached it. Between the two states around D* log q is taken as linear in the displacement,
which is 0 at step 0. A run whose first state lies beyond D* has no number.
"""

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.select.quantity import SITE, STATE, register_alike, stored_rows
from lnlab.select.references import reference_variants
from lnlab.tables import Results

DISTANCE = "total_displacement"
_NEEDS = "the total displacement at the states of every compared variant, and one of each that is no farther"
_LINE = ["run", *SITE]


_QUANTITIES = (
    (
        "hidden_norm_sq_at_displacement",
        "hidden_norm_sq",
        QuantityWords(
            "squared hidden norm", "per coordinate", "of a token, where all compared runs have moved equally far"
        ),
        "``E‖x‖²/d where ‖θ_t - θ_0‖ = D*``: the stream, equally far from the start (Nagarajan and Kolter, 2019).",
    ),
    (
        "norm_inverse_sigma_at_displacement",
        "norm_inverse_sigma",
        QuantityWords(
            "inverse sigma",
            "per coordinate",
            "mean of one over the standard deviation of a token, where all compared runs have moved equally far",
        ),
        "``E 1/σ_in where ‖θ_t - θ_0‖ = D*``: a norm's factor on the gradient, equally far (Xiong et al., 2020).",
    ),
)


def _at_matched_displacement(name: str, quantity: str, results: Results, reference: Json = None) -> pl.DataFrame:
    """A stored quantity of each run, at every site, where the run first reached the D* of each step."""
    moved = _displacements(results)
    states = stored_rows(results, quantity)
    # Its logarithm is interpolated.
    states = states.filter(pl.col("value") > 0, pl.col("value").is_finite()).join(
        moved.select("run", "step", "_moved"), on=["run", "step"], maintain_order="left"
    )
    segments = states.sort("step", maintain_order=True).with_columns(_log=pl.col("value").log())
    segments = segments.with_columns(
        _before=pl.col("_moved").shift().over(_LINE), _was=pl.col("_log").shift().over(_LINE)
    )
    levels = _levels(results, moved, reference)
    # A row has the step of its D* from here on: many levels may fall between the same two states.
    pairs = segments.drop("step").join(levels, on=["variant", "seed"], maintain_order="left")
    reached = pairs.filter(pl.col("_moved") >= pl.col("_level"))
    first = reached.group_by(*_LINE, "step", maintain_order=True).first()
    share = (pl.col("_level") - pl.col("_before")) / (pl.col("_moved") - pl.col("_before"))
    between = pl.col("_was") + share * (pl.col("_log") - pl.col("_was"))
    # The run that moved least is at D* itself: its own state, without an interpolation that rounds.
    value = pl.when(pl.col("_moved") == pl.col("_level")).then("_log").otherwise(between).exp()
    rows = first.with_columns(value=value, quantity=pl.lit(name)).drop_nulls("value")
    return rows.select(*STATE, "quantity", *SITE, "value")


def _displacements(results: Results) -> pl.DataFrame:
    """``run variant seed step _moved``, 0 at step 0."""
    known = stored_rows(results, DISTANCE).filter(pl.col("value").is_finite()).select(*STATE, _moved="value")
    at_start = known.select("run", "variant", "seed").unique(maintain_order=True)
    return pl.concat(
        [at_start.with_columns(step=pl.lit(0, known.schema["step"]), _moved=0.0).select(known.columns), known]
    )


def _levels(results: Results, moved: pl.DataFrame, reference: Json) -> pl.DataFrame:
    """``variant seed step _level``: D* of the variants that each is compared with, from step 1 on."""
    compared = [
        (variant, other) for variant, others in reference_variants(results, reference).items() for other in others
    ]
    pairs = pl.DataFrame(compared, {"_of": pl.String, "variant": pl.String}, orient="row")
    distances = pairs.join(moved.filter(pl.col("step") > 0), on="variant", maintain_order="left")
    smallest = distances.group_by("_of", "seed", "step", maintain_order=True).agg(_level=pl.col("_moved").min())
    return smallest.rename({"_of": "variant"})


for _line in _QUANTITIES:
    register_alike(
        _at_matched_displacement,
        [_line],
        of=(_line[1], DISTANCE),
        trained=True,
        across=True,
        needs=_NEEDS,
        reference="compared",
    )
