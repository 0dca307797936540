"""The rows of quantities that are stored or registered, and conditions on rows, one at a time.

An expression is made of such rows (``lnlab.select.aligned``). ``lnlab.select.select`` applies whole selections.
"""

from contextlib import suppress

import polars as pl

from lnlab.keys import Json, canonical
from lnlab.plugins import building
from lnlab.select.quantity import STATE, quantities, quantity_fact
from lnlab.select.references import NoReference
from lnlab.select.run_status import stopped_early
from lnlab.select.selection import QUANTITY_TABLES, Conditions, Selection, parse_selection, value_list
from lnlab.select.settings import NothingSelected, settings_of
from lnlab.setting import STACKS
from lnlab.specfile.columns import LAST
from lnlab.specfile.references import BEST, REFERENCE
from lnlab.specfile.values import matches
from lnlab.tables import Results


def plain_rows(results: Results, selection: Selection, *, narrowed: bool = False) -> pl.DataFrame:
    """Every row of the stored and registered quantities that a selection names, before any other condition.

    Derived rows are kept in ``results.derived``. With ``narrowed``, rows of tables in files are left out if the other
    conditions cannot take them: all of them may not fit in memory.

    Raises:
        NothingSelected: a quantity is measured against a reference, and there is none.
    """
    measured = pl.col("quantity").is_in(selection.names) if "quantity" in selection.written else pl.lit(value=True)
    present = [name for name in QUANTITY_TABLES if name in results.tables]
    parts: list[pl.DataFrame] = []
    if results.scans or "quantity" not in selection.written:
        for name in present:
            in_files = narrowed and name in results.scans
            conditions = _conditions_of_files(results, name, measured, selection) if in_files else [measured]
            parts.append(results.rows(name, *conditions))
    elif present:  # of each quantity many selections take some

        def stored(whole: Results) -> pl.DataFrame:
            return pl.concat([whole.rows(name, measured) for name in present], how="diagonal_relaxed")

        parts = [results.once(f"rows of {canonical(selection.names)}", stored)]
    for name in selection.names:
        if name not in quantities.entries:
            continue
        entry = quantities[name]
        against = entry.facts.reference is not None
        reference = reference_of(selection.written) if against else None
        # Kept with the results: a claim reads them once a seed and place, and they may follow from many runs.
        key = name if reference is None else canonical([name, reference])
        if key not in results.derived:
            try:
                with building("quantity", name, entry.origin):
                    rows = entry.build(results, reference) if against else entry.build(results)
                    if not isinstance(rows, pl.DataFrame):
                        raise TypeError(f"it returned {type(rows).__name__}, and no polars.DataFrame")
                    if not {*STATE, "quantity", "value"} <= set(rows.columns):
                        raise TypeError(f"its rows have the columns {', '.join(rows.columns)}; see total_gradient.py")
                    seed, value = rows.schema["seed"], rows.schema["value"]
                    if not seed.is_integer() or not (value.is_numeric() or value == pl.Boolean):
                        raise TypeError(f"its seeds are {seed} and its values {value}; see total_gradient.py")
                results.derived[key] = rows
            except NoReference as error:
                raise NothingSelected(*error.issues) from error
        parts.append(results.derived[key])
    return pl.concat(parts, how="diagonal_relaxed")


def _conditions_of_files(results: Results, table: str, measured: pl.Expr, selection: Selection) -> list[pl.Expr]:
    """Conditions by which a table in files is read, so that rows that the selection cannot take stay out of memory."""
    conditions = [measured]
    # A key that is absent reads as None, which is neither a word nor a number: then nothing is left out by it.
    splits, steps, seeds = (value_list(selection.rows.get(name)) for name in ("split", "step", "seed"))
    if table == "curves" and all(isinstance(split, str) for split in splits):
        conditions.append(pl.col("split").is_in(splits))
    if LAST in steps:  # which step that is, runs decide that the selection leaves out
        group = ["run", "quantity", *(["split"] if table == "curves" else [])]
        latest = results.scans[table](*conditions, exact=False).group_by(group).agg(pl.col("step").max())
        whole = pl.col("status").eq("finished").fill_null(value=False) & ~stopped_early(results.runs)
        runs = results.runs.filter(whole).lazy().select("run", _end="steps")
        ends = latest.join(runs, on="run").group_by("_end", *group[1:]).agg(pl.col("step").max())
        last = {*ends.collect(engine="streaming")["step"], *results.runs["steps"]}
        return [*conditions, pl.col("step").is_in([*filter(_is_whole, steps), *last])]
    if all(map(_is_whole, steps)):
        conditions.append(pl.col("step").is_in(steps))
    if selection.setting:
        with suppress(NothingSelected):  # it is said where the selection itself is applied
            variants = settings_of(results).select(selection.setting)["variant"]
            conditions.append(pl.col("variant").is_in(variants.to_list()))
    if "layer" not in selection.rows and all(map(_is_whole, seeds)):  # the last layer is that of all seeds
        conditions.append(pl.col("seed").is_in(seeds))
    return conditions


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def reference_of(conditions: Conditions) -> Json:
    """What a selection is measured against: what it names, else what its quantity takes by itself, else None.

    A quantity that compares variants takes those that the selection takes, by their settings.
    """
    if REFERENCE in conditions or quantity_fact(conditions, "reference") != "compared":
        return conditions.get(REFERENCE)
    return dict(parse_selection(conditions).setting) or BEST


def narrow_rows(results: Results, rows: pl.DataFrame, key: str, condition: Json) -> pl.DataFrame:
    """The rows that meet one condition."""
    return rows_meeting(results, rows, {key: condition})


def rows_meeting(results: Results, rows: pl.DataFrame, conditions: Conditions, *also: pl.Expr) -> pl.DataFrame:
    """The rows that meet every condition, in this order, and those in ``also`` before them."""
    # Those that look at one row alone are applied together.
    pending = list(also)
    for key, condition in conditions.items():
        values = value_list(condition)
        if key in _LAST_OF and LAST in values:
            rows, pending = _LAST_OF[key](results, rows.filter(*pending), values), []
        else:
            pending.append(_meeting(results, rows, key, condition))
    return rows.filter(*pending) if pending else rows


def _meeting(results: Results, rows: pl.DataFrame, key: str, condition: Json) -> pl.Expr:
    """Whether a row meets a condition that no other row decides."""
    if key == "layer":
        return _layer_meets(value_list(condition))
    if key in rows.columns:
        words = value_list(condition)
        if words and rows.schema[key] == pl.String and all(isinstance(word, str) for word in words):
            return pl.col(key).is_in(words)
        # A condition is read once for each distinct value, of which there are few, and not once a row.
        matching = [value for value in rows[key].unique().to_list() if matches(value, condition)]
        return pl.col(key).is_in(pl.Series(matching, dtype=rows.schema[key]).implode(), nulls_equal=True)
    if key == "status":
        runs = narrow_rows(results, results.runs, key, condition)
        return pl.col("run").is_in(runs["run"].implode())
    return pl.col("variant").is_in(settings_of(results).select({key: condition})["variant"].implode())


def _steps(results: Results, rows: pl.DataFrame, steps: list[Json]) -> pl.DataFrame:
    """Rows at these steps. ``last`` is where runs of that length that came to their end are measured last.

    So a diverged run has no such row: its own last row would come from before the divergence.
    """
    runs = results.runs
    whole = pl.col("status").eq("finished").fill_null(value=False) & ~stopped_early(runs)
    rows = rows.join(runs.select("run", _end="steps", _whole=whole), on="run", how="left", maintain_order="left")
    group = [column for column in ("_end", "quantity", "split") if column in rows.columns]
    last = pl.coalesce(pl.col("step").filter(pl.col("_whole")).max().over(group), "_end")
    numbers = [step for step in steps if isinstance(step, int | float) and not isinstance(step, bool)]
    return rows.filter(pl.col("step").is_in(numbers) | (pl.col("step") == last)).drop("_end", "_whole")


def _layer_meets(layers: list[Json]) -> pl.Expr:
    """Whether a layer is one of these: numbers, ``null``, or ``first``."""
    numbers = [number for number in layers if isinstance(number, int | float) and not isinstance(number, bool)]
    mask = pl.col("layer").is_in(numbers)
    if "first" in layers:
        mask = mask | (pl.col("layer") == 1)
    if None in layers:
        # Where there is no layer, the comparisons above are null, and not false.
        mask = mask.fill_null(value=False) | pl.col("layer").is_null()
    return mask


def _last_layers(results: Results, rows: pl.DataFrame, layers: list[Json]) -> pl.DataFrame:
    """Layers as ``_layer_meets``, or the ``last`` of the row's own stack (not the final norm)."""
    settings = settings_of(results)
    last = pl.col("number").cast(pl.Int32)
    counts = [
        settings.numbers(f"{stack}.layers").select("variant", stack=pl.lit(stack), _last=last) for stack in STACKS
    ]
    rows = rows.join(pl.concat(counts), on=["variant", "stack"], how="left", maintain_order="left")
    # a model from elsewhere has the layers that its sites count
    is_last = pl.col("layer") == pl.coalesce("_last", pl.col("layer").max().over("variant", "stack"))
    return rows.filter(is_last | _layer_meets(layers)).drop("_last")


_LAST_OF = {"layer": _last_layers, "step": _steps}
"""Columns of which ``last`` may be asked, which other rows decide."""
