"""What ``lnlab.measure`` returns: frames with the axes as columns, charts, and verdicts on claims."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from lnlab import __version__
from lnlab.catalogue import REGISTRIES
from lnlab.claims.claim import Verdict
from lnlab.claims.judging import judge_all
from lnlab.claims.verdicts import Verdicts
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.own_model.charts import AnyChart, eigenvalue_chart, layer_chart, line_chart
from lnlab.own_model.question import Entries, Question, read_question
from lnlab.printable import printable
from lnlab.recorded.runs import SITE_COLUMNS, STATISTICS, RecordedRun, counted_once, results_of_runs, run_label
from lnlab.recorded.settings import split_and_quantity
from lnlab.registry import Choice
from lnlab.report.drawing import Drawing
from lnlab.report.facts import ReportFacts
from lnlab.report.paper.write import write_paper
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.tidy import name_of_expression
from lnlab.report.words.wording import count_noun, join_words
from lnlab.report.write import Report, write_report
from lnlab.select.quantity import quantity_facts
from lnlab.select.select import Selected
from lnlab.specfile.expressions import EXPRESSION
from lnlab.tables import Results, table_schema, wide_axes


@dataclass(frozen=True, repr=False)
class Measurements:
    """The measurements of models, as ``lnlab.tables.Results`` has them.

    Attributes:
        results: runs, axes and rows, which claims read.
        paths: ``run stack layer sublayer tensor path``: the name of the parameter or module at every address.
        kinds: by the kind of a probe the table of its rows and its quantities.
        probes: what was measured.
        runs: that they are of.
    """

    results: Results
    paths: pl.DataFrame
    kinds: Mapping[str, tuple[str, frozenset[str]]]
    probes: Sequence[Choice]
    runs: tuple[RecordedRun, ...] = ()

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
            which = join_words(printable(run_label(run)) for run in copies)
            verb = "have" if len(copies) > 1 else "has"
            remedy = "let the seed set the weights and the order of the batches"
            what = f"{which}: {verb} the numbers of an earlier seed, counted once; {remedy}"
            warnings.warn(what, stacklevel=3)
        results = results_of_runs(single, axes)
        rows = [(run.key, *address) for run in single for address in run.paths]
        site_schema = {name: table_schema("sites")[name] for name in SITE_COLUMNS}
        schema: dict[str, Any] = {"run": pl.String, **site_schema, "path": pl.String}
        paths = pl.DataFrame([list(column) for column in zip(*rows, strict=True)] if rows else None, schema=schema)
        probes = {canonical(choice): dict(choice) for run in single for choice in run.probes}
        choices = list(probes.values())
        # The table of each kind of probe, and the quantities that it has rows of. A probe whose quantities are not
        # known has those of no other probe.
        kinds: dict[str, tuple[str, frozenset[str]]] = {}
        present = {name: set(rows["quantity"]) for name, rows in results.tables.items() if "quantity" in rows.columns}
        known = [frozenset(REGISTRIES["probe"][c["kind"]].facts.quantities or ()) for c in choices]
        for choice, quantities in zip(choices, known, strict=True):
            table = REGISTRIES["probe"][choice["kind"]].facts.table
            others = frozenset[str]().union(*(other for other in known if other is not quantities))
            measured = present.get(table, set())
            kinds[choice["kind"]] = table, frozenset(measured & quantities if quantities else measured - others)
        return cls(results=results, paths=paths, kinds=kinds, probes=choices, runs=tuple(single))

    def __repr__(self) -> str:
        runs = self.results.runs
        counts = f"{count_noun(runs['variant'].n_unique(), 'variant')}, {count_noun(runs.height, 'run')}"
        kinds = ", ".join(dict.fromkeys(str(choice["kind"]) for choice in self.probes))
        return f"Measurements({counts}: {kinds})"

    @property
    def axes(self) -> list[str]:
        """The settings that tell runs apart, by dotted path."""
        return self.results.axes["axis"].unique(maintain_order=True).to_list()

    @property
    def over_steps(self) -> bool:
        """Whether anything was measured after step 0."""
        return any(bool((t["step"] > 0).any()) for t in self.results.tables.values() if "step" in t.columns)

    def frame(self, name: str) -> pl.DataFrame:
        """The rows of a quantity, stored or derived, or of all of a probe.

        Returns:
            the settings that tell runs apart, ``seed``, ``step`` where there are several, ``statistics`` where a model
            has norms over batches, the table's own columns, and ``path``, the parameter's name.

        Raises:
            LabError: nothing of that name was measured, nor can be derived.
        """
        quantity, split = self._role(name)
        if split is not None:
            return self.frame(quantity).filter(pl.col("split") == split)
        name = self._named(name)
        table, quantities = self._source(name)
        stored = self.results.tables.get(table or "")
        if stored is None:
            derived = Selected(self.results, {"quantity": name})
            if derived.rows.is_empty():
                raise LabError(derived.why_empty)
            stored = derived.rows
        rows = stored
        if "quantity" in rows.columns:
            rows = rows.filter(pl.col("quantity").is_in(sorted(quantities)))
        settings = self.results.runs.select("run").join(wide_axes(self.results.axes), on="run", how="left")
        stated = {run.key: run.settings[STATISTICS] for run in self.runs if STATISTICS in run.settings}
        statistics = [STATISTICS] if stated and STATISTICS not in self.axes else []
        if statistics:
            settings = settings.with_columns(pl.col("run").replace_strict(stated, default=None).alias(STATISTICS))
        rows = rows.join(settings, on="run", how="left", maintain_order="left")
        if set(SITE_COLUMNS) <= set(rows.columns):
            keys = ["run", *SITE_COLUMNS]
            rows = rows.join(self.paths, on=keys, how="left", nulls_equal=True, maintain_order="left")
        internal = ("run", "variant", "measurement", "trajectory")
        step = ["step"] if self.over_steps else []
        front = [*self.axes, "seed", *step, *statistics]
        rows = rows.select(*front, pl.exclude(*front, "step", *internal))
        # A derived quantity has no table of its own, and shows the columns in which it has values.
        return rows.select(c for c in rows.columns if table is not None or rows[c].null_count() < rows.height)

    def plot(self, name: str, x: str | None = None) -> AnyChart:
        """A chart of a quantity, with every seed.

        Args:
            name: of a quantity, stored or derived, or of a probe.
            x: ``step`` or a setting on the horizontal axis. None means ``step`` if there are several, else the layer or
                the parameter. A spectrum is drawn over its eigenvalues.

        Raises:
            LabError: nothing of that name was measured, it has no rows, or is a histogram, or there is no such ``x``.
        """
        rows = self.frame(name)
        name = self._named(self._role(name)[0])
        table, quantities = self._source(name)
        if table == "spectra" and x is None:
            return eigenvalue_chart(rows.with_columns(self._setting_label()))
        if "value" not in rows.columns or rows.is_empty():
            raise LabError(
                Issue("unsupported", "plot", f"there is no chart of '{name}'", "draw the rows of frame() with altair")
            )
        if len(quantities) > 1:
            shown = name if name in quantities else self._first_quantity(name) or sorted(quantities)[0]
            rows = rows.filter(pl.col("quantity") == shown)
        over = x or ("step" if self.over_steps else None)
        if over is not None and over not in ("step", *self.axes):
            raise LabError(
                Issue("unknown-name", "plot", f"there is no x '{over}'", nearest(over, ["step", *self.axes]))
            )
        label = name if table is None else str(rows["quantity"][0])
        if over is None:
            return layer_chart(rows.with_columns(self._setting_label()), label)
        if over not in rows.columns:
            raise LabError(Issue("unsupported", "plot", "all was measured at step 0", "leave x out"))
        others = [axis for axis in self.axes if axis != over]
        return line_chart(rows.with_columns(self._setting_label(others)), label, over)

    def _setting_label(self, axes: Sequence[str] | None = None) -> pl.Expr:
        """The column ``setting``: ``pre``, or ``placement pre, lr 0.003`` where there are several axes."""
        names = self.axes if axes is None else list(axes)
        if not names:
            return pl.lit("all").alias("setting")
        if len(names) == 1:
            return pl.col(names[0]).cast(pl.String).alias("setting")
        parts = [pl.format("{} {}", pl.lit(name), pl.col(name).cast(pl.String)) for name in names]
        return pl.concat_str(parts, separator=", ", ignore_nulls=True).alias("setting")

    def _repr_html_(self) -> str:
        return self.results._repr_html_()

    def judge(self, claims: Entries) -> Verdicts:
        """The verdicts on claims, in order, written as in a spec: YAML text, a list, or a single one as a dict.

        The axes are the settings in which runs differ, and the replicates are the seeds.

        Raises:
            LabError: everything that is wrong with the claims.
        """
        return Verdicts(judge_all(self._question(claims, (), {"title": "Measurements"}).claims, self.results))

    def judge_spec(self, fields: Mapping[str, Json]) -> list[Verdict]:
        """The verdicts on the claims of a spec, whose ``fields`` are title, report, claims and what else it says.

        Raises:
            LabError: everything that is wrong with them, with its path in the spec.
        """
        asked = self._question_of_spec(fields)
        return judge_all(asked.claims, self.results)

    def write_spec(
        self, folder: Path, fields: Mapping[str, Json], facts: Mapping[str, Any], **manner: Any
    ) -> tuple[Report, list[Verdict]]:
        """The page of a spec, and the verdicts on it. ``facts`` are name, spec, path and digest of its report.

        Raises:
            LabError: as ``judge_spec``, or the folder cannot be written.
        """
        asked = self._question_of_spec(fields)
        verdicts = judge_all(asked.claims, self.results)
        report_facts = ReportFacts(version=__version__, probes=tuple(self.probes), **facts, **asked.fields)
        return write_report(folder, report_facts, self.results, verdicts, claims=asked.claims, **manner), verdicts

    def _question_of_spec(self, fields: Mapping[str, Json]) -> Question:
        stated = {key: value for key, value in fields.items() if key not in ("report", "claims")}
        return self._question(fields["claims"], fields["report"], stated)

    def report(
        self,
        claims: Entries = (),
        *,
        out: str | Path,
        sections: Entries | None = None,
        title: str | None = None,
        question: str | None = None,
    ) -> Report:
        """Write a page with verdicts, figures, tables and data, as for a spec. It needs no network.

        Args:
            claims: as for ``judge``. Those in a section inherit its selection.
            out: the folder of the page. Its name is that of the question.
            sections: as the ``report`` of a spec. None means every curve, and each probe place by place.
            title: of the page. None means the names of the models.
            question: what the page asks.

        Returns:
            The files, the page first, and the sections that could not be made.

        Raises:
            LabError: everything that is wrong with claims and sections, or the folder cannot be written.
        """
        names = list(self.results.axes["label"].unique(maintain_order=True))
        stated = {
            "title": title or f"Measurements of {join_words(names)}",
            **({"question": question} if question else {}),
        }
        asked = self._question(claims, () if sections is None else sections, stated)
        verdicts = judge_all(asked.claims, self.results)
        into = Path(out)
        content = digest([asked.text, *self.results.runs["run"]])
        facts = ReportFacts(
            name=into.resolve().name,
            spec=asked.text,
            path="",
            digest=content,
            version=__version__,
            probes=tuple(self.probes),
            **asked.fields,
        )
        return write_report(into, facts, self.results, verdicts, claims=asked.claims, drawing=Drawing(single_file=True))

    def paper(
        self,
        claims: Entries = (),
        *,
        out: str | Path,
        sections: Entries | None = None,
        title: str | None = None,
        question: str | None = None,
        serif: bool = False,
        primary: bool = False,
    ) -> list[Path]:
        """Write what a paper includes, the article first: figures as PDF, tables, numbers and references.

        Arguments as of ``report``, whose page is written beside it, in a folder of the same name. ``serif`` sets
        figures in a typeface with serifs, ``primary`` leaves primary claims alone in the tables of verdicts.

        Raises:
            LabError: as of ``report``, or a section cannot be made.
        """
        into = Path(out)
        page = into / into.resolve().name
        self.report(claims, out=page, sections=sections, title=title, question=question)
        return write_paper([page], into, serif=serif, primary=primary)

    def _question(self, claims: Entries, sections: Entries, stated: Mapping[str, Json]) -> Question:
        values: dict[str, list[Json]] = {}
        for axis, value in self.results.axes.select("axis", "value").unique(maintain_order=True).iter_rows():
            values.setdefault(axis, []).append(json.loads(value))
        known = {**REGISTRIES, **FRAME_REGISTRIES}
        return read_question(claims, sections, values, self.probes, known, stated, self._role)

    def _first_quantity(self, probe: str) -> str | None:
        """Return the first quantity that a probe has measured, in the probe's own order."""
        measured = self.kinds[probe][1]
        return next((q for q in REGISTRIES["probe"][probe].facts.quantities or () if q in measured), None)

    def _role(self, name: str) -> tuple[str, str | None]:
        """The quantity and the split of a column that is asked for by its own name, ``val_loss``.

        Returns:
            The name itself and None where a quantity is called so, or nothing is.
        """
        split, quantity = split_and_quantity(name)
        stored = self.results.row_counts().values()
        if quantity == name or any(name in words for words in stored) or quantity_facts(name) is not None:
            return name, None
        of_name = (pl.col("quantity") == quantity) & (pl.col("split") == split)
        return (name, None) if self.results.tables["curves"].filter(of_name).is_empty() else (quantity, split)

    def _named(self, name: str) -> str:
        """The name of a quantity as typed. Spaces in an expression do not matter.

        Raises:
            LabError: it reads like an expression and is none, or names what was not measured.
        """
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
        by_table = {t: set(rows["quantity"]) for t, rows in self.results.tables.items() if "quantity" in rows.columns}
        for table, quantities in by_table.items():
            if name in quantities:
                return table, frozenset({name})
        if name in self.kinds:
            return self.kinds[name]
        derived = FRAME_REGISTRIES["quantity"]
        if quantity_facts(name) is not None:  # registered, or an expression
            return None, frozenset({name})
        known = [*self.kinds, *(q for quantities in by_table.values() for q in quantities), *derived.entries]
        remedy = nearest(name, known)
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
