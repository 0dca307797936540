"""What ``lnlab.measure``, ``open_runs``, ``from_frame``, ``results`` and ``run`` return: one object for all numbers.

It has frames with the axes as columns, charts, verdicts on claims, and a page. What judges and draws is imported when
it is asked for: to read stored rows takes neither torch nor pydantic.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from lnlab import __version__
from lnlab.claims.verdicts import Verdicts
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.outside.foreign_runs.runs import STATISTICS, RecordedRun, counted_once, results_of_runs, run_label
from lnlab.outside.foreign_runs.settings import split_and_quantity
from lnlab.printable import printable
from lnlab.specfile.expressions import EXPRESSION
from lnlab.tables import AXIS_PREFIX, Results, table_schema

if TYPE_CHECKING:
    from lnlab.claims.claim import Claim, Verdict
    from lnlab.outside.own_model.charts import Chart
    from lnlab.outside.own_model.question import Entries, Question
    from lnlab.registry import Choice
    from lnlab.report.write import Report


class Origin(Protocol):
    """What asked for measurements: a spec with its store or its table, or a report."""

    def verdicts(self) -> "Sequence[Verdict]":
        """The verdicts on its claims, in order."""

    def write(self, out: Path | None) -> "Report":
        """Its page, in this folder, or in that which is usual for it."""


@dataclass(frozen=True, repr=False)
class Measurements:
    """The measurements of models, wherever they come from.

    Attributes:
        results: runs, axes and rows, which claims read.
        probes: what was measured.
        runs: that they are of, where no spec of lnlab trained them.
        origin: what asked for them. None where claims and pages are asked for here alone.
    """

    results: Results
    probes: "Sequence[Choice]" = ()
    runs: tuple[RecordedRun, ...] = ()
    origin: Origin | None = field(default=None, compare=False)

    @classmethod
    def of_runs(cls, runs: Sequence["RecordedRun | Measurements"], axes: Sequence[str] | None = None) -> "Measurements":
        """The measurements of all runs together.

        Args:
            runs: runs that differ in settings or seed, or measurements that differ in settings, seeds or steps.
            axes: dotted paths of the settings that tell runs apart. None means the settings that differ.

        Raises:
            LabError: there is no run, or two are one and have numbers of the same quantity at the same step.
        """
        single = joined_runs([run for one in runs for run in (one.runs if isinstance(one, Measurements) else (one,))])
        if not single:
            raise LabError(Issue("unsupported", "", "there is no run", "give at least one"))
        single, copies = counted_once(single)
        if copies:
            names = [printable(run_label(run)) for run in copies]
            which = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            verb = "have" if len(copies) > 1 else "has"
            remedy = "let the seed set the weights and the order of the batches"
            what = f"{which}: {verb} the numbers of an earlier seed, counted once; {remedy}"
            warnings.warn(what, stacklevel=3)
        probes = list({canonical(choice): dict(choice) for run in single for choice in run.probes}.values())
        return cls(results_of_runs(single, axes), probes, tuple(single))

    def __repr__(self) -> str:
        counts = (
            f"{number:,} {word}{'' if number == 1 else 's'}"
            for number, word in (
                (self.results.runs["variant"].n_unique(), "variant"),
                (self.results.runs.height, "run"),
            )
        )
        stored = (name for names in self.results.row_counts().values() for name in names)
        kinds = dict.fromkeys([str(choice["kind"]) for choice in self.probes] or stored)
        return f"Measurements({', '.join(counts)}: {', '.join(kinds)})"

    def _repr_html_(self) -> str:
        """The quantities, and the verdicts where claims were judged."""
        judged = [self.verdicts._repr_html_()] if self.__dict__.get("verdicts") else []
        return "\n".join([self.results._repr_html_(), *judged])

    @property
    def axes(self) -> list[str]:
        """The settings that tell runs apart, by dotted path."""
        return self.results.axes["axis"].unique(maintain_order=True).to_list()

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdicts on the claims of its spec, in order. Without a spec there are none: see ``judge``.

        Raises:
            LabError: a claim is wrong.
        """
        return Verdicts(self.origin.verdicts() if self.origin else ())

    @cached_property
    def over_steps(self) -> bool:
        """Whether anything was measured after step 0."""
        tables = (self.results.lazy(name) for name, rows in self.results.tables.items() if "step" in rows.columns)
        return any(bool(rows.select((pl.col("step") > 0).any()).collect().item()) for rows in tables)

    @cached_property
    def paths(self) -> pl.DataFrame:
        """``run stack layer sublayer tensor path``: the name of the parameter or module at every address."""
        rows = [(run.key, *address) for run in self.runs for address in run.paths]
        site_schema = {name: table_schema("sites")[name] for name in ("stack", "layer", "sublayer", "tensor")}
        schema: dict[str, Any] = {"run": pl.String, **site_schema, "path": pl.String}
        return pl.DataFrame([list(column) for column in zip(*rows, strict=True)] if rows else None, schema=schema)

    @cached_property
    def kinds(self) -> Mapping[str, tuple[str, frozenset[str]]]:
        """By the kind of a probe the table of its rows, and the quantities that it has rows of.

        A probe whose quantities are not known has those of no other probe.
        """
        from lnlab.catalogue import REGISTRIES  # late: it imports torch

        kinds: dict[str, tuple[str, frozenset[str]]] = {}
        present = self.results.row_counts()
        known = [frozenset(REGISTRIES["probe"][c["kind"]].facts.quantities or ()) for c in self.probes]
        for choice, quantities in zip(self.probes, known, strict=True):
            table = REGISTRIES["probe"][choice["kind"]].facts.table
            others = frozenset[str]().union(*(other for other in known if other is not quantities))
            measured = frozenset(present.get(table, ()))
            kinds[choice["kind"]] = table, measured & quantities if quantities else measured - others
        return kinds

    def frame(self, name: str | None = None) -> pl.DataFrame:
        """The rows of a quantity, stored or derived, of a probe, or of a table.

        Args:
            name: of a quantity (``gradient_norm``, ``val_loss``, ``2 * loss``), a probe, or a table: ``runs``,
                ``histograms``, ``spectra`` or ``texts``. None means every stored number.

        Returns:
            a row a number, with a column for each setting that tells runs apart (numbers where all its values are),
            ``seed``, ``step`` (updates made), ``split``, ``quantity``, the place (``stack layer sublayer tensor``, and
            ``path``, the parameter's own name), and ``value`` in the unit of the quantity. Columns without any value
            are left out.

        Raises:
            LabError: nothing of that name was measured, nor can be derived.
        """
        from lnlab.report.tidy import tidy_rows  # late: results are read without what names and derives quantities
        from lnlab.select.select import Selected  # late: as above
        from lnlab.select.selection import QUANTITY_TABLES  # late: as above

        results, split, derived = self.results, None, False
        if name is not None and name != "runs" and (name in QUANTITY_TABLES or name not in results.tables):
            quantity, split = self._role(name)
            name = self._named(quantity)
            table, quantities = self._source(name)
            derived = table is None
            if table is not None and name not in quantities:  # a probe
                rows = results.tables[table]
                if "quantity" in rows.columns:
                    rows = rows.filter(pl.col("quantity").is_in(sorted(quantities)))
                results = replace(results, tables={table: rows}, scans={})
                name = None if table in QUANTITY_TABLES else table
        stated = {run.key: run.settings[STATISTICS] for run in self.runs if STATISTICS in run.settings}
        beside = [self.paths] if self.runs else []
        if stated and STATISTICS not in self.axes:
            beside.append(pl.DataFrame({"run": list(stated), STATISTICS: list(stated.values())}))
        frame = tidy_rows(results, name, beside).collect()
        if derived and frame.is_empty():
            raise LabError(Selected(self.results, {"quantity": name}).why_empty)
        return frame if split is None else frame.filter(pl.col("split") == split)

    def plot(self, name: str, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> "Chart":
        """A chart of a quantity, with every seed. It is drawn on this machine and asks no network.

        Args:
            name: of a quantity, stored or derived, or of a probe.
            x: ``step`` or a setting on the horizontal axis. None means ``step`` if the rows have several, else the
                layer or the parameter. A spectrum is drawn over its eigenvalues.
            where: columns of ``frame(name)`` and the value, or the list of values, that they have in the chart.

        Raises:
            LabError: nothing of that name was measured, it has no such rows, or is a histogram, or there is no such
                ``x``.
        """
        from lnlab.outside.own_model.charts import (  # late: it imports altair
            Chart,
            eigenvalue_chart,
            layer_chart,
            line_chart,
        )

        rows = self.frame(name)
        for column, wanted in (where or {}).items():
            if column not in rows.columns:
                known = nearest(column, rows.columns)
                raise LabError(Issue("unknown-name", "plot", f"there is no column '{column}'", known))
            rows = rows.filter(pl.col(column).is_in(wanted if isinstance(wanted, list | tuple) else [wanted]))
        name = self._named(self._role(name)[0])
        table, quantities = self._source(name)
        if table == "spectra" and x is None:
            return Chart(eigenvalue_chart(rows.with_columns(self._setting_label(rows))))
        if "value" not in rows.columns or rows.is_empty():
            raise LabError(
                Issue("unsupported", "plot", f"there is no chart of '{name}'", "draw the rows of frame() with altair")
            )
        if len(quantities) > 1:
            shown = name if name in quantities else self._first_quantity(name) or sorted(quantities)[0]
            rows = rows.filter(pl.col("quantity") == shown)
        over = x or ("step" if "step" in rows.columns and rows["step"].n_unique() > 1 else None)
        if over is not None and over not in ("step", *self.axes):
            raise LabError(
                Issue("unknown-name", "plot", f"there is no x '{over}'", nearest(over, ["step", *self.axes]))
            )
        label = name if table is None else str(rows["quantity"][0])
        if over is None:
            return Chart(layer_chart(rows.with_columns(self._setting_label(rows)), label))
        if over == "step" and not self.over_steps:
            raise LabError(Issue("unsupported", "plot", "all was measured at step 0", "leave x out"))
        return Chart(line_chart(rows.with_columns(self._setting_label(rows, over)), label, over))

    def _setting_label(self, rows: pl.DataFrame, without: str | None = None) -> pl.Expr:
        """The column ``setting``: ``pre``, or ``placement pre, lr 0.003`` where rows differ in several axes."""
        columns = {}
        for axis in self.axes:  # one that is called like a column of the table has a prefix there
            found = next((name for name in (f"{AXIS_PREFIX}{axis}", axis) if name in rows.columns), None)
            if found is not None and axis != without and rows[found].n_unique() > 1:
                columns[axis] = found
        if not columns:
            return pl.lit("all").alias("setting")
        if len(columns) == 1:
            return pl.col(*columns.values()).cast(pl.String).alias("setting")
        parts = [pl.format("{} {}", pl.lit(axis), pl.col(name).cast(pl.String)) for axis, name in columns.items()]
        return pl.concat_str(parts, separator=", ", ignore_nulls=True).alias("setting")

    def judge(self, claims: "Entries | None" = None) -> Verdicts:
        """The verdicts on claims, in order.

        The axes are the settings in which runs differ, and the replicates are the seeds.

        Args:
            claims: written as in a spec: YAML text, a list, or a single one as a dict. None means those of its spec.

        Raises:
            LabError: everything that is wrong with the claims.
        """
        if claims is None:
            return self.verdicts
        return self._judged(self._question(claims, (), {"title": "Measurements"}).claims)

    def judge_spec(self, fields: Mapping[str, Json]) -> Verdicts:
        """The verdicts on the claims of a spec, whose ``fields`` are title, report, claims and what else it says.

        Raises:
            LabError: everything that is wrong with them, with its path in the spec.
        """
        return self._judged(self._question_of_spec(fields).claims)

    def write_spec(self, folder: Path, fields: Mapping[str, Json], facts: Mapping[str, Any], **manner: Any) -> "Report":
        """The page of a spec. ``facts`` are name, spec, path and digest of its report.

        Raises:
            LabError: as ``judge_spec``, or the folder cannot be written.
        """
        return self._written(folder, self._question_of_spec(fields), facts, **manner)

    def _judged(self, claims: "Sequence[Claim]") -> Verdicts:
        from lnlab.claims.judging import judge_all  # late: it imports scipy

        return Verdicts(judge_all(claims, self.results))

    def _written(self, folder: Path, asked: "Question", facts: Mapping[str, Any], **manner: Any) -> "Report":
        from lnlab.report.facts import ReportFacts  # late: what draws is not needed to read rows
        from lnlab.report.write import write_report  # late: as above

        verdicts = self._judged(asked.claims)
        report_facts = ReportFacts(version=__version__, probes=tuple(self.probes), **facts, **asked.fields)
        return write_report(folder, report_facts, self.results, verdicts, claims=asked.claims, **manner)

    def _question_of_spec(self, fields: Mapping[str, Json]) -> "Question":
        stated = {key: value for key, value in fields.items() if key not in ("report", "claims")}
        return self._question(fields["claims"], fields["report"], stated)

    def report(
        self,
        claims: "Entries | None" = None,
        *,
        out: str | Path | None = None,
        sections: "Entries | None" = None,
        title: str | None = None,
        question: str | None = None,
    ) -> "Report":
        """Write a page with verdicts, figures, tables and data. It needs no network.

        Args:
            claims: as for ``judge``. Those in a section inherit its selection. With neither claims nor sections, the
                page is that of its spec, or has what was measured.
            out: the folder of the page. Its name is that of the question. None means ``reports/<spec>``, or
                ``reports/measurements``.
            sections: as the ``report`` of a spec. None means every curve, and each probe place by place.
            title: of the page. None means the names of the models.
            question: what the page asks.

        Returns:
            The files, the page first, and the sections that could not be made.

        Raises:
            LabError: everything that is wrong with claims and sections, or the folder cannot be written.
        """
        into = None if out is None else Path(out)
        if claims is None and sections is None and self.origin is not None:
            return self.origin.write(into)
        from lnlab.report.drawing import Drawing  # late: as above

        names = self.results.axes["label"].unique(maintain_order=True).to_list()
        listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
        stated = {"title": title or f"Measurements of {listed}", **({"question": question} if question else {})}
        asked = self._question(claims or (), sections or (), stated)
        into = into or Path("reports", "measurements")
        content = digest([asked.text, *self.results.runs["run"]])
        facts = {"name": into.resolve().name, "spec": asked.text, "path": "", "digest": content}
        return self._written(into, asked, facts, drawing=Drawing(single_file=True))

    def paper(
        self,
        claims: "Entries | None" = None,
        *,
        out: str | Path,
        sections: "Entries | None" = None,
        title: str | None = None,
        question: str | None = None,
    ) -> list[Path]:
        """Write what a paper includes, the article first: figures as PDF, tables, numbers and references.

        Arguments as of ``report``, whose page is written beside it, in a folder of the same name.

        Raises:
            LabError: as of ``report``, or a section cannot be made.
        """
        from lnlab.report.paper.write import write_paper  # late: as above

        into = Path(out)
        page = into / into.resolve().name
        self.report(claims, out=page, sections=sections, title=title, question=question)
        return write_paper([page], into)

    def _question(self, claims: "Entries", sections: "Entries", stated: Mapping[str, Json]) -> "Question":
        from lnlab.catalogue import REGISTRIES  # late: it imports torch
        from lnlab.outside.own_model.question import read_question  # late: it imports pydantic
        from lnlab.report.registries import FRAME_REGISTRIES  # late: it imports every section

        values: dict[str, list[Json]] = {}
        for axis, value in self.results.axes.select("axis", "value").unique(maintain_order=True).iter_rows():
            values.setdefault(axis, []).append(json.loads(value))
        known = {**REGISTRIES, **FRAME_REGISTRIES}
        return read_question(claims, sections, values, self.probes, known, stated, self._role)

    def _first_quantity(self, probe: str) -> str | None:
        """Return the first quantity that a probe has measured, in the probe's own order."""
        from lnlab.catalogue import REGISTRIES  # late: it imports torch

        measured = self.kinds[probe][1]
        return next((q for q in REGISTRIES["probe"][probe].facts.quantities or () if q in measured), None)

    def _role(self, name: str) -> tuple[str, str | None]:
        """The quantity and the split of a column that is asked for by its own name, ``val_loss``.

        Returns:
            The name itself and None where a quantity is called so, or nothing is.
        """
        from lnlab.report.registries import FRAME_REGISTRIES  # noqa: F401  # late: it makes derived quantities known
        from lnlab.select.quantity import quantity_facts  # late: as above

        split, quantity = split_and_quantity(name)
        stored = self.results.row_counts().values()
        if quantity == name or any(name in words for words in stored) or quantity_facts(name) is not None:
            return name, None
        of_name = (pl.col("quantity") == quantity) & (pl.col("split") == split)
        return (name, None) if self.results.rows("curves", of_name).is_empty() else (quantity, split)

    def _named(self, name: str) -> str:
        """The name of a quantity as typed. Spaces in an expression do not matter.

        Raises:
            LabError: it reads like an expression and is none, or names what was not measured.
        """
        from lnlab.report.registries import FRAME_REGISTRIES  # late: as above
        from lnlab.report.tidy import name_of_expression  # late: as above

        counts = self.results.row_counts().values()
        known = {*(word for words in counts for word in words), *FRAME_REGISTRIES["quantity"].entries}
        if not EXPRESSION.search(name) or name in known:
            return name
        return name_of_expression(name, known)

    def _source(self, name: str) -> tuple[str | None, frozenset[str]]:
        """Find the table of a quantity or a probe, and the quantities that are meant.

        A quantity goes before a probe of its name, a probe before a derived quantity. A derived quantity has no table.

        Raises:
            LabError: nothing of that name was measured.
        """
        by_table = self.results.row_counts()
        for table, quantities in by_table.items():
            if name in quantities:
                return table, frozenset({name})
        from lnlab.report.registries import FRAME_REGISTRIES  # late: as above
        from lnlab.select.quantity import quantity_facts  # late: as above

        if any(choice["kind"] == name for choice in self.probes):
            return self.kinds[name]
        if quantity_facts(name) is not None:  # registered, or an expression
            return None, frozenset({name})
        from lnlab.catalogue import REGISTRIES  # late: it imports torch

        kinds = [str(choice["kind"]) for choice in self.probes]
        stored = [q for quantities in by_table.values() for q in quantities]
        remedy = nearest(name, [*kinds, *stored, *FRAME_REGISTRIES["quantity"].entries])
        if probe := next((entry for entry in REGISTRIES["probe"] if name in (entry.facts.quantities or ())), None):
            remedy = f"measure it: probes=['{probe.name}']"
        raise LabError(Issue("unknown-name", "", f"nothing called '{name}' was measured", remedy))


def joined_runs(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    """Runs, those of one setting and seed made one where they were looked at at different steps.

    Raises:
        LabError: two have numbers at the same step.
    """
    by_key: dict[str, RecordedRun] = {}
    for run in runs:
        other = by_key.get(run.key)
        if other is None:
            by_key[run.key] = run
            continue
        both = _steps(run) & _steps(other)
        if both:
            what = f"{other.name} and {run.name} are one run, {run_label(run)}, and both have step {min(both)}"
            raise LabError(Issue("duplicate", "", what, "give step=, or different seeds or settings"))
        first, last = sorted((other, run), key=lambda one: one.done)  # the later look knows how the run ended
        tables = {
            name: pl.concat([one.tables[name] for one in (first, last) if name in one.tables])
            for name in {**first.tables, **last.tables}
        }
        probes = list({canonical(c): c for one in (first, last) for c in one.probes}.values())
        by_key[run.key] = replace(last, tables=tables, probes=probes)
    return list(by_key.values())


def _steps(run: RecordedRun) -> set[int]:
    return {step for table in run.tables.values() for step in table["step"].unique()}
