"""The rows of an expression over quantities: values of one run at one place, each column that both have agreeing.

A *key* of a quantity is every column that places its rows (step, split, layer, ...) and that any of them has, less what
its brackets pin; a number of a whole run has no step either. Two quantities meet where their common keys agree, null
with null. One that lacks a key goes with every value of it. Rows without a partner are left out, and counted.

Values are as float64 arithmetic has them: a quotient by 0 is infinite or NaN, and is a measured number like any other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import polars as pl

from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.quantity import SITE, STATE, quantities
from lnlab.select.select import narrow_rows, quantity_rows
from lnlab.select.selection import parse_selection
from lnlab.select.settings import NothingSelected
from lnlab.specfile.expressions import Expression, Operand, Term
from lnlab.specfile.references import REFERENCE
from lnlab.tables import Results, table_schema

_NO_KEYS = ("run", "variant", "seed", "quantity", "value", "measurement", "trajectory")


@dataclass(frozen=True)
class Aligned:
    """The rows of an expression, and what became of those that it was made of.

    Attributes:
        rows: of the expression, as of any quantity.
        keys: the columns besides the run on which they were aligned or to which they were spread.
        used: of each operand how many rows it has, and how many of them found partners in all others.
    """

    rows: pl.DataFrame
    keys: tuple[str, ...]
    used: tuple[tuple[Operand, int, int], ...]


def expression_rows(expression: Expression, results: Results, reference: Json = None) -> pl.DataFrame:
    """``run variant seed step quantity``, the columns of the place, and ``value``, float64.

    Raises:
        NothingSelected: an operand has two numbers at one place.
    """
    return aligned(results, expression, reference).rows


def aligned(results: Results, expression: Expression, reference: Json = None) -> Aligned:
    """The rows of an expression with the counts of what it was made of, computed once.

    Raises:
        NothingSelected: an operand has two numbers at one place.
    """
    return results.once(
        f"aligned {canonical([expression.name, reference])}", lambda these: _align(these, expression, reference)
    )


def _align(results: Results, expression: Expression, reference: Json) -> Aligned:
    frames = [_operand(results, one, number, reference) for number, one in enumerate(expression.operands)]
    joined = reduce(_join, frames)
    keys = [column for column in joined.columns if column not in _NO_KEYS and not column.startswith("_")]
    used = []
    for operand, frame in zip(expression.operands, frames, strict=True):
        own = [column for column in frame.columns if column == "run" or column in keys]
        used.append((operand, frame.height, joined.select(own).unique().height))
    there = pl.all_horizontal(pl.col(f"_{number}").is_not_null() for number in range(len(frames)))
    columns = {operand: pl.col(f"_{number}") for number, operand in enumerate(expression.operands)}
    value = pl.when(there).then(_value(expression.root, columns))
    # a number whose steps are all pinned stands at the last of them
    steps = [pl.col("step")] if "step" in keys else [pl.col(c) for c in joined.columns if c.startswith("_step")]
    place = [column for column in keys if column not in ("step", *SITE)]
    types = table_schema("sites")
    missing = [pl.lit(None, types[column]).alias(column) for column in SITE if column not in keys]
    rows = joined.with_columns(
        *missing, step=pl.max_horizontal(steps), value=value.cast(pl.Float64), quantity=pl.lit(expression.name)
    )
    return Aligned(rows.select(*STATE, "quantity", *place, *SITE, "value"), tuple(keys), tuple(used))


def _operand(results: Results, operand: Operand, number: int, reference: Json) -> pl.DataFrame:
    """``run variant seed``, the keys of a quantity, its values as ``_<number>`` and, if it is no key, its step."""
    conditions: dict[str, Json] = {"quantity": operand.quantity}
    if reference is not None:
        conditions[REFERENCE] = reference
    rows = quantity_rows(results, parse_selection(conditions))
    for column, value in operand.pins:
        rows = narrow_rows(results, rows, column, value) if column in rows.columns else rows.clear()
    derived = quantities.entries.get(operand.quantity)
    pinned = {column for column, _ in operand.pins} | ({"step"} if derived and derived.facts.whole_run else set())
    keys = [
        column
        for column in rows.columns
        if column not in (*_NO_KEYS, *pinned) and (column == "step" or rows[column].null_count() < rows.height)
    ]
    step = [] if "step" in keys else [pl.col("step").alias(f"_step{number}")]
    frame = rows.select("run", "variant", "seed", *keys, *step, pl.col("value").cast(pl.Float64).alias(f"_{number}"))
    places = frame.select("run", *keys)
    if (twice := places.is_duplicated()).any():
        first = places.filter(twice).drop("run").row(0, named=True)
        at = ", ".join(f"{column} {value}" for column, value in first.items() if value is not None)
        what = f"'{operand}' has several numbers of one run{f' at {at}' if at else ''}"
        raise NothingSelected(Issue("ambiguous", "quantity", what, "measure it once, or pin what tells them apart"))
    return frame


def _join(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    common = [column for column in right.columns if column in left.columns and column not in ("variant", "seed")]
    right = right.drop("variant", "seed").with_columns(pl.col(column).cast(left.schema[column]) for column in common)
    return left.join(right, on=common, how="inner", nulls_equal=True, maintain_order="left_right")


def _value(term: Term, columns: dict[Operand, pl.Expr]) -> pl.Expr:
    if isinstance(term, Operand):
        return columns[term]
    if isinstance(term, float):
        return pl.lit(term, pl.Float64)
    return _OPERATIONS[term.operator]([_value(one, columns) for one in term.terms])


def _least(terms: Sequence[pl.Expr]) -> pl.Expr:
    # NaN stays NaN, as in all arithmetic; polars itself takes it as the largest number
    return reduce(lambda a, b: pl.when(a.is_nan() | (~b.is_nan() & (a <= b))).then(a).otherwise(b), terms)


_OPERATIONS: dict[str, Callable[[Sequence[pl.Expr]], pl.Expr]] = {
    "+": lambda terms: terms[0] + terms[1],
    "-": lambda terms: terms[0] - terms[1],
    "*": lambda terms: terms[0] * terms[1],
    "/": lambda terms: terms[0] / terms[1],
    "**": lambda terms: terms[0].pow(terms[1]),
    "negative": lambda terms: -terms[0],
    "sqrt": lambda terms: terms[0].sqrt(),
    "log": lambda terms: terms[0].log(),
    "exp": lambda terms: terms[0].exp(),
    "abs": lambda terms: terms[0].abs(),
    "min": _least,
    "max": lambda terms: -_least([-term for term in terms]),
}
