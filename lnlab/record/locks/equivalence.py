"""Compare rows that were computed again with the committed ones: equal to the last bit, or within a lock's margins.

A number of an untrained model may differ by a share of its size, because processors add in different orders. A quantity
of a trained model may differ by a number of standard deviations over seeds, in the root mean square over its numbers.
Training makes differences of the last bit grow until two runs of one seed are as far apart as those of two seeds. Both
margins also allow a share of the largest number of that quantity in that run, as anything smaller is rounding noise.

``rows_put_in`` puts the new rows in place of the committed ones, for the verdicts that would follow.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from lnlab.record.comparison.sides import variant_names
from lnlab.record.matching import PLANNED_COLUMNS
from lnlab.specfile.columns import NEXT_UPDATE_CURVES
from lnlab.tables import Results

MOVED_COUNTS = 1e-3
"""Share of the elements of a histogram that rounding may put on the other side of an edge."""
INITIAL, TRAINED = "initial", "trained"
WITHOUT_NUMBERS = ("needs", "texts")
"""Tables that are not compared."""
OF_CONTENT = ("measurement", "trajectory")
"""Columns of keys, which another version of a piece changes without any number."""
_OF_A_DRAW = ("run", "variant", "seed", "step", "operator", "scope", "part", "draw")
_INFINITE = float("inf")


@dataclass(frozen=True)
class ComparedQuantity:
    """The numbers of one quantity, before or after training, compared.

    Attributes:
        table: in which they stand.
        label: ``gradient_norm, initial``.
        numbers: how many were compared.
        unequal: how many are not equal to the last bit.
        beyond: how many differ by more than their margin. If a trained quantity is within its margin in the root mean
            square, only numbers without a spread over seeds count.
        margins: the largest distance, in margins. For numbers of a trained quantity with a spread over seeds it is the
            root mean square.
        relative: the largest distance, relative to the number.
        worst: the number that differs most: where it is, and what is there instead of what.
    """

    table: str
    label: str
    numbers: int
    unequal: int
    beyond: int
    margins: float
    relative: float
    worst: str


def compare_results(committed: Results, computed: Results, margins: Mapping[str, float]) -> list[ComparedQuantity]:
    """Every quantity of the runs that were computed again, and how these runs ended.

    Args:
        committed: the tables of the report. Rows that it does not keep are not compared.
        computed: of some of its runs, under the same keys, each as far as it was computed.
        margins: of the lock.
    """
    names = variant_names(committed)
    ends = _ends(committed.runs, computed.runs)
    compared = [_compared("runs", "how it ended", ends.filter(pl.col("_margins").is_not_null()), names)]
    for table, rows in committed.tables.items():
        if table in WITHOUT_NUMBERS or rows.is_empty():
            continue
        numbers = _with_distances(
            _side_by_side(_numbers(table, rows), _numbers(table, computed.tables[table]), ends), margins
        )
        for (quantity, trained), part in numbers.group_by("_quantity", "_trained", maintain_order=True):
            label = f"{quantity}, {TRAINED if trained else INITIAL}"
            compared.append(_compared(table, label, part, names))
    return compared


def _ends(committed: pl.DataFrame, computed: pl.DataFrame) -> pl.DataFrame:
    """How every run that was computed again ended, before and now.

    A trained run may end in another way where the seeds of its variant do not all end alike. One that was computed up
    to an earlier update is held to what it was then.
    """
    several = (pl.col("status").n_unique().over("variant") > 1).alias("_several")
    columns = ("status", "done", "parameters")
    if "done" not in committed.columns:  # before lnlab counted updates
        committed = committed.with_columns(done=pl.lit(None, pl.Int64))
    old = committed.select("run", "variant", "seed", "steps", *columns, several)
    ends = old.join(computed.select("run", "steps", *columns), on="run", suffix="_new", maintain_order="left")
    gone_on = (pl.col("steps_new") < pl.col("steps")) & (pl.col("done") >= pl.col("steps_new"))
    ends = ends.with_columns(
        status=pl.when(gone_on).then(pl.lit("finished")).otherwise("status"),
        done=pl.when(gone_on).then("steps_new").otherwise("done"),
    )
    otherwise = pl.col("status") != pl.col("status_new")
    resized = pl.col("parameters") != pl.col("parameters_new")
    beyond = resized | (otherwise & ~(pl.col("_several") & (pl.col("steps") > 0)))
    return ends.with_columns(
        _last=pl.min_horizontal("done", "done_new"),
        _diverged=(pl.col("status") == "diverged") | (pl.col("status_new") == "diverged"),
        _unequal=otherwise | resized | (pl.col("done") != pl.col("done_new")).fill_null(value=False),
        _margins=pl.when(beyond).then(_INFINITE).otherwise(0.0),
        _relative=pl.lit(0.0),
        _old=pl.format("{}, {} parameters", "status", "parameters"),
        _new=pl.format("{}, {} parameters", "status_new", "parameters_new"),
    )


def _numbers(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each number of a table: its keys, ``_quantity``, ``_column``, ``_place`` among equal keys, ``_value``.

    ``_total`` is the number of elements of the histogram that a count belongs to. Eigenvalues are not known one by
    one: of a spectrum stand its moments and its ends.
    """
    if table == "spectra":
        node, weight = pl.col("node"), pl.col("weight")
        rows = rows.group_by(_OF_A_DRAW, maintain_order=True).agg(
            mean=(node * weight).sum(),
            root_mean_square=(node**2 * weight).sum().sqrt(),
            least=node.min(),
            most=node.max(),
        )
    name = "quantity" if "quantity" in rows.columns else "operator" if "operator" in rows.columns else None
    quantity = pl.col(name) if name else pl.lit(table)
    total = pl.lit(None, pl.Float64)
    if table == "histograms":
        keys = [column for column in rows.columns if column not in ("left", "right", "count")]
        total = pl.col("count").sum().over(keys).cast(pl.Float64)
        rows = rows.with_columns(_total=total).cast({"count": pl.Float64})
    else:
        rows = rows.with_columns(_total=total)
    values = [column for column, kind in rows.schema.items() if kind.is_float() and column != "_total"]
    keys = [column for column in rows.columns if column not in (*values, "_total", *OF_CONTENT)]
    placed = rows.with_columns(pl.int_range(pl.len()).over(keys).alias("_place"), quantity.alias("_quantity"))
    index = [*keys, "_place", "_quantity", "_total"]
    return placed.unpivot(values, index=index, variable_name="_column", value_name="_value")


def _side_by_side(old: pl.DataFrame, new: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """The committed numbers of the runs that were computed again as ``_old``, with what is there now as ``_new``.

    ``_deviation`` is over seeds, ``_scale`` the largest number of the quantity in the run. Of a run that diverged
    stand finite numbers of updates that it made both times.
    """
    keys = [column for column in old.columns if column not in ("_value", "_total")]
    finite = pl.when(pl.col("_value").is_finite()).then(pl.col("_value"))
    scale = pl.col("_total") * MOVED_COUNTS if "count" in old["_column"] else pl.lit(None, pl.Float64)
    old = old.with_columns(
        _deviation=finite.std().over([key for key in keys if key not in ("run", "seed")]),
        _scale=finite.abs().max().over("run", "_quantity", "step", "_column"),
        _moved=pl.when(pl.col("_column") == "count").then(scale).otherwise(0.0),
    )
    on = [key for key in keys if key not in ("variant", "seed", "_quantity")]
    there = new.select(*on, pl.col("_value").alias("_new"), _there=pl.lit(value=True))
    joined = old.rename({"_value": "_old"}).join(there, on=on, how="left", nulls_equal=True, maintain_order="left")
    of_run = ends.select("run", "steps", "steps_new", "_last", "_diverged")
    joined = joined.join(of_run, on="run", maintain_order="left").filter(is_computed(joined.columns))
    both = pl.col("_there").fill_null(value=False) & pl.col("_old").is_finite() & pl.col("_new").is_finite()
    counts = ~pl.col("_diverged") | ((pl.col("step") <= pl.col("_last")) & both)
    trained = (pl.col("step").fill_null(pl.col("steps")) > 0).alias("_trained")
    return joined.filter(counts).with_columns(trained)


def is_computed(columns: Collection[str]) -> pl.Expr:
    """Whether a row lies within the updates of its run that were computed again, ``steps_new`` of ``steps``."""
    ahead = pl.lit(value=False)
    if "split" in columns:
        ahead = pl.col("quantity").is_in(NEXT_UPDATE_CURVES) & (pl.col("split") == "train")
    step = pl.col("step").fill_null(pl.col("steps")) + ahead.cast(pl.Int64)
    return (pl.col("steps_new") == pl.col("steps")) | (step <= pl.col("steps_new"))


def _with_distances(numbers: pl.DataFrame, margins: Mapping[str, float]) -> pl.DataFrame:
    """Whether a number is unequal, and how far it is off: ``_unequal``, ``_margins`` and ``_relative``."""
    old, new = pl.col("_old"), pl.col("_new")
    same = old.eq_missing(new) | (old.is_nan() & new.is_nan()).fill_null(value=False)
    unequal = ~(same & pl.col("_there").fill_null(value=False))
    deviation = pl.when(pl.col("_trained")).then(pl.col("_deviation").fill_null(0.0)).otherwise(0.0)
    size = pl.max_horizontal(old.abs(), new.abs())
    distance = (old - new).abs()
    allowed = margins["initial"] * size + margins["rounding"] * pl.col("_scale").fill_null(0.0)
    allowed = allowed + margins["trained"] * deviation + pl.col("_moved")

    def share(of: pl.Expr) -> pl.Expr:
        # Where one of both is no number, or nothing may differ, they lie infinitely far apart.
        known = (distance / of).fill_nan(_INFINITE).fill_null(_INFINITE)
        return pl.when(unequal).then(known).otherwise(0.0)

    return numbers.with_columns(_unequal=unequal, _margins=share(allowed), _relative=share(size))


def _compared(table: str, label: str, rows: pl.DataFrame, names: Mapping[str, str]) -> ComparedQuantity:
    unequal = rows.filter("_unequal")
    beyond = rows.filter(pl.col("_margins") > 1)
    margins = _largest(rows["_margins"])
    if label.endswith(TRAINED):
        spread = pl.col("_deviation").fill_null(0.0) > 0
        by_seed = rows.filter(spread)["_margins"].to_numpy()
        together = float((by_seed**2).mean() ** 0.5) if by_seed.size else 0.0
        if together <= 1:
            beyond = beyond.filter(~spread)
        margins = max(together, _largest(rows.filter(~spread)["_margins"]))
    worst = ""  # as ``Post-LN, seed 3, step 0, decoder layer 6 w2: 0.21 for 0.19``
    if unequal.height:
        row = unequal.sort("_margins", descending=True).row(0, named=True)
        site = [row.get("split"), row.get("stack"), f"layer {row['layer']}" if row.get("layer") else None]
        site += [row.get("sublayer"), row.get("tensor"), row.get("operator")]
        words = [names[str(row["variant"])], f"seed {row['seed']}", f"step {row['step']}" if "step" in row else None]
        where = ", ".join(word for word in [*words, " ".join(str(word) for word in site if word)] if word)
        worst = f"{where}: {_shown(row['_new'])} for {_shown(row['_old'])}"
    return ComparedQuantity(
        table,
        label,
        numbers=rows.height,
        unequal=unequal.height,
        beyond=beyond.height,
        margins=margins,
        relative=_largest(rows["_relative"]),
        worst=worst,
    )


def _largest(values: pl.Series) -> float:
    """The largest of some distances, or 0 if there are none."""
    return float(values.to_numpy().max()) if values.len() else 0.0


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def rows_put_in(committed: Results, computed: Results) -> Results:
    """The committed results with the rows that were computed again in place of the old ones.

    Of a run that was computed in part its later rows and its end stay. Runs keep the variant and the setting that the
    report has of them: with a default that a piece got since, today's are others, though the runs are the same.
    """
    named = committed.runs.select("run", "variant")
    order = pl.DataFrame({"run": committed.runs["run"], "_order": range(committed.runs.height)})
    extents = committed.runs.select("run", "steps").join(
        computed.runs.select("run", "steps"), on="run", how="left", suffix="_new", maintain_order="left"
    )
    extents = extents.with_columns(pl.col("steps_new").fill_null(-1))  # of a run that was not computed no update
    in_whole = extents.filter(pl.col("steps_new") == pl.col("steps"))["run"].implode()

    def in_order(rows: Sequence[pl.DataFrame]) -> pl.DataFrame:
        joined = pl.concat(rows).join(order, on="run", maintain_order="left")
        return joined.sort("_order", maintain_order=True).drop("_order")

    planned = committed.runs.select(PLANNED_COLUMNS)
    ended = computed.runs.filter(pl.col("run").is_in(in_whole)).drop(PLANNED_COLUMNS[1:])
    ended = ended.join(planned, on="run", maintain_order="left").select(committed.runs.columns)
    runs = in_order([committed.runs.filter(~pl.col("run").is_in(in_whole)), ended])
    tables = {}
    for name, rows in committed.tables.items():
        if rows.is_empty() or name not in computed.tables:
            tables[name] = rows
            continue
        numbers = [column for column, kind in rows.schema.items() if kind.is_float() or column == "count"]
        keys = [column for column in rows.columns if column not in (*numbers, *OF_CONTENT)]
        new = computed.tables[name].drop("variant").join(named, on="run", maintain_order="left")
        kept = new.join(rows.select(keys).unique(), on=keys, how="semi", nulls_equal=True)
        others = rows.join(extents, on="run", maintain_order="left")
        others = others.filter(~is_computed(others.columns)).select(rows.columns)
        tables[name] = in_order([kept.select(rows.columns), others])
    return Results(runs, committed.axes, tables, committed.evidence)
