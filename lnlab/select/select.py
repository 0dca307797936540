"""Selection of measured rows by what they are: columns of their table, or paths of the resolved setting.

Values are a word, a number, a bool, ``null``, or a list of these. A word against a choice compares its kind; a short
form (``placement``, ``model.layers``) takes runs whose stacks agree; ``layer`` may be ``first`` or ``last``, counted in
the stack of that row, and ``step`` may be ``last``, where a run that comes to its end is measured last. A quantity
that is measured at sites and along the curve needs ``split``, which is null at sites. What is measured along a line
of its own has its place there as ``x``. ``reference`` is no condition: it names what a derived number is
measured against (``lnlab.specfile.references``).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import polars as pl

from lnlab.errors import listed, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.early_stops import stopped_early
from lnlab.select.quantity import quantities, quantity_fact
from lnlab.select.references import NoReference
from lnlab.select.settings import NothingSelected, settings_of
from lnlab.setting import STACKS
from lnlab.specfile.columns import COLUMNS, LAST
from lnlab.specfile.references import BEST, REFERENCE
from lnlab.specfile.values import matches
from lnlab.tables import Results

Selection = Mapping[str, Json]
QUANTITY_TABLES = ("sites", "curves", "lines")  # the tables whose rows are a quantity and a value
RUN_KEYS = ("run", "variant", "seed", "status")  # what a selection may name of the runs themselves


def select_measured_rows(results: Results, selection: Selection, columns: Sequence[str] = ()) -> pl.DataFrame:
    """The rows that a selection takes: ``run variant seed step``, the columns of their table, ``quantity``, ``value``.

    Args:
        results: of an experiment.
        selection: ``quantity`` (stored or derived) and any further conditions; an empty one takes everything.
        columns: paths of the setting to add as columns of that name: numbers where all are numbers, else words.

    Raises:
        NothingSelected: a key is neither a column nor a path of any setting, or what its quantity is taken over.
    """
    if (path := quantity_fact(selection, "over")) and path in (*selection, *columns):
        what = f"'{selection['quantity']}' is taken over it"
        raise NothingSelected(Issue("no-effect", path, what, "leave it out"))
    rows = quantity_rows(results, selection, narrowed=True)
    for key, condition in steps_first(selection):
        rows = narrow_rows(results, rows, key, condition)
    return settings_of(results).with_columns(rows, columns)


def quantity_rows(results: Results, selection: Selection, *, narrowed: bool = False) -> pl.DataFrame:
    """Every row of the quantities that a selection names, stored and derived, before any other condition.

    If ``narrowed``, of tables in files only rows that the other conditions may take, as all need not fit in memory.
    """
    names = [name for name in value_list(selection.get("quantity")) if isinstance(name, str)]
    measured = pl.col("quantity").is_in(names) if "quantity" in selection else pl.lit(value=True)
    present = [name for name in QUANTITY_TABLES if name in results.tables]
    parts = []
    for name in present:
        in_files = narrowed and name in results.scans
        conditions = _conditions_of_files(results, name, measured, selection) if in_files else [measured]
        parts.append(results.rows(name, *conditions))
    parts += [_derived(results, name, selection) for name in names if name in quantities.entries]
    return pl.concat(parts, how="diagonal_relaxed")


def _conditions_of_files(results: Results, table: str, measured: pl.Expr, selection: Selection) -> list[pl.Expr]:
    """What all rows meet that a selection takes from a table in files: no others need be held in memory."""
    conditions = [measured]
    splits, steps, seeds = (value_list(selection.get(name)) for name in ("split", "step", "seed"))
    if table == "curves" and all(isinstance(split, str) for split in splits):
        conditions.append(pl.col("split").is_in(splits))
    if LAST in steps:  # which step that is, runs decide that the selection leaves out
        last = _last_steps(results, table, conditions)
        return [*conditions, pl.col("step").is_in([*filter(_is_whole, steps), *last])]
    if all(map(_is_whole, steps)):
        conditions.append(pl.col("step").is_in(steps))
    if of_setting := setting_conditions(selection):
        with suppress(NothingSelected):  # it is said where the selection itself is applied
            conditions.append(pl.col("variant").is_in(settings_of(results).select(of_setting)["variant"].to_list()))
    if "layer" not in selection and all(map(_is_whole, seeds)):  # the last layer is that of all seeds
        conditions.append(pl.col("seed").is_in(seeds))
    return conditions


def _last_steps(results: Results, table: str, conditions: Sequence[pl.Expr]) -> set[int]:
    """Every step that is the last of some group of runs: where whole ones were measured last, or ended."""
    group = ["run", "quantity", *(["split"] if table == "curves" else [])]
    latest = results.scans[table](*conditions, exact=False).group_by(group).agg(pl.col("step").max())
    whole = pl.col("status").eq("finished").fill_null(value=False) & ~stopped_early(results.runs)
    runs = results.runs.filter(whole).lazy().select("run", _end="steps")
    ends = latest.join(runs, on="run").group_by("_end", *group[1:]).agg(pl.col("step").max())
    return {*ends.collect(engine="streaming")["step"], *results.runs["steps"]}


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _derived(results: Results, quantity: str, selection: Selection) -> pl.DataFrame:
    """The rows of a derived quantity: a claim reads them once a seed and place, and they may follow from many runs.

    Raises:
        NothingSelected: it is measured against a reference, and there is none.
    """
    entry = quantities[quantity]
    against = entry.facts.reference is not None
    reference = reference_of(selection) if against else None
    name = quantity if reference is None else canonical([quantity, reference])
    if name not in results.derived:
        try:
            results.derived[name] = entry.build(results, reference) if against else entry.build(results)
        except NoReference as error:
            raise NothingSelected(*error.issues) from error
    return results.derived[name]


def reference_of(selection: Selection) -> Json:
    """What a selection is measured against: what it names, else what its quantity takes by itself, else None.

    A quantity that compares variants takes those that the selection takes, by their settings.
    """
    if REFERENCE in selection or quantity_fact(selection, "reference") != "compared":
        return selection.get(REFERENCE)
    return setting_conditions(selection) or BEST


def setting_conditions(selection: Selection) -> dict[str, Json]:
    """The conditions on the setting alone."""
    other_keys = {*COLUMNS, *RUN_KEYS, REFERENCE}
    return {path: condition for path, condition in selection.items() if path not in other_keys}


def narrow_rows(results: Results, rows: pl.DataFrame, key: str, condition: Json) -> pl.DataFrame:
    """The rows that meet one condition."""
    if key == "layer":
        return _layers(results, rows, value_list(condition))
    if key == "step" and LAST in value_list(condition):
        return _steps(results, rows, value_list(condition))
    if key in rows.columns:
        matching = [value for value in rows[key].unique().to_list() if matches(value, condition)]
        return rows.filter(pl.col(key).is_in(pl.Series(matching, dtype=rows.schema[key]).implode(), nulls_equal=True))
    if key == "status":
        runs = narrow_rows(results, results.runs, key, condition)
        return rows.filter(pl.col("run").is_in(runs["run"].implode()))
    return rows.join(settings_of(results).select({key: condition}), on="variant", how="semi", maintain_order="left")


def runs_with(results: Results, selection: Selection, over: str | None = None) -> pl.DataFrame:
    """The runs that a selection is about, measured or not: its setting paths, and ``RUN_KEYS``.

    Where ``over`` is a path of the setting, only runs that have a value there.
    """
    tables = [name for name in QUANTITY_TABLES if name in results.tables]
    row_columns = set(COLUMNS).union(*(results.lazy(name).collect_schema() for name in tables))
    no_path = {*row_columns, *RUN_KEYS, REFERENCE}
    conditions = {path: condition for path, condition in selection.items() if path not in no_path}
    settings = settings_of(results)
    runs = results.runs.join(settings.select(conditions), on="variant", how="semi", maintain_order="left")
    for key in RUN_KEYS:
        if key in selection:
            runs = narrow_rows(results, runs, key, selection[key])
    if over is not None and over not in row_columns:
        runs = settings.with_columns(runs, [over]).drop_nulls(over)
    return runs


def steps_first(selection: Selection) -> list[tuple[str, Json]]:
    """The conditions; which step is the last one is decided before any of them has left out runs."""
    conditions = [condition for condition in selection.items() if condition[0] != REFERENCE]
    return sorted(conditions, key=lambda condition: condition[0] != "step")


def value_list(value: Json) -> list[Json]:
    """A list as it is, a single value as a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]


def why_empty(results: Results, selection: Selection) -> Issue:
    """Which condition of a selection leaves nothing, and what there was to take."""
    rows = quantity_rows(results, selection)
    if (needs := quantity_fact(selection, "needs")) and not runs_with(results, selection).is_empty():
        return Issue(
            "not-measured", "quantity", f"'{selection['quantity']}' is not there for these runs", f"it needs {needs}"
        )
    if rows.is_empty():
        tables = [results.tables[name] for name in QUANTITY_TABLES if name in results.tables]
        return _nothing_called(selection, {name for table in tables for name in table["quantity"].unique()})
    for key, condition in steps_first(selection):
        before = rows
        rows = narrow_rows(results, rows, key, condition)
        if rows.is_empty():
            values = settings_of(results).with_columns(before, [key])[key].unique().to_list()
            present = sorted({f"{v:g}" if isinstance(v, float) else str(v) for v in values if v is not None})
            return Issue(
                "empty-selection",
                key,
                f"no row has {condition!r}",
                f"there is {listed(present, str(condition)) or 'nothing but null'}",
            )
    raise ValueError("found rows, expected an empty selection")


def _nothing_called(selection: Selection, stored: set[str]) -> Issue:
    """Why there is no row of a quantity: there is none of that name, or none of what it is derived from."""
    name = selection.get("quantity")
    if parts := [part for part in quantity_fact(selection, "of") or () if part not in stored]:
        missing = ", ".join(f"'{part}'" for part in parts)
        return Issue(
            "not-measured",
            "quantity",
            f"'{name}' is derived from {missing}, which was not measured",
            "measure that, too",
        )
    if name in quantities.entries:
        return Issue(
            "not-measured", "quantity", f"there is nothing that '{name}' could be derived from", nearest("", stored)
        )
    return Issue(
        "not-measured",
        "quantity",
        f"nothing measured is called {name!r}",
        nearest(str(name), stored | set(quantities.entries)),
    )


def _steps(results: Results, rows: pl.DataFrame, steps: list[Json]) -> pl.DataFrame:
    """Steps by number, or as ``last``: where a run of so many updates that came to its end is measured last.

    So a run that diverged has no such row: its own last one would come from before it did.
    """
    runs = results.runs
    whole = pl.col("status").eq("finished").fill_null(value=False) & ~stopped_early(runs)
    rows = rows.join(runs.select("run", _end="steps", _whole=whole), on="run", how="left", maintain_order="left")
    group = [column for column in ("_end", "quantity", "split") if column in rows.columns]
    last = pl.coalesce(pl.col("step").filter(pl.col("_whole")).max().over(group), "_end")
    numbers = [step for step in steps if isinstance(step, int | float) and not isinstance(step, bool)]
    return rows.filter(pl.col("step").is_in(numbers) | (pl.col("step") == last)).drop("_end", "_whole")


def _layers(results: Results, rows: pl.DataFrame, layers: list[Json]) -> pl.DataFrame:
    """Layers by number, by ``null``, or as ``first`` and ``last`` of the row's own stack (not the final norm)."""
    settings = settings_of(results)
    last = pl.col("number").cast(pl.Int32)
    counts = [
        settings.numbers(f"{stack}.layers").select("variant", stack=pl.lit(stack), _last=last) for stack in STACKS
    ]
    rows = rows.join(pl.concat(counts), on=["variant", "stack"], how="left", maintain_order="left")
    layer = pl.col("layer")  # a model from elsewhere has the layers that its sites count
    rows = rows.with_columns(pl.coalesce("_last", layer.max().over("variant", "stack")).alias("_last"))
    numbers = [number for number in layers if isinstance(number, int | float) and not isinstance(number, bool)]
    mask = layer.is_in(numbers)
    if "first" in layers:
        mask = mask | (layer == 1)
    if "last" in layers:
        mask = mask | (layer == pl.col("_last"))
    if None in layers:
        mask = mask.fill_null(value=False) | layer.is_null()
    return rows.filter(mask).drop("_last")
