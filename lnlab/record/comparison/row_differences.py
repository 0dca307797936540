"""Measured rows of two sides, quantity by quantity: how many differ, and by how much."""

from collections.abc import Iterator, Sequence

import polars as pl

from lnlab.record.comparison.sides import variant_names
from lnlab.report.words.wording import count_noun
from lnlab.tables import Results

_NEGLIGIBLE = 1e-9
"""Numbers that differ by less, relative to their size, are the same number from another machine."""
_KEYS_OF_RUNS = ("run", "variant", "trajectory", "measurement")
"""Columns that name a run by its content, which a change of code or corpus changes without any number."""
_PLACE = "_place"


def number_differences(a: Results, b: Results) -> Iterator[tuple[str, str, str]]:
    """``(quantity, rows here, rows there)`` in words, for each quantity whose rows are not the same.

    Rows are matched by variant in words, seed, step and site. Variants and seeds that one side lacks are left to the
    comparison of runs.
    """
    one, other = (_named(side, side.runs).select("_variant", "seed") for side in (a, b))
    shared = one.join(other, on=["_variant", "seed"], how="semi").unique()
    for table in sorted((a.tables.keys() & b.tables.keys()) - {"needs"}):
        rows = (_named(side, side.tables[table]).join(shared, on=["_variant", "seed"], how="semi") for side in (a, b))
        one, other = (part.drop([key for key in _KEYS_OF_RUNS if key in part.columns]) for part in rows)
        name = next((column for column in ("quantity", "operator") if column in one.columns), None)
        quantities: Sequence[str | None] = [None]
        if name:
            quantities = sorted(set(one[name].unique()) | set(other[name].unique()))
        for quantity in quantities:
            parts = [rows.filter(pl.col(name) == quantity) if name else rows for rows in (one, other)]
            if difference := _difference(*parts):
                yield quantity or table, *difference


def _named(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    names = variant_names(results)
    return rows.with_columns(pl.col("variant").replace_strict(names, return_dtype=pl.String).alias("_variant"))


def _difference(one: pl.DataFrame, other: pl.DataFrame) -> tuple[str, str] | None:
    """What differs between the rows of one quantity, in words for each side, or None if nothing does."""
    values = [name for name, kind in one.schema.items() if kind.is_float()]
    keys = [name for name in one.columns if name not in values]
    # Rows of equal keys are matched one by one, in their order.
    one, other = (rows.with_columns(pl.int_range(pl.len()).over(keys).alias(_PLACE)) for rows in (one, other))
    joined = one.join(other, on=[*keys, _PLACE], how="full", nulls_equal=True, suffix="_other", coalesce=False)
    absent_here = joined["_variant"].null_count()
    absent_there = joined["_variant_other"].null_count()
    both = joined.filter(pl.col("_variant").is_not_null(), pl.col("_variant_other").is_not_null())
    distances = both.select(_distance(name).alias(name) for name in values)
    largest = pl.Series([None], dtype=pl.Float64) if not values else distances.max_horizontal()
    changed = both.filter(largest > _NEGLIGIBLE) if both.height else both
    if not (absent_here or absent_there or changed.height):
        return None
    says = f"{changed.height:,} of {both.height:,} differ"
    if changed.height:
        most: object = largest.max()
        size = "more than any number" if most == float("inf") else f"{most:.1e} of themselves"
        says += f" in {count_noun(changed['_variant'].n_unique(), 'variant')}, by at most {size}"
    extra = f", {absent_here:,} more" if absent_here else ""
    return f"{one.height:,} rows", f"{other.height:,} rows, {says}{extra}"


def _distance(name: str) -> pl.Expr:
    """The distance of two numbers relative to the larger. It is infinite if only one is a number."""
    a, b = pl.col(name), pl.col(f"{name}_other")
    equal = a.eq_missing(b) | (a.is_nan() & b.is_nan()).fill_null(value=False)
    relative = (a - b).abs() / pl.max_horizontal(a.abs(), b.abs())
    return pl.when(equal).then(0.0).otherwise(relative.fill_nan(float("inf")).fill_null(float("inf")))
