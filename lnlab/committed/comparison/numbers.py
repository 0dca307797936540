"""The numbers of two sides, quantity by quantity: equal to the last bit, within margins, or beyond them.

Two runs on the same class of machine, which is a processor, its instructions and a version of torch, have every number
alike to the last bit, so that there any difference is beyond the margin.

Elsewhere a number of an untrained model may differ by a share of its size, because processors add in different orders.
A quantity of a trained model may differ by a number of standard deviations over seeds, in the root mean square over its
numbers. Training makes differences of the last bit grow until two runs of one seed are as far apart as those of two
seeds. Both margins also allow a share of the largest number of that quantity in that run, as anything smaller is
rounding noise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from lnlab.claims.thinned import LONG_CURVE
from lnlab.select.axes import variant_names
from lnlab.tables import ENDED_STATUSES, Results

MARGINS = {"initial": 1e-4, "trained": 4.0, "rounding": 1e-6}
"""How far a number may move on a machine of another kind.

initial: of an untrained model, relative to its size. trained: in standard deviations over seeds. rounding: numbers that
are smaller than this share of the largest one of their quantity are rounding noise.
"""
NEGLIGIBLE = 1e-9
"""Numbers that differ by less, relative to their size, are the same number from another machine."""
MOVED_COUNTS = 1e-3
"""Share of the elements of a histogram that rounding may put on the other side of an edge."""
INITIAL, TRAINED = "initial", "trained"
_OF_CONTENT = ("run", "variant", "trajectory", "measurement")
"""Columns of keys, which another version of a piece or another corpus changes without any number."""
_OF_A_DRAW = ("_variant", "seed", "step", "operator", "scope", "part", "draw")
_INFINITE = float("inf")
_CUT = "0.1.0"
"""The lnlab whose reports had those rows of a run alone that their pages used. Such rows cannot be asked for."""


@dataclass(frozen=True)
class ComparedQuantity:
    """The numbers of one quantity, before or after training, of the runs that both sides have.

    Attributes:
        table: in which they stand.
        quantity: its name, or that of its table.
        stage: ``initial`` or ``trained``. Empty of how runs ended.
        numbers: how many both sides have.
        lacking: how many the second side lacks.
        more: how many it has beyond those of the first. Of a long curve that a report does not keep whole, neither
            counts the points that it dropped.
        concealed: how many of those the first side should have: it measured them, and keeps all that it measured.
        unequal: how many are not equal to the last bit, those that it lacks included.
        changed: how many differ by more than ``NEGLIGIBLE``, and in how many variants.
        beyond: how many differ by more than their margin. If a trained quantity is within its margin in the root mean
            square, only numbers without a spread over seeds count, and those of the same class of machine.
        margins: the largest distance, in margins. For numbers of a trained quantity with a spread over seeds it is the
            root mean square.
        relative: the largest distance, relative to the number.
        worst: the number that differs most: where it is, and what is there instead of what.
    """

    table: str
    quantity: str
    stage: str
    numbers: int
    lacking: int
    more: int
    concealed: int
    unequal: int
    changed: tuple[int, int]
    beyond: int
    margins: float
    relative: float
    worst: str

    @property
    def label(self) -> str:
        """``gradient_norm, initial``."""
        return ", ".join(filter(None, (self.quantity, self.stage)))


def compare_numbers(a: Results, b: Results) -> Iterator[ComparedQuantity]:
    """How the runs that both sides have ended, and every quantity of these.

    Runs are matched by their variant in words and their seed, rows by their step and site, those of equal keys one by
    one in their order.
    """
    names = _names(a), _names(b)
    ends = _ends(*(_named(side.runs, of_side) for side, of_side in zip((a, b), names, strict=True)))
    yield _compared("runs", "how it ended", "", ends)
    shared = ends.select("_variant", "seed")
    for table in sorted((a.tables.keys() & b.tables.keys()) - {"needs"}):
        old, new = (
            _numbers(table, _named(side.tables[table], of_side)) for side, of_side in zip((a, b), names, strict=True)
        )
        # The spread over seeds is that of all of them, whichever the other side has.
        old, new = (
            part.join(shared, on=["_variant", "seed"], how="semi", maintain_order="left")
            for part in (_with_spread(old), new)
        )
        if old.is_empty() and new.is_empty():
            continue
        numbers = _side_by_side(old, new, ends)
        if table == "curves":
            dropped = [_dropped(side, of_side) for side, of_side in zip((a, b), names, strict=True)]
            numbers = _without_dropped(_without_dropped(numbers, "_here", *dropped), "_there", *reversed(dropped))
        numbers = _with_distances(numbers, free=table == "texts")
        for (quantity, trained), part in numbers.group_by("_quantity", "_trained", maintain_order=True):
            yield _compared(table, str(quantity), TRAINED if trained else INITIAL, part)


def _names(results: Results) -> dict[str, str]:
    """Variant key -> what it is matched by: its axes in words, with its key where others have the same words."""
    names = variant_names(results)
    words = list(names.values())
    return {variant: name if words.count(name) == 1 else f"{name} {variant}" for variant, name in names.items()}


def _named(rows: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return rows.with_columns(pl.col("variant").replace_strict(names, return_dtype=pl.String).alias("_variant"))


def _ends(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """How every run ended, on both sides.

    A trained run may end in another way where the seeds of its variant do not all end alike, unless it failed.
    """
    several = (pl.col("status").n_unique().over("_variant") > 1).alias("_several")
    torch = pl.col("versions").str.json_path_match("$.torch").alias("torch")
    columns = ("status", "done", "parameters", "last_finite_loss", "device", torch)
    cut = (pl.col("versions").str.json_path_match("$.lnlab") == _CUT).fill_null(value=False).alias("_cut")
    old = one.select("_variant", "seed", "steps", *columns, several, cut)
    ends = old.join(
        other.select("_variant", "seed", *columns), on=["_variant", "seed"], suffix="_new", maintain_order="left"
    )
    alike = (pl.col("device") == pl.col("device_new")) & (pl.col("torch") == pl.col("torch_new"))
    exact = alike.fill_null(value=False)
    otherwise = pl.col("status").ne_missing(pl.col("status_new"))
    resized = (pl.col("parameters") != pl.col("parameters_new")).fill_null(value=False)
    moved = exact & pl.col("last_finite_loss").ne_missing(pl.col("last_finite_loss_new"))
    unequal = otherwise | resized | moved | (pl.col("done") != pl.col("done_new")).fill_null(value=False)
    by_itself = pl.all_horizontal(pl.col("status", "status_new").fill_null("missing").is_in(ENDED_STATUSES))
    may = pl.col("_several") & (pl.col("steps") > 0) & by_itself
    beyond = resized | (otherwise & ~may) | (unequal & exact)
    return ends.with_columns(
        _exact=exact,
        _last=pl.min_horizontal("done", "done_new"),
        _diverged=((pl.col("status") == "diverged") | (pl.col("status_new") == "diverged")).fill_null(value=False),
        _unequal=unequal,
        _here=pl.lit(value=True),
        _there=pl.lit(value=True),
        _deviation=pl.lit(0.0),
        _margins=pl.when(beyond).then(_INFINITE).otherwise(0.0),
        _relative=pl.when(unequal).then(_INFINITE).otherwise(0.0),
        _old=pl.format("{}, {} parameters", "status", "parameters"),
        _new=pl.format("{}, {} parameters", "status_new", "parameters_new"),
    )


def _numbers(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each number of a table: its keys, ``_quantity``, ``_column``, ``_place`` among equal keys, ``_value``.

    ``_total`` is the number of elements of the histogram that a count belongs to. Eigenvalues are not known one by
    one: of a spectrum stand its moments and its ends. A text is no number: it is there or not.
    """
    if table == "spectra":
        node, weight = pl.col("node"), pl.col("weight")
        rows = rows.group_by(_OF_A_DRAW, maintain_order=True).agg(
            mean=(node * weight).sum(),
            root_mean_square=(node**2 * weight).sum().sqrt(),
            least=node.min(),
            most=node.max(),
        )
    rows = rows.drop(column for column in _OF_CONTENT if column in rows.columns)
    name = "quantity" if "quantity" in rows.columns else "operator" if "operator" in rows.columns else None
    quantity = pl.col(name) if name else pl.lit(table)
    total = pl.lit(None, pl.Float64)
    if table == "histograms":
        keys = [column for column in rows.columns if column not in ("left", "right", "count")]
        total = pl.col("count").sum().over(keys).cast(pl.Float64)
        rows = rows.with_columns(_total=total).cast({"count": pl.Float64})
    else:
        rows = rows.with_columns(_total=total)
    if table == "texts":
        rows = rows.with_columns(there=pl.lit(0.0))
    values = [column for column, kind in rows.schema.items() if kind.is_float() and column != "_total"]
    keys = [column for column in rows.columns if column not in (*values, "_total")]
    placed = rows.with_columns(pl.int_range(pl.len()).over(keys).alias("_place"), quantity.alias("_quantity"))
    index = [*keys, "_place", "_quantity", "_total"]
    return placed.unpivot(values, index=index, variable_name="_column", value_name="_value")


def _with_spread(numbers: pl.DataFrame) -> pl.DataFrame:
    """``_deviation`` over seeds, and ``_scale``, the largest number of the quantity in the run."""
    keys = [column for column in numbers.columns if column not in ("_value", "_total")]
    finite = pl.when(pl.col("_value").is_finite()).then(pl.col("_value"))
    counted = pl.when(pl.col("_column") == "count").then(pl.col("_total") * MOVED_COUNTS).otherwise(0.0)
    return numbers.with_columns(
        _deviation=finite.std().over([key for key in keys if key != "seed"]),
        _scale=finite.abs().max().over("_variant", "seed", "_quantity", "step", "_column"),
        _moved=counted.fill_null(0.0),
    )


def _side_by_side(old: pl.DataFrame, new: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """The numbers of one side as ``_old``, and of the other as ``_new``, with ``_here`` and ``_there``.

    Of a run that diverged on another class of machine stand finite numbers of updates that it made both times.
    """
    keys = [column for column in new.columns if column not in ("_value", "_total")]
    here = old.drop("_total").rename({"_value": "_old"}).with_columns(_here=pl.lit(value=True))
    there = new.select(*keys, pl.col("_value").alias("_new"), _there=pl.lit(value=True))
    joined = here.join(there, on=keys, how="full", nulls_equal=True, coalesce=True, maintain_order="left_right")
    joined = joined.with_columns(pl.col("_here", "_there").fill_null(value=False))
    of_run = ends.select("_variant", "seed", "steps", "_last", "_diverged", "_exact", "_cut")
    joined = joined.join(of_run, on=["_variant", "seed"], maintain_order="left")
    both = pl.col("_here") & pl.col("_there") & pl.col("_old").is_finite() & pl.col("_new").is_finite()
    counts = ~pl.col("_diverged") | pl.col("_exact") | ((pl.col("step") <= pl.col("_last")) & both)
    trained = (pl.col("step").fill_null(pl.col("steps")) > 0).alias("_trained")
    return joined.filter(counts.fill_null(value=True)).with_columns(trained)


def _dropped(side: Results, names: Mapping[str, str]) -> set[tuple[str, int, str]]:
    """Variant, seed and quantity of the curves of which a report keeps no more than it draws."""
    runs = side.runs.select("run", "variant", "seed").iter_rows()
    return {(names[variant], seed, name) for run, variant, seed in runs for name in side.thinned.get(run, ())}


def _without_dropped(
    numbers: pl.DataFrame, on: str, own: set[tuple[str, int, str]], others: set[tuple[str, int, str]]
) -> pl.DataFrame:
    """The numbers without points that one side alone has, where the other dropped points of that curve.

    No report drops points of a short curve. If both dropped some on one class of machine, they dropped the same.
    """
    if not own:
        return numbers
    keys = pl.Schema({"_variant": pl.String(), "seed": numbers.schema["seed"], "quantity": pl.String()})
    curves = pl.DataFrame(sorted(own), schema=keys, orient="row")
    curves = curves.with_columns(_both=pl.Series([key in others for key in sorted(own)]))
    joined = numbers.join(curves, on=[*keys], how="left", maintain_order="left")
    long = pl.len().over(*keys, "split") > LONG_CURVE
    gone = pl.col("_both").is_not_null() & long & ~pl.col(on) & ~(pl.col("_both") & pl.col("_exact") & ~pl.col("_cut"))
    return joined.filter(~gone.fill_null(value=False)).drop("_both")


def _with_distances(numbers: pl.DataFrame, *, free: bool) -> pl.DataFrame:
    """Whether a number is unequal, and how far it is off: ``_unequal``, ``_margins`` and ``_relative``.

    Args:
        numbers: of both sides.
        free: whether another class of machine may have any others: the words of a translation.
    """
    old, new = pl.col("_old"), pl.col("_new")
    same = old.eq_missing(new) | (old.is_nan() & new.is_nan()).fill_null(value=False)
    unequal = ~(same & pl.col("_there") & pl.col("_here"))
    deviation = pl.when(pl.col("_trained")).then(pl.col("_deviation").fill_null(0.0)).otherwise(0.0)
    size = pl.max_horizontal(old.abs(), new.abs())
    distance = (old - new).abs()
    allowed = MARGINS["initial"] * size + MARGINS["rounding"] * pl.col("_scale").fill_null(0.0)
    allowed = allowed + MARGINS["trained"] * deviation + pl.col("_moved").fill_null(0.0)
    allowed = pl.when("_exact").then(0.0).otherwise(allowed)

    def share(of: pl.Expr, counted: pl.Expr) -> pl.Expr:
        # Where one of both is no number, or nothing may differ, they lie infinitely far apart.
        known = (distance / of).fill_nan(_INFINITE).fill_null(_INFINITE)
        return pl.when(counted).then(known).otherwise(0.0)

    held = unequal & pl.col("_exact") if free else unequal
    return numbers.with_columns(_unequal=unequal, _margins=share(allowed, held), _relative=share(size, unequal))


def _compared(table: str, quantity: str, stage: str, rows: pl.DataFrame) -> ComparedQuantity:
    here, both = rows.filter("_here"), rows.filter(pl.col("_here") & pl.col("_there"))
    unequal = here.filter("_unequal")
    changed = both.filter(pl.col("_relative") > NEGLIGIBLE)
    beyond = here.filter(pl.col("_margins") > 1)
    margins = _largest(here["_margins"])
    if stage == TRAINED:
        spread = (pl.col("_deviation").fill_null(0.0) > 0) & ~pl.col("_exact")
        by_seed = here.filter(spread)["_margins"].to_numpy()
        together = float((by_seed**2).mean() ** 0.5) if by_seed.size else 0.0
        if together <= 1:
            beyond = beyond.filter(~spread)
        margins = max(together, _largest(here.filter(~spread)["_margins"]))
    return ComparedQuantity(
        table,
        quantity,
        stage,
        numbers=both.height,
        lacking=here.height - both.height,
        more=rows.height - here.height,
        concealed=rows.filter(~pl.col("_here"), ~pl.col("_cut")).height,
        unequal=unequal.height,
        changed=(changed.height, changed["_variant"].n_unique()),
        beyond=beyond.height,
        margins=margins,
        relative=_largest(both["_relative"]),
        worst=_worst(unequal),
    )


def _worst(unequal: pl.DataFrame) -> str:
    """The number that differs most, as ``Post-LN, seed 3, step 0, decoder layer 6 w2: 0.21 for 0.19``."""
    if unequal.is_empty():
        return ""
    row = unequal.sort("_margins", "_relative", descending=True, maintain_order=True).row(0, named=True)
    site = [row.get("split"), row.get("stack"), f"layer {row['layer']}" if row.get("layer") else None]
    site += [row.get("sublayer"), row.get("tensor"), row.get("operator")]
    words = [row["_variant"], f"seed {row['seed']}", f"step {row['step']}" if "step" in row else None]
    where = ", ".join(word for word in [*words, " ".join(str(word) for word in site if word)] if word)
    return f"{where}: {_shown(row['_new'])} for {_shown(row['_old'])}"


def _largest(values: pl.Series) -> float:
    """The largest of some distances, or 0 if there are none."""
    return float(values.to_numpy().max()) if values.len() else 0.0


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)
