"""What a selection takes of measured results, read once: its rows, its runs, what they miss, and why it is empty.

``layer`` may be ``first`` or ``last``, counted in the stack of that row, and ``step`` may be ``last``, where a run that
comes to its end is measured last. A quantity that is measured at sites and along the curve needs ``split``, which is
null at sites. A quantity along a line has its place on the line as ``x``.

A stop rule may end a sound run before its last update. Such a run is ``stopped``. Its curves are cut where the rule
decided, so that no number taken after step 0 is comparable with those of whole runs.
"""

from collections.abc import Sequence
from functools import cached_property

import polars as pl

from lnlab.errors import listed, nearest, sites_left_out
from lnlab.issues import Issue
from lnlab.keys import canonical
from lnlab.select.aligned import expression_rows, why_apart
from lnlab.select.missed_measurements import missed_seeds
from lnlab.select.quantity import SITE, quantities, quantity_fact, quantity_facts
from lnlab.select.rows import narrow_rows, plain_rows, reference_of, rows_meeting
from lnlab.select.run_status import STOPPED, any_unfinished, stopped_early
from lnlab.select.selection import QUANTITY_TABLES, Conditions, Selection, parse_selection, value_list
from lnlab.select.settings import NothingSelected, settings_of
from lnlab.specfile.columns import COLUMNS, LAST
from lnlab.specfile.expressions import expression_of
from lnlab.specfile.references import REFERENCE
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

    @property
    def _of_variants(self) -> pl.Expr:
        return pl.col("variant").is_in(self.variants["variant"].implode())

    @cached_property
    def runs(self) -> pl.DataFrame:
        """The runs that the selection is about, measured or not.

        Raises:
            NothingSelected: no setting has one of the paths.
        """
        runs = self.results.runs
        if self.selection.setting:
            runs = runs.filter(self._of_variants)
        runs = rows_meeting(self.results, runs, self.selection.runs)
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
        if quantity_fact(self.selection.written, "over"):
            runs = runs.with_columns(pl.col("status").replace("diverged", "finished"))
        if quantity_fact(self.selection.written, "across") and any_unfinished(self.results.runs):
            runs = runs.with_columns(status=pl.lit(None, pl.String))
        return runs

    @cached_property
    def leading(self) -> pl.DataFrame:
        """The runs, as in ``endings``, that will have a number of their own.

        A quantity that is taken over a path, such as a grid of rates, has a single number for all runs that differ
        there alone. The first of these stands for all.
        """
        if not (path := quantity_fact(self.selection.written, "over")):
            return self.endings
        groups = settings_of(self.results).groups(path)
        grouped = self.endings.join(groups, on="variant", how="left", maintain_order="left")
        return grouped.unique(["group", "seed"], keep="first", maintain_order=True).drop("group")

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
        conditions = {key: condition for key, condition in self.selection.rows.items() if key != "step"}
        rows = rows_meeting(self.results, self._of_steps(), conditions)
        return settings_of(self.results).with_columns(rows, columns)

    def _of_steps(self) -> pl.DataFrame:
        """The rows of its quantities, steps and setting.

        Those of all settings are found once: a claim asks for the same at every other setting, of which there are as
        many as runs, so that the work would grow with their square.
        """
        selection, steps = self.selection, self.selection.rows.get("step")

        def at_steps(results: Results) -> pl.DataFrame:
            rows = quantity_rows(results, selection, narrowed=True)
            return narrow_rows(results, rows, "step", steps) if "step" in selection.rows else rows

        # From files, what other conditions leave out is not read, unless other rows decide which step is the last.
        own = self.results.scans and LAST not in value_list(steps)
        if own or "quantity" not in selection.written or reference_of(selection.written) is not None:
            rows = at_steps(self.results)
            return rows.filter(self._of_variants) if selection.setting else rows
        asked = canonical([selection.names, selection.rows.get("split"), steps, "step" in selection.rows])

        def by_variant(results: Results) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
            rows = at_steps(results)
            places = rows.select("variant").with_row_index().group_by("variant").agg("index")
            return rows, dict(zip(*places.get_columns(), strict=True))

        rows, places = self.results.once(f"rows of {asked} by variant", by_variant)
        if not selection.setting:
            return rows
        taken = [places[variant] for variant in self.variants["variant"] if variant in places]
        return rows[pl.concat(taken).sort()] if taken else rows.clear()

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
                return why_apart(self.results, expression)
            elif quantity_facts(name) is not None:
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
                there_is += sites_left_out(present) if key in SITE else ""
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


def quantity_rows(results: Results, selection: Selection, *, narrowed: bool = False) -> pl.DataFrame:
    """Every row of the quantities that a selection names: stored, registered and expressions, as of ``plain_rows``.

    Raises:
        NothingSelected: a quantity is measured against a reference, and there is none, or an operand of an expression
            has two numbers at one place.
    """
    parts = [plain_rows(results, selection, narrowed=narrowed)]
    for name in selection.names:
        if (expression := expression_of(name)) is not None:
            against = quantity_fact({"quantity": name}, "reference")
            reference = reference_of(selection.written) if against else None
            parts.append(expression_rows(expression, results, reference))
    return pl.concat(parts, how="diagonal_relaxed")
