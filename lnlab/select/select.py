"""What a selection takes of measured results, read once: its rows, its runs, what they miss, and why it is empty.

``layer`` may be ``first`` or ``last``, counted in the stack of that row, and ``step`` may be ``last``, where a run that
comes to its end is measured last. A quantity that is measured at sites and along the curve needs ``split``, which is
null at sites. A quantity along a line has its place on the line as ``x``. ``step`` may also be a level of another
quantity (``lnlab.specfile.step_levels``).

A stop rule may end a sound run before its last update. Such a run is ``stopped``. Its curves are cut where the rule
decided, so that no number taken after step 0 is comparable with those of whole runs.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module

import polars as pl

from lnlab.errors import listed, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.plugins import building
from lnlab.select.missed_measurements import missed_seeds
from lnlab.select.quantity import SITE, STATE, quantities, quantity_fact
from lnlab.select.references import NoReference
from lnlab.select.run_status import STOPPED, any_unfinished, stopped_early
from lnlab.select.selection import QUANTITY_TABLES, Conditions, Selection, parse_selection, value_list
from lnlab.select.settings import NothingSelected, settings_of
from lnlab.setting import STACKS
from lnlab.specfile.columns import COLUMNS, LAST
from lnlab.specfile.expressions import expression_of
from lnlab.specfile.references import BEST, REFERENCE
from lnlab.specfile.step_levels import StepLevel, step_level
from lnlab.specfile.values import matches
from lnlab.tables import ENDED_EARLY, Results


class Selected:
    """What a selection takes of results. Each part is made when it is first asked for, and once.

    Attributes:
        results: of an experiment.
        selection: read.
        over: a column or path that a claim or figure goes over: a column of the rows and, if it is a path, of the runs,
            of which then only those are left that have a value there.
        columns: further paths that are columns of the rows: numbers where all are numbers, else words.
    """

    def __init__(
        self, results: Results, conditions: Conditions, over: str | None = None, columns: Sequence[str] = ()
    ) -> None:
        self.results = results
        self.selection = parse_selection(conditions)
        self.over = over
        self.columns = columns

    @cached_property
    def variants(self) -> pl.DataFrame:
        """The column ``variant`` of those that meet the conditions on the setting.

        Raises:
            NothingSelected: no setting has one of the paths.
        """
        return settings_of(self.results).select(self.selection.setting)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """The runs that the selection is about, measured or not.

        Raises:
            NothingSelected: no setting has one of the paths.
        """
        runs = self.results.runs
        if self.selection.setting:
            runs = runs.join(self.variants, on="variant", how="semi", maintain_order="left")
        for key, condition in self.selection.runs.items():
            runs = narrow_rows(self.results, runs, key, condition)
        if self.over is None:
            return runs
        tables = [name for name in QUANTITY_TABLES if name in self.results.tables]
        if self.over in set(COLUMNS).union(*(self.results.lazy(name).collect_schema() for name in tables)):
            return runs
        return settings_of(self.results).with_columns(runs, [self.over]).drop_nulls(self.over)

    @cached_property
    def endings(self) -> pl.DataFrame:
        """The runs with the ``status`` and ``reason`` that count for the selected quantity.

        A run that a rule ended early is ``stopped``. A quantity taken over a grid of rates counts a diverged run as
        ``finished``: divergence is one of its answers. For a quantity that compares a run with all others, no run has a
        status until all have ended.
        """
        runs = self.runs
        if "done" in runs.columns:
            elsewhere = pl.col("reason").str.starts_with(ENDED_EARLY.partition("{")[0]).fill_null(value=False)
            by_rule = pl.format("stopped at step {} by its rule", "done")
            reason = pl.when(elsewhere).then("reason").otherwise(by_rule)
            early = pl.when(stopped_early(runs))
            runs = runs.with_columns(
                status=early.then(pl.lit(STOPPED)).otherwise("status"), reason=early.then(reason).otherwise("reason")
            )
        if (level := step_level(self.selection.rows.get("step"))) is not None:
            runs = _as_reached(self.results, runs, level)
        if quantity_fact(self.selection.written, "over"):
            runs = runs.with_columns(pl.col("status").replace("diverged", "finished"))
        if quantity_fact(self.selection.written, "across") and any_unfinished(self.results.runs):
            runs = runs.with_columns(status=pl.lit(None, pl.String))
        return runs

    @cached_property
    def leading(self) -> pl.DataFrame:
        """The runs, as in ``endings``, that will have a number. A grid that the quantity is taken over has one."""
        return leading_runs(self.results, self.endings, self.selection.written)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows: ``run variant seed step``, the columns of their table, ``quantity`` and ``value``.

        Raises:
            NothingSelected: a key is neither a column nor a path of any setting, or what its quantity is taken over.
        """
        written = self.selection.written
        columns = [*([] if self.over is None else [self.over]), *self.columns]
        if (path := quantity_fact(written, "over")) and path in (*written, *columns):
            raise NothingSelected(Issue("no-effect", path, f"'{written['quantity']}' is taken over it", "leave it out"))
        rows = quantity_rows(self.results, self.selection, narrowed=True)
        conditions = dict(self.selection.rows)
        if "step" in conditions:
            rows = narrow_rows(self.results, rows, "step", conditions.pop("step"))
        if self.selection.setting:
            rows = rows.join(self.variants, on="variant", how="semi", maintain_order="left")
        for key, condition in conditions.items():
            rows = narrow_rows(self.results, rows, key, condition)
        return settings_of(self.results).with_columns(rows, columns)

    @cached_property
    def missing(self) -> dict[int, str]:
        """Seeds with a run that diverged before the last step at which it was to have a number, and the reason."""
        return missed_seeds(self.results, self.selection.written, self.rows, self.endings)

    @property
    def why_empty(self) -> Issue:
        """Which condition of a selection without rows leaves nothing, and what there was to take."""
        written = self.selection.written
        rows = quantity_rows(self.results, self.selection)
        if (needs := quantity_fact(written, "needs")) and not self.runs.is_empty():
            return Issue(
                "not-measured", "quantity", f"'{written['quantity']}' is not there for these runs", f"it needs {needs}"
            )
        if rows.is_empty():
            name = written.get("quantity")
            tables = [self.results.tables[table] for table in QUANTITY_TABLES if table in self.results.tables]
            stored = {quantity for table in tables for quantity in table["quantity"].unique()}
            if parts := [part for part in quantity_fact(written, "of") or () if part not in stored]:
                missing = ", ".join(f"'{part}'" for part in parts)
                what, remedy = f"'{name}' is derived from {missing}, which was not measured", "measure that, too"
            elif expression := expression_of(str(name)):
                # what aligns rows asks this module for them
                apart: Issue = import_module("lnlab.select.aligned").why_apart(self.results, expression)
                return apart
            elif name in quantities.entries:
                what, remedy = f"there is nothing that '{name}' could be derived from", nearest("", stored)
            else:
                what = f"nothing measured is called {name!r}"
                remedy = nearest(str(name), stored | set(quantities.entries))
            return Issue("not-measured", "quantity", what, remedy)
        conditions = [condition for condition in written.items() if condition[0] != REFERENCE]
        # In the order in which ``rows`` applies them, so that the one that leaves nothing is named.
        at = ""
        for key, condition in sorted(conditions, key=lambda condition: condition[0] != "step"):
            before = rows
            rows = narrow_rows(self.results, rows, key, condition)
            if rows.is_empty():
                values = settings_of(self.results).with_columns(before, [key])[key].unique().to_list()
                present = sorted({f"{v:g}" if isinstance(v, float) else str(v) for v in values if v is not None})
                there_is = f"there is {listed(present, str(condition)) or 'nothing but null'}"
                return Issue("empty-selection", key, f"no row has {condition!r}{at}", there_is)
            if key == "step":
                at = f" at step {condition}"
        raise ValueError("found rows, expected an empty selection")


def select_measured_rows(results: Results, conditions: Conditions, columns: Sequence[str] = ()) -> pl.DataFrame:
    """The rows that a selection takes, where nothing else is asked of it: ``Selected.rows``."""
    return Selected(results, conditions, columns=columns).rows


def runs_with(results: Results, conditions: Conditions, over: str | None = None) -> pl.DataFrame:
    """The runs that a selection is about, where nothing else is asked of it: ``Selected.runs``."""
    return Selected(results, conditions, over).runs


def leading_runs(results: Results, runs: pl.DataFrame, conditions: Conditions) -> pl.DataFrame:
    """The runs that will have a number of their own.

    A quantity that is taken over a path, such as a grid of rates, has a single number for all runs that differ there
    alone. The first of these stands for all.
    """
    if not (path := quantity_fact(conditions, "over")):
        return runs
    grouped = runs.join(settings_of(results).groups(path), on="variant", how="left", maintain_order="left")
    return grouped.unique(["group", "seed"], keep="first", maintain_order=True).drop("group")


def quantity_rows(results: Results, selection: Selection, *, narrowed: bool = False) -> pl.DataFrame:
    """Every row of the quantities that a selection names, stored and derived, before any other condition.

    Derived rows are kept in ``results.derived``. With ``narrowed``, rows of tables in files are left out if the other
    conditions cannot take them: all of them may not fit in memory.

    Raises:
        NothingSelected: a quantity is measured against a reference, and there is none.
    """
    measured = pl.col("quantity").is_in(selection.names) if "quantity" in selection.written else pl.lit(value=True)
    present = [name for name in QUANTITY_TABLES if name in results.tables]
    parts = []
    for name in present:
        in_files = narrowed and name in results.scans
        conditions = _conditions_of_files(results, name, measured, selection) if in_files else [measured]
        parts.append(results.rows(name, *conditions))
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
    if key == "layer":
        return _layers(results, rows, value_list(condition))
    if key == "step" and (level := step_level(condition)) is not None:
        return _at_level(results, rows, level)
    if key == "step" and LAST in value_list(condition):
        return _steps(results, rows, value_list(condition))
    if key in rows.columns:
        # A condition is read once for each distinct value, of which there are few, and not once a row.
        matching = [value for value in rows[key].unique().to_list() if matches(value, condition)]
        return rows.filter(pl.col(key).is_in(pl.Series(matching, dtype=rows.schema[key]).implode(), nulls_equal=True))
    if key == "status":
        runs = narrow_rows(results, results.runs, key, condition)
        return rows.filter(pl.col("run").is_in(runs["run"].implode()))
    return rows.join(settings_of(results).select({key: condition}), on="variant", how="semi", maintain_order="left")


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


def level_crossings(results: Results, level: StepLevel) -> pl.DataFrame:
    """``run at nearest``: the updates after which a run first is at a level, straight between its records.

    A run reaches the level where its curve is first on the other side than at its first record. ``at`` is null for a
    run that never reaches it, and ``nearest`` is the finite value that is nearest to it.

    Raises:
        NothingSelected: the quantity was not measured, or has several numbers of a run at a step.
    """
    if (key := f"step at {level}") in results.derived:
        return results.derived[key]
    place = f"step: at {level}"
    rows = quantity_rows(results, parse_selection({"quantity": level.quantity}))
    rows = rows.filter(pl.col("value").is_finite())
    if rows.is_empty():
        what = f"nothing measured is called '{level.quantity}'"
        raise NothingSelected(Issue("not-measured", place, what, "name a quantity of whole runs"))
    # A number at a site is none of the whole run.
    whole = [column for column in SITE if column in rows.columns]
    rows = rows.filter(pl.all_horizontal(pl.col(whole).is_null())) if whole else rows
    splits = rows["split"].drop_nulls().unique().sort().to_list() if "split" in rows.columns else []
    if level.split is not None:
        rows = rows.filter(pl.col("split") == level.split) if splits else rows.clear()
    elif len(splits) > 1:
        remedy = f"name one: at {splits[-1]} {level}"
        raise NothingSelected(Issue("ambiguous", place, f"it is there on {' and '.join(splits)}", remedy))
    if rows.is_empty() or rows.select("run", "step").is_duplicated().any():
        count = "no number" if rows.is_empty() else "several numbers"
        what = f"'{level.quantity}' has {count} of a whole run at a step"
        raise NothingSelected(Issue("ambiguous", place, what, f"it is there on {', '.join(splits) or 'no split'}"))
    value, step = pl.col("value"), pl.col("step")
    rows = rows.sort("run", "step", maintain_order=True)
    side = (value - level.value).sign()
    reached = (side == 0) | (side != side.first().over("run"))
    before, was = step.shift().over("run"), value.shift().over("run")
    between = before + (level.value - was) / (value - was) * (step - before)
    at = pl.when(side == 0).then(step.cast(pl.Float64)).otherwise(between)
    far = (value - level.value).abs()
    crossings = rows.with_columns(_reached=reached, _at=at).group_by("run", maintain_order=True)
    found = crossings.agg(at=pl.col("_at").filter("_reached").first(), nearest=value.sort_by(far).first())
    results.derived[key] = found
    return found


def _as_reached(results: Results, runs: pl.DataFrame, level: StepLevel) -> pl.DataFrame:
    """Runs that reach a level count as finished, however they ended later. Others count as stopped, with the reason."""
    crossings = level_crossings(results, level)
    runs = runs.join(crossings, on="run", how="left", maintain_order="left")
    ended = pl.col("status").is_in(["finished", STOPPED, "diverged"])
    reached, by_itself = pl.col("at").is_not_null(), pl.col("status") == "diverged"
    never = pl.format("never comes to {}", pl.lit(str(level)))
    never = (
        pl.when(pl.col("nearest").is_null())
        .then(never)
        .otherwise(
            pl.format(
                "{}, the nearest is {}",
                never,
                pl.col("nearest").round_sig_figs(4).cast(pl.String).str.strip_suffix(".0"),
            )
        )
    )
    status = pl.when(ended & reached).then(pl.lit("finished")).when(ended & ~by_itself).then(pl.lit(STOPPED))
    reason = pl.when(ended & ~reached & ~by_itself).then(never)
    return runs.with_columns(status=status.otherwise("status"), reason=reason.otherwise("reason")).drop("at", "nearest")


def _at_level(results: Results, rows: pl.DataFrame, level: StepLevel) -> pl.DataFrame:
    """The rows where each run first reaches a level, by linear interpolation. ``step`` is rounded up.

    A run that is not there, or has no records on both sides of it, has no row.
    """
    crossings = level_crossings(results, level).drop_nulls("at").select("run", _at="at")
    # Columns that tell one curve along ``step`` from another: each is read between its own records.
    line = [
        name
        for name, kind in rows.schema.items()
        if name not in ("step", "value", "measurement") and not kind.is_nested()
    ]
    rows = rows.join(crossings, on="run", maintain_order="left").sort("step", maintain_order=True)
    before, was = pl.col("step").shift().over(line), pl.col("value").shift().over(line)
    rows = rows.with_columns(_before=before, _was=was).filter(pl.col("step") >= pl.col("_at"))
    first = rows.unique(line, keep="first", maintain_order=True)
    exact = pl.col("step") == pl.col("_at")
    share = (pl.col("_at") - pl.col("_before")) / (pl.col("step") - pl.col("_before"))
    value = pl.when(exact).then("value").otherwise(pl.col("_was") + share * (pl.col("value") - pl.col("_was")))
    first = first.filter(exact | pl.col("_before").is_not_null())
    step = pl.col("_at").ceil().cast(rows.schema["step"])
    return first.with_columns(value=value, step=step).drop("_at", "_before", "_was")


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
        # Where there is no layer, the comparisons above are null, and not false.
        mask = mask.fill_null(value=False) | layer.is_null()
    return rows.filter(mask).drop("_last")
