"""What theorems say of a number, as its divisor: Lemma 2 and Theorem 1 of Xiong et al. (2020), 3.1 of Xu et al. (2021).

For a stack of L layers of width d, with inputs of variance 1 and r = d_ff / d = 1:

    Lemma 2      Post-LN  E‖x_l‖²/d = 3/2            Pre-LN  1 + l/2 <= E‖x_l‖²/d <= 1 + 3l/2
    Theorem 1    Post-LN  ‖dL/dW2‖ <= O(d √ln d)     Pre-LN  ‖dL/dW2‖ <= O(d √(ln d / L))
    sharper      Post-LN  O(√d)                      Pre-LN  O(√(d/L))

The proof of Theorem 1 bounds each of d² entries by norms of whole vectors. But the gradient of one token is of rank
one, the outer product of two vectors whose norms are known, which saves a factor √(d ln d). Constants are left out. The
statements are about layers of self-attention and a feed-forward network: a stack with cross-attention has no row here.

In N layers without norms, whose longest input is mu, v, o, w1 and w2 begin as Xavier's matrices times

    Theorem 3.1  N^(-1/2) / (2 mu)                 relation-aware  (N (4 mu² + 2 mu + 2))^(-1/2)
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities, register_alike, stored_rows
from lnlab.select.settings import settings_of
from lnlab.setting import STACKS
from lnlab.tables import Results


class StackShape(NamedTuple):
    """What the statements depend on: ``post`` or ``pre``, layers, width."""

    placement: str
    layers: int
    width: int


_SCALED_BY_DT_FIXUP = ("v", "o", "w1", "w2")
_Divisor = Callable[[StackShape, int], float]
"""From a stack and one of its layers to a divisor."""


@quantities.register(
    "norm_over_dt_fixup_factor",
    words=QuantityWords(
        "norm over DT-Fixup's factor",
        "Frobenius",
        "norm of a matrix over DT-Fixup's factor for its stack",
    ),
    of=("parameter_norm", "input_norm_max"),
)
def norm_over_dt_fixup_factor(results: Results) -> pl.DataFrame:
    """``‖W‖ · 2 mu √N``, relational ``‖W‖ · √(N (4 mu² + 2 mu + 2))``: v o w1 w2 before scaling (Xu et al., 2021).

    mu is the longest input of the stack, as measured, and N its layers. Where the init is another the factor is 1.
    """
    norms = stored_rows(results, "parameter_norm").filter(pl.col("tensor").is_in(_SCALED_BY_DT_FIXUP))
    longest = stored_rows(results, "input_norm_max").select(*STATE, "stack", mu="value")
    shapes = pl.DataFrame(
        list(_dt_fixup_shapes(results)),
        schema={"variant": pl.String, "stack": pl.String, "_layers": pl.Int64, "_relational": pl.Boolean},
        orient="row",
    )
    joined = norms.join(longest, on=[*STATE, "stack"], how="inner", maintain_order="left")
    joined = joined.join(shapes, on=["variant", "stack"], how="inner", maintain_order="left")
    mu, layers = pl.col("mu"), pl.col("_layers")
    factor = (
        pl.when(layers.is_null())
        .then(1.0)
        .when(pl.col("_relational"))
        .then((layers * (4 * mu**2 + 2 * mu + 2)) ** -0.5)
        .otherwise(layers**-0.5 / (2 * mu))
    )
    name = pl.lit("norm_over_dt_fixup_factor").alias("quantity")
    return joined.select(*STATE, name, *SITE, pl.col("value") / factor)


def _dt_fixup_shapes(results: Results) -> Iterator[tuple[str, str, int | None, bool]]:
    """``variant stack layers relational`` of every stack. ``layers`` is None without DT-Fixup in the init."""
    for variant, setting in settings_of(results).by_variant.items():
        init = setting.get("init")
        # An init may be made of another, down to one that is made of none.
        while init and init["kind"] != "dt_fixup":
            init = init.get("of")
        for stack in STACKS:
            if stack in setting.parts:
                layers = setting.get(f"{stack}.layers") if init else None
                yield variant, stack, layers, bool(init) and init["relational"]


@quantities.register(
    "stream_over_lower_bound",
    words=QuantityWords("stream over its lower bound", "ratio", "squared hidden norm over 1 + l/2"),
    of=("hidden_norm_sq",),
)
def stream_over_lower_bound(results: Results) -> pl.DataFrame:
    """``(E‖x_l‖²/d) / (1 + l/2)``: the stream after layer l over Lemma 2's lower bound (Xiong et al., 2020).

    In Post-LN the stream before its last norm, over 3/2. Other placements have no row.
    """
    last_additions = (pl.col("sublayer") == "feed_forward") & (pl.col("tensor") == "sum")
    rows = stored_rows(results, "hidden_norm_sq").filter(last_additions)
    return _divided(rows, results, "stream_over_lower_bound", lemma_2_bound)


def lemma_2_bound(shape: StackShape, layer: int) -> float:
    """The lower bound on E‖x_l‖²/d, which in Post-LN is the upper one, too."""
    return 1.5 if shape.placement == "post" else 1 + layer / 2


def theorem_1_bound(shape: StackShape, _layer: int) -> float:
    """``d √ln d`` in Post-LN, ``d √(ln d / L)`` in Pre-LN."""
    return shape.width * math.sqrt(math.log(shape.width) / _depth(shape))


def rank_one_bound(shape: StackShape, _layer: int) -> float:
    """``√d`` in Post-LN, ``√(d / L)`` in Pre-LN."""
    return math.sqrt(shape.width / _depth(shape))


def _depth(shape: StackShape) -> int:
    return 1 if shape.placement == "post" else shape.layers


def _divided(rows: pl.DataFrame, results: Results, name: str, divisor: _Divisor) -> pl.DataFrame:
    """The rows of stacks that the statements are about, each over its divisor."""
    divisor_rows = [
        (variant, stack, layer, divisor(shape, layer))
        for variant, stack, shape in _stacks(results)
        for layer in range(1, shape.layers + 1)
    ]
    schema = {"variant": pl.String, "stack": pl.String, "layer": pl.Int32, "_divisor": pl.Float64}
    divisors = pl.DataFrame(divisor_rows, schema=schema, orient="row")
    joined = rows.join(divisors, on=["variant", "stack", "layer"], how="inner", maintain_order="left")
    return joined.select(*STATE, pl.lit(name).alias("quantity"), *SITE, pl.col("value") / pl.col("_divisor"))


def _last_w2(name: str, divisor: _Divisor, results: Results) -> pl.DataFrame:
    """The gradient of w2 in the last layer of each stack, over its divisor."""
    schema = {"variant": pl.String, "stack": pl.String, "layer": pl.Int32}
    stack_depths = [(variant, stack, shape.layers) for variant, stack, shape in _stacks(results)]
    last_layers = pl.DataFrame(stack_depths, schema=schema, orient="row")
    matrices = stored_rows(results, "gradient_norm").filter(pl.col("tensor") == "w2")
    last = matrices.join(last_layers, on=["variant", "stack", "layer"], how="semi", maintain_order="left")
    return _divided(last, results, name, divisor)


def _stacks(results: Results) -> Iterator[tuple[str, str, StackShape]]:
    """Every stack, of Post-LN or Pre-LN and without cross-attention, of every variant."""
    for variant, setting in settings_of(results).by_variant.items():
        for name in STACKS:
            placement, layers, width, cross = (
                setting.get(path)
                for path in (f"{name}.placement.kind", f"{name}.layers", "model.d_model", f"{name}.cross_attention")
            )
            # A stack that a setting lacks has no placement, and a model of the user's own may count no layers.
            if placement in ("post", "pre") and not cross and isinstance(layers, int) and isinstance(width, int):
                yield variant, name, StackShape(placement, layers, width)


_GRADIENTS = (
    (
        "gradient_over_theorem",
        theorem_1_bound,
        QuantityWords(
            "gradient over the theorem", "{nats} per {item}", "gradient norm over d √ln d, in Pre-LN over d √(ln d / L)"
        ),
        """``‖E g‖_F / (d √(ln d / L))``: the last w2's gradient over the form of Theorem 1 (Xiong et al., 2020).

    In Post-LN the form is d √ln d. Other placements have no row.
    """,
    ),
    (
        "gradient_over_sharp_law",
        rank_one_bound,
        QuantityWords(
            "gradient over the sharper law", "{nats} per {item}", "gradient norm over √d, in Pre-LN over √(d/L)"
        ),
        """``‖E g‖_F / √(d / L)``: the last w2's gradient over the law of rank-one gradients (after Xiong et al., 2020).

    In Post-LN the law is √d. Other placements have no row.
    """,
    ),
)
register_alike(_last_w2, _GRADIENTS, of=("gradient_norm",))
