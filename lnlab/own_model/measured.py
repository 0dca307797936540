"""What ``lnlab.measure`` returns: frames with the axes as columns, charts, and verdicts on claims."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from lnlab import __version__
from lnlab.catalogue import REGISTRIES
from lnlab.claims.claim import Verdict, judge_all
from lnlab.errors import LabError, Problem, nearest
from lnlab.keys import canonical, digest
from lnlab.nn.site import Site
from lnlab.own_model.charts import AnyChart, eigenvalue_chart, layer_chart
from lnlab.own_model.page import default_sections
from lnlab.own_model.question import Entries, Question, read_question
from lnlab.registry import Choice
from lnlab.report.facts import ReportFacts
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.words.wording import join_words
from lnlab.report.write import Report, write_report
from lnlab.tables import WRITTEN_BY_WORKERS, Results, Row, frame, table_schema

_KEYS = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}
_SITE_COLUMNS = ("stack", "layer", "sublayer", "tensor")
_INTERNAL = ("run", "variant", "step", "measurement")


@dataclass(frozen=True)
class MeasuredRun:
    """What probes say of one model at one seed.

    Attributes:
        model: its name.
        seed: the replicate.
        parameters: how many elements are trained.
        seconds: wall-clock time.
        paths: by site the name of the parameter or the module there.
        rows: of each probe: its choice, its table and its rows.
    """

    model: str
    seed: int
    parameters: int
    seconds: float
    paths: Mapping[Site, str]
    rows: Sequence[tuple[Choice, str, Sequence[Row]]]

    @property
    def key(self) -> str:
        """The key of the run among its kind."""
        return digest([self.model, self.seed])


@dataclass(frozen=True)
class Measurements:
    """The measurements of models, as ``lnlab.tables.Results`` has them.

    Attributes:
        results: runs, axes and rows, which claims read.
        paths: ``run stack layer sublayer tensor path``: the name of the parameter or module at every address.
        kinds: by the kind of a probe the table of its rows and its quantities.
        probes: what was measured.
    """

    results: Results
    paths: pl.DataFrame
    kinds: Mapping[str, tuple[str, frozenset[str]]]
    probes: Sequence[Choice]

    @classmethod
    def of_runs(cls, runs: Sequence[MeasuredRun]) -> "Measurements":
        """The measurements of all runs together."""
        columns = ("run", *_SITE_COLUMNS, "path")
        addresses = [{"run": r.key, **site.row(), "path": path} for r in runs for site, path in r.paths.items()]
        site_schema = {name: table_schema("sites")[name] for name in _SITE_COLUMNS}
        schema: dict[str, Any] = {"run": pl.String, **site_schema, "path": pl.String}
        paths = pl.DataFrame({name: [a[name] for a in addresses] for name in columns}, schema=schema)
        probes = [choice for choice, _, _ in runs[0].rows]
        return cls(_results(runs), paths, _kinds(runs), probes)

    def frame(self, name: str) -> pl.DataFrame:
        """The rows of a quantity, or of all of a probe: ``model seed``, its own columns, and the parameter's ``path``.

        Raises:
            LabError: nothing of that name was measured.
        """
        table, quantities = self._source(name)
        rows = self.results.tables[table]
        if "quantity" in rows.columns:
            rows = rows.filter(pl.col("quantity").is_in(sorted(quantities)))
        models = self.results.runs.select("run", model=pl.col("setting").map_elements(_model_name, pl.String))
        rows = rows.join(models, on="run", how="left", maintain_order="left")
        if set(_SITE_COLUMNS) <= set(rows.columns):
            keys = ["run", *_SITE_COLUMNS]
            rows = rows.join(self.paths, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return rows.select("model", "seed", pl.exclude("model", "seed", *_INTERNAL))

    def plot(self, name: str) -> AnyChart:
        """A chart of a quantity by layer or by parameter, or of a spectrum; every seed is drawn.

        Raises:
            LabError: nothing of that name was measured, or it is a histogram or has no rows.
        """
        table, quantities = self._source(name)
        rows = self.frame(name)
        if table == "spectra":
            return eigenvalue_chart(rows)
        if table != "sites" or rows.is_empty():
            raise LabError(Problem("plot", f"there is no chart of '{name}'", "draw the rows of frame() with altair"))
        if len(quantities) > 1:
            rows = rows.filter(pl.col("quantity") == (name if name in quantities else sorted(quantities)[0]))
        return layer_chart(rows, str(rows["quantity"][0]))

    def judge(self, claims: Entries) -> list[Verdict]:
        """The verdicts on claims, in order, written as in a spec: YAML text, a list, or a single one as a dict.

        ``model`` is the only axis, and the replicates are the seeds.

        Raises:
            LabError: everything that is wrong with the claims.
        """
        question = self._question(claims, (), "Measurements", None)
        return judge_all(question.claims, self.results)

    def report(
        self,
        folder: str | Path,
        claims: Entries = (),
        *,
        sections: Entries | None = None,
        title: str | None = None,
        question: str | None = None,
    ) -> Report:
        """Write a page with verdicts, figures, tables and data, as for a spec; it needs no network.

        Args:
            folder: of the page; its name is that of the question.
            claims: as for ``judge``; those in a section inherit its selection.
            sections: as the ``report`` of a spec; None: one for each probe and place.
            title: of the page; None: the names of the models.
            question: what it asks.

        Returns:
            The files, the page first, and the sections that could not be made.

        Raises:
            LabError: everything that is wrong with claims and sections; or the folder cannot be written.
        """
        if sections is None:
            probes = {c["kind"]: (self.kinds[c["kind"]][0], self._first_quantity(c["kind"])) for c in self.probes}
            sections = default_sections(self.results, probes)
        names = list(self.results.axes["label"].unique(maintain_order=True))
        asked = self._question(claims, sections, title or f"Measurements of {join_words(names)}", question)
        verdicts = judge_all(asked.claims, self.results)
        into = Path(folder)
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
        return write_report(into, facts, self.results, verdicts, claims=asked.claims, single_file=True)

    def _question(self, claims: Entries, sections: Entries, title: str, question: str | None) -> Question:
        names = list(self.results.axes["label"].unique(maintain_order=True))
        known = {**REGISTRIES, **FRAME_REGISTRIES}
        return read_question(claims, sections, names, self.probes, known, title=title, question=question)

    def _first_quantity(self, probe: str) -> str | None:
        """Of those that a probe has measured, the first in its own order."""
        measured = self.kinds[probe][1]
        return next((q for q in REGISTRIES["probe"][probe].facts.quantities or () if q in measured), None)

    def _source(self, name: str) -> tuple[str, frozenset[str]]:
        """The table of a quantity or of a probe, and the quantities that are meant; a quantity goes first."""
        for table, quantities in self.kinds.values():
            if name in quantities:
                return table, frozenset({name})
        if name not in self.kinds:
            known = [*self.kinds, *(q for _, quantities in self.kinds.values() for q in quantities)]
            raise LabError(Problem("", f"nothing called '{name}' was measured", nearest(name, known)))
        return self.kinds[name]


def _model_name(setting: str) -> str:
    return str(json.loads(setting)["model"]["kind"])


def _kinds(runs: Sequence[MeasuredRun]) -> dict[str, tuple[str, frozenset[str]]]:
    """By the kind of a probe its table and the quantities that it has rows of."""
    kinds: dict[str, tuple[str, frozenset[str]]] = {}
    for choice, table, rows in (entry for run in runs for entry in run.rows):
        quantities = frozenset(row["quantity"] for row in rows if "quantity" in row)
        kinds[choice["kind"]] = table, quantities | kinds.get(choice["kind"], (table, frozenset()))[1]
    return kinds


def _results(runs: Sequence[MeasuredRun]) -> Results:
    """The tables that claims read."""
    run_rows = []
    axis_rows = []
    rows_by_table: dict[str, list[Row]] = {table: [] for table in WRITTEN_BY_WORKERS if table != "outcomes"}
    for run in runs:
        keys = {"run": run.key, "variant": digest(run.model), "seed": run.seed, "step": 0}
        setting = canonical({"model": {"kind": run.model}, **_depths(run)})
        outcome = {"status": "finished", "reason": None, "done": 0, "seconds": run.seconds}
        outcome |= {"parameters": run.parameters, "last_finite_loss": None, "device": None, "versions": None}
        run_rows.append({**keys, "trajectory": run.key, "steps": 0, "setting": setting, **outcome})
        axis_rows.append({"run": run.key, "axis": "model", "value": json.dumps(run.model), "label": run.model})
        for choice, table, rows in run.rows:
            measurement = digest([run.key, choice])
            rows_by_table[table] += [{**keys, "measurement": measurement, **row} for row in rows]
    outcomes = {name: table_schema("outcomes")[name] for name in ("status", "reason", "seconds", "parameters")}
    outcomes |= {name: table_schema("outcomes")[name] for name in ("last_finite_loss", "device", "versions")}
    schema: dict[str, Any] = {**table_schema("runs"), **outcomes, "done": pl.Int64}
    tables = {table: _with_keys(table, rows) for table, rows in rows_by_table.items()}
    frame_of_runs = pl.DataFrame({name: [row[name] for row in run_rows] for name in schema}, schema=schema)
    return Results(frame_of_runs, frame("axes", axis_rows), tables)


def _depths(run: MeasuredRun) -> dict[str, dict[str, int]]:
    """How many layers each stack has, so that ``layer: last`` selects one."""
    layers: dict[str, int] = {}
    for site in run.paths:
        if site.stack is not None and site.layer is not None:
            layers[site.stack] = max(site.layer, layers.get(site.stack, 0))
    return {stack: {"layers": layers[stack]} for stack in sorted(layers)}


def _with_keys(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """Rows of a table with ``run variant seed step`` in front."""
    schema: dict[str, Any] = {**_KEYS, **table_schema(table)}
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in schema}, schema=schema)
