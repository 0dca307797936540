"""The rows of an expression over quantities: values of one run at one place, each column that both have agreeing.

A *key* of a quantity is every column that places its rows (step, split, layer, ...) and that any of them has, less what
its brackets pin. A number of a whole run has no step either. Two quantities meet where their common keys agree, null
with null. One that lacks a key goes with every value of it. Rows without a partner are left out, and counted.

Values are as float64 arithmetic has them: a quotient by 0 is infinite or NaN, and is a measured number like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import polars as pl

from lnlab.errors import listed
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.quantity import SITE, STATE, quantities, quantity_fact
from lnlab.select.rows import narrow_rows, plain_rows, reference_of
from lnlab.select.selection import Conditions, parse_selection
from lnlab.select.settings import NothingSelected
from lnlab.specfile.expressions import Expression, Operand, Term, expression_of
from lnlab.specfile.references import REFERENCE
from lnlab.tables import Results, table_schema

_NO_KEYS = ("run", "variant", "seed", "quantity", "value", "measurement", "trajectory")


@dataclass(frozen=True)
class Aligned:
    """The rows of an expression, and what became of those that it was made of.

    Attributes:
        rows: of the expression, as of any quantity.
        keys: the columns besides the run on which they were aligned or to which they were spread.
        partners: of each operand run, variant, seed and place of its rows, and whether each has ``partners`` in all
            others.
    """

    rows: pl.DataFrame
    keys: tuple[str, ...]
    partners: tuple[tuple[Operand, pl.DataFrame], ...]


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
    partners = []
    for operand, frame in zip(expression.operands, frames, strict=True):
        own = [column for column in frame.columns if column == "run" or column in keys]
        met = joined.select(own).unique().with_columns(partners=True)
        found = frame.select("variant", "seed", *own).join(
            met, on=own, how="left", nulls_equal=True, maintain_order="left"
        )
        partners.append((operand, found.with_columns(pl.col("partners").fill_null(value=False))))
    complete = pl.all_horizontal(pl.col(f"_{number}").is_not_null() for number in range(len(frames)))
    columns = {operand: pl.col(f"_{number}") for number, operand in enumerate(expression.operands)}
    # ``min`` and ``max`` would take the other number where one is null.
    value = pl.when(complete).then(_value(expression.root, columns))
    # a number whose steps are all pinned stands at the last of them
    steps = [pl.col("step")] if "step" in keys else [pl.col(c) for c in joined.columns if c.startswith("_step")]
    place = [column for column in keys if column not in ("step", *SITE)]
    types = table_schema("sites")
    missing = [pl.lit(None, types[column]).alias(column) for column in SITE if column not in keys]
    rows = joined.with_columns(
        *missing, step=pl.max_horizontal(steps), value=value.cast(pl.Float64), quantity=pl.lit(expression.name)
    )
    return Aligned(rows.select(*STATE, "quantity", *place, *SITE, "value"), tuple(keys), tuple(partners))


def _operand(results: Results, operand: Operand, number: int, reference: Json) -> pl.DataFrame:
    """``run variant seed``, the keys of a quantity, its values as ``_<number>`` and, if it is no key, its step."""
    conditions: dict[str, Json] = {"quantity": operand.quantity}
    if reference is not None:
        conditions[REFERENCE] = reference
    rows = plain_rows(results, parse_selection(conditions))
    for column, value in operand.pins:
        # No row meets a condition on a column that its quantity lacks.
        rows = narrow_rows(results, rows, column, value) if column in rows.columns else rows.clear()
    derived = quantities.entries.get(operand.quantity)
    pinned = {column for column, _ in operand.pins} | ({"step"} if derived and derived.facts.whole_run else set())
    # A column that is null throughout places nothing, and is no key.
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


def why_apart(results: Results, expression: Expression, reference: Json = None) -> Issue:
    """Why no row of an expression is there though each of its quantities has some."""
    frames = [_operand(results, one, number, reference) for number, one in enumerate(expression.operands)]
    for (one, left), (other, right) in combinations(zip(expression.operands, frames, strict=True), 2):
        if left.height and right.height and _join(left, right).is_empty():
            for column in [name for name in right.columns if name in left.columns and name not in _NO_KEYS]:
                on_left, on_right = (rows[column].unique().sort().cast(pl.String).to_list() for rows in (left, right))
                if not set(on_left) & set(on_right):
                    has, has_not = (listed(str(value) for value in values) for values in (on_left, on_right))
                    what = f"no {column} has both: '{one}' is there at {has}, '{other}' at {has_not}"
                    remedy = f"pin it, as in {other.quantity}[{column}: {next(filter(None, on_right), 'last')}]"
                    return Issue("empty-selection", "quantity", what, remedy)
            what = f"'{one}' and '{other}' have no place in common"
            return Issue("empty-selection", "quantity", what, "pin columns in brackets, as in a[tensor: sum]")
    missing = next((one for one, rows in zip(expression.operands, frames, strict=True) if rows.is_empty()), None)
    what = f"there is no row of '{missing}'" if missing else "its quantities have no place in common"
    return Issue("empty-selection", "quantity", what, "pin other columns, or measure it")


def alone_in_words(
    results: Results, conditions: Conditions, rows: pl.DataFrame, words: Callable[[Operand], str] = str
) -> str:
    """Return in words how many rows of an expression's quantities have no partner in a selection, or "".

    Args:
        results: of an experiment.
        conditions: the selection.
        rows: that it takes.
        words: what readers call a quantity.
    """
    parts = []
    selection = parse_selection(conditions)
    for name in selection.names:
        if (expression := expression_of(name)) is None:
            continue
        reference = reference_of(conditions) if quantity_fact({"quantity": name}, "reference") else None
        for operand, place in aligned(results, expression, reference).partners:
            of_runs = place.filter(pl.col("run").is_in(rows["run"].unique().implode()))
            for key, condition in selection.rows.items():
                # the first and the last layer are those of a stack
                if key in of_runs.columns and (key != "layer" or "stack" in of_runs.columns):
                    of_runs = narrow_rows(results, of_runs, key, condition)
            if alone := of_runs.height - of_runs["partners"].sum():
                parts.append(f"{alone:,} of {of_runs.height:,} rows of {words(operand)}")
    return f"left out, as nothing else is at their place: {' and '.join(dict.fromkeys(parts))}" if parts else ""


def value_of(expression: Expression, columns: Mapping[Operand, pl.Expr]) -> pl.Expr:
    """The value of an expression, from a column for each of its operands."""
    return _value(expression.root, columns)


def _value(term: Term, columns: Mapping[Operand, pl.Expr]) -> pl.Expr:
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
