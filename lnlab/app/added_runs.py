"""Runs that a report lacks: computed alone, and taken from a store, further seeds of a committed figure."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.app.request import Request, compile_request
from lnlab.compile.decisions import decision_from_json
from lnlab.compile.plan import Plan, Run
from lnlab.errors import Problem, ReportError
from lnlab.keys import Json, canonical, digest
from lnlab.registry import Flawed
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import stable_runs
from lnlab.specfile.experiment import kind_and_parameters
from lnlab.store.join import join_results
from lnlab.store.plans import plan_frames
from lnlab.store.records.records import StoreReader
from lnlab.store.store import Store
from lnlab.tables import ENDED_STATUSES, Results

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.specfile.load import SpecDocument

_Setting = Mapping[str, Json]
_Row = dict[str, Any]
_Place = tuple[str, int]
_ANEW = "compute all runs again: lnlab run, then lnlab report"


@dataclass(frozen=True)
class RunSource:
    """Where runs are that a report lacks.

    Attributes:
        store: that holds them.
        plugins: files that register pieces.
    """

    store: Store
    plugins: tuple[Path, ...] = ()

    def plan(self, document: "SpecDocument", folder: Path, facts: ReportFacts, known: "Registries") -> Plan:
        """The plan of a spec with the profile, the overrides and the choices on tuning seeds of a report.

        Args:
            document: the spec.
            folder: of the report.
            facts: of the report.
            known: the registries of both wings.

        Raises:
            SpecError: every problem of the spec.
            CorpusError: a corpus is absent that says how long an epoch is.
            ReportError: its tuning runs are others today, so that the choices of the report are none of them.
        """
        text = None if document.path.is_file() else document.text
        request = Request(
            spec=document.path, profile=facts.profile, overrides=facts.overrides, plugins=self.plugins, text=text
        )
        plan, _ = compile_request(request, known, [decision_from_json(entry) for entry in facts.decisions])
        if plan.undecided:
            raise _of_another_kind(folder, "the tuning runs behind its choices")
        return plan


@dataclass(frozen=True)
class ExtendedResults:
    """The results of a report and of the runs that were taken from a store.

    Attributes:
        results: of both; the rows of added runs in full.
        added: keys of these runs.
        digest: of the plan that asks for all of them.
        measured_otherwise: quantities of the report whose measurements would have other keys today.
    """

    results: Results
    added: frozenset[str]
    digest: str
    measured_otherwise: frozenset[str] = frozenset()

    def refuse_other_measurements(self, tables: Mapping[str, pl.DataFrame], where: Path) -> None:
        """See to it that no quantity has rows of added runs beside rows that were measured in another way.

        Args:
            tables: the rows that the report keeps.
            where: its folder, for messages.

        Raises:
            ReportError: one has.
        """
        rows = [table.filter(_is_one_of(self.added)) for table in tables.values() if "measurement" in table.columns]
        quantities = {name for table in rows if "quantity" in table.columns for name in table["quantity"].unique()}
        if others := sorted(quantities & self.measured_otherwise):
            raise _of_another_kind(where, f"measurements of {', '.join(others)}")


@dataclass(frozen=True)
class CommittedRuns:
    """The runs of a report beside the plan of its spec as it is today.

    Attributes:
        folder: of the report.
        facts: of the report.
        results: its tables.
        plan: of its spec, with the choices of the report.
        name: of a resolved setting; equal settings have equal names.
    """

    folder: Path
    facts: ReportFacts
    results: Results
    plan: Plan
    name: Callable[[_Setting], str]

    def extended(self, store: Store, known: "Registries") -> ExtendedResults:
        """The results with those runs that the plan asks for, that the report lacks, and that ended in a store.

        Raises:
            ReportError: today runs of the report would be computed or measured in another way.
            StoreError: this user may not read the store.
        """
        names, planned = self._planned()
        ended, others = self._ended(planned, known)
        lacking = [run.key for place, run in planned.items() if place not in ended]
        computed = _ended_runs(self.plan, lacking, store)
        if computed is None:
            return ExtendedResults(self.results, frozenset(), self.plan.digest)
        added = frozenset(computed.runs["run"])
        # a run that was only asked for has no key of its own, and its variant may have none: it is asked for again
        rows = [(planned[place].key, row) for place, row in self._rows_by_place() if place in planned]
        replaced = [row["run"] for key, row in rows if key in added or row["status"] is None]
        variants = {name: (row["variant"], row["setting"]) for (name, _), row in ended.items()}
        same_setting = {variant: variants[name] for variant, name in names.items() if name in variants}
        joined = self._joined(_with_variants(computed, same_setting), replaced)
        return ExtendedResults(joined, added, self.plan.digest, others)

    def lacking(self, known: "Registries") -> Plan:
        """The plan of those runs alone that the report lacks; runs that could not stand in it are refused."""
        _, planned = self._planned()
        ended, _ = self._ended(planned, known)
        lacking = {run.key for place, run in planned.items() if place not in ended}
        plan = self.plan.restricted_to(lacking)
        part = ["beyond", *sorted(lacking)]
        return replace(plan, digest=digest([plan.digest, *part]), quick=digest([plan.quick, *part]))

    def _planned(self) -> tuple[dict[str, str], dict[_Place, Run]]:
        """The name of the setting of each variant, and each run of the plan by its setting and seed."""
        names = {variant: self.name(setting) for variant, setting in self.plan.settings.items()}
        return names, {(names[run.variant], run.seed): run for run in self.plan.runs}

    def _ended(self, planned: Mapping[_Place, Run], known: "Registries") -> tuple[dict[_Place, _Row], frozenset[str]]:
        """The rows of planned runs that the report has to their end, and the quantities measured otherwise today."""
        rows = self._rows_by_place()
        ended = {place: row for place, row in rows if place in planned and row["status"] in ENDED_STATUSES}
        others = self._measured_otherwise({row["run"]: planned[place].key for place, row in ended.items()})
        self._refuse_other_probes(known)
        return ended, others

    def _rows_by_place(self) -> Iterator[tuple[_Place, _Row]]:
        """The name of the setting and the seed of each run, with its row."""
        names: dict[str, str] = {}
        for row in self.results.runs.iter_rows(named=True):
            if row["variant"] not in names:
                names[row["variant"]] = self.name(json.loads(row["setting"]))
            yield (names[row["variant"]], row["seed"]), row

    def _joined(self, computed: Results, replaced: Sequence[str]) -> Results:
        """The results of the report, but for some runs, and those of computed runs."""
        stays = ~_is_one_of(replaced)
        tables = {name: table.filter(stays) for name, table in self.results.tables.items()}
        for name in tables.keys() & computed.tables.keys():
            tables[name] = pl.concat([tables[name], computed.tables[name]], how="diagonal")
        runs = pl.concat([self.results.runs.filter(stays), stable_runs(computed.runs)], how="diagonal")
        return Results(runs, self.results.axes, tables, self.results.evidence)

    def _measured_otherwise(self, keys_of_today: Mapping[str, str]) -> frozenset[str]:
        """The quantities whose measurements have other keys today than in the report.

        Raises:
            ReportError: runs have.
        """
        others = sum(key != today for key, today in keys_of_today.items())
        if others:
            raise _of_another_kind(self.folder, f"{others} of its {self.results.runs.height} runs")
        tables = [table for table in self.results.tables.values() if {"measurement", "quantity"} <= {*table.columns}]
        known = pl.Series(list({key for *_, key in self.plan.needs}), dtype=pl.String)
        unknown = _is_one_of(keys_of_today) & ~pl.col("measurement").is_in(known.implode())
        return frozenset(name for table in tables for name in table.filter(unknown)["quantity"].unique())

    def _refuse_other_probes(self, known: "Registries") -> None:
        """See to it that all runs are measured in one way, as rows of a curve do not say which probe made them."""
        probes = self.plan.experiment.probes
        today = {_probe_text(kind_and_parameters(probe), probe.at, known) for probe in probes}
        if today != {_probe_text(_without_time(probe), probe["at"], known) for probe in self.facts.probes}:
            what = f"was measured by other probes than {self.plan.name}.yaml has today"
            raise ReportError(Problem(str(self.folder), what, f"write its probes again, or {_ANEW}"))


def _of_another_kind(where: Path, which: str) -> ReportError:
    what = f"{which} would have other keys today: versions of pieces or a corpus changed"
    return ReportError(Problem(str(where), what, _ANEW))


def _without_time(probe: _Setting) -> dict[str, Json]:
    return {name: value for name, value in probe.items() if name != "at"}


def _probe_text(choice: Json, at: Json, known: "Registries") -> str:
    """A probe with the defaults of today; one that today's registry refuses as it stands."""
    with suppress(Flawed):
        choice = known["probe"].resolve(choice)
    return canonical([choice, at])


def _is_one_of(keys: Iterable[str]) -> pl.Expr:
    return pl.col("run").is_in(pl.Series(list(keys), dtype=pl.String).implode())


def _ended_runs(plan: Plan, lacking: Sequence[str], store: Store) -> Results | None:
    """Those of some runs of a plan that came to an end of their own in a store, with their rows; None: none.

    What several runs need is measured on the first of them that was computed, so other runs of the store are read too.
    """
    frames = plan_frames(plan)
    known = sorted(StoreReader(store.root).known())
    runs = frames["runs"].filter(pl.col("trajectory").is_in(pl.Series(known, dtype=pl.String).implode()))
    if runs.filter(_is_one_of(lacking)).is_empty():
        return None
    needs = frames["needs"].join(runs.select("run"), on="run", how="semi", maintain_order="left")
    results = join_results(store.root, {**frames, "runs": runs, "needs": needs})
    ended = results.runs.filter(_is_one_of(lacking), pl.col("status").is_in(ENDED_STATUSES))
    tables = {name: table.filter(_is_one_of(ended["run"])) for name, table in results.tables.items()}
    return None if ended.is_empty() else Results(ended, results.axes, tables)


def _with_variants(results: Results, variants: Mapping[str, tuple[str, str]]) -> Results:
    """The results with ids and settings that a report has of these variants: a default that came since changes both."""
    ids, texts = ({variant: pair[part] for variant, pair in variants.items()} for part in (0, 1))
    setting = pl.coalesce(pl.col("variant").replace_strict(texts, default=None, return_dtype=pl.String), "setting")
    runs = results.runs.with_columns(setting.alias("setting"), pl.col("variant").replace(ids))
    tables = {name: table.with_columns(pl.col("variant").replace(ids)) for name, table in results.tables.items()}
    return Results(runs, results.axes, tables)
