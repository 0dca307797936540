"""Where a number or a run is looked up: committed reports and the plans of a store, read alike."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.app.judging import plan_verdicts
from lnlab.app.missing_work import run_names
from lnlab.claims.claim import Claim, Verdict
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.report.contents import is_report, reports_below
from lnlab.report.facts import ReportFacts, facts_from_json
from lnlab.report.folder import read_folder
from lnlab.store.plans import StoredPlan, load_plan, plan_tables, plans_newest_first
from lnlab.store.records.checksummed import CorruptFile
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.store.store import Store

_LINK = re.compile(r"(?P<source>.*?)(?:/index\.html)?#claim-(?P<number>\d+)")
_KEY = re.compile(r"[0-9a-f]{6,64}")
_FORMS = "write spec:claim, a link to a claim of a page, or at least six digits of the key of a run"


@dataclass(frozen=True)
class ClaimAddress:
    """A claim: the experiment as the user named it, and the claim by its id or its number on the page."""

    source: str
    claim: str


@dataclass(frozen=True)
class TracedExperiment:
    """An experiment with its results.

    Attributes:
        facts: the metadata of its page.
        results: its rows.
        verdicts: in the order of the spec.
        plan: of the store, or of the report, which is one.
        folder: of the report, or None for a plan of a store.
    """

    facts: ReportFacts
    results: Results
    verdicts: Sequence[Verdict]
    plan: StoredPlan
    folder: Path | None = None

    @property
    def name(self) -> str:
        """The experiment in words: ``xiong_fig3, profile real``."""
        return f"{self.facts.name}{f', profile {self.facts.profile}' if self.facts.profile else ''}"

    @property
    def claims(self) -> Mapping[str, Claim]:
        """The claims, resolved, by id."""
        return {claim["id"]: claim for claim in self.plan.facts["claims"]}


@dataclass(frozen=True)
class RunOfKey:
    """A run that a key means: its whole key, what it is in words, and what reads its experiment."""

    run: str
    name: str
    source: Callable[[], TracedExperiment]


def parse_address(text: str) -> ClaimAddress | str:
    """A claim, or the beginning of a key.

    Raises:
        LabError: it is neither.
    """
    if match := _LINK.fullmatch(text):
        return ClaimAddress(match["source"].removesuffix("/"), match["number"])
    if _KEY.fullmatch(text):
        return text
    source, separator, claim = text.rpartition(":")
    if not separator or not source or not claim:
        raise LabError(Issue("unknown-name", text, "is no address", _FORMS))
    return ClaimAddress(source, claim)


def source_of_claim(address: ClaimAddress, profile: str | None, reports: Path, store: "Store") -> TracedExperiment:
    """The experiment that an address names: a folder of a report, else its report below ``reports``, else the store's.

    Raises:
        LabError: there is no such experiment.
    """
    if is_report(Path(address.source)):
        return report_source(Path(address.source))
    name = Path(address.source).stem
    # The committed profile first. The report of the default profile lies in the folder of its spec itself.
    profiles = [profile] if profile else ["real", ""]
    for folder in (reports / name / chosen for chosen in profiles):
        if is_report(folder):
            return report_source(folder)
    plans = [plan for plan in plans_newest_first(store.root) if not plan.undecided]
    for plan in plans:
        if plan.name == name and (profile is None or plan.profile == profile):
            return store_source(store, plan)
    known = {*(path.relative_to(reports).parts[0] for path in reports_below(reports)), *(plan.name for plan in plans)}
    what = f"no report below {reports.as_posix()} and no run in {store.root} is of {name}"
    raise LabError(
        Issue(
            "unknown-name",
            address.source,
            f"{what}{f', profile {profile}' if profile else ''}",
            nearest(name, sorted(known)),
        )
    )


def report_source(folder: Path, plan: StoredPlan | None = None) -> TracedExperiment:
    """A report as a source, with its plan if that has been read.

    Raises:
        ReportError: it cannot be read.
    """
    facts, results, verdicts = read_folder(folder)
    return TracedExperiment(
        facts, results, verdicts, plan=plan or load_plan(folder / "data", facts.digest), folder=folder
    )


def store_source(store: "Store", plan: StoredPlan) -> TracedExperiment:
    """A stored plan as a source."""
    from lnlab.app.judging import plan_results

    results = plan_results(store, plan)
    facts = facts_from_json(plan.facts["report"], plan.spec)
    verdicts = [] if plan.undecided else plan_verdicts(store, plan, results)
    return TracedExperiment(facts, results, verdicts, plan)


def runs_of_key(prefix: str, reports: Path, store: "Store") -> dict[str, RunOfKey]:
    """The runs whose key, or that of their trajectory or variant, begins so, by their key.

    A run that several experiments have is that of the plan used last, or of the first report by name.
    """
    found: dict[str, RunOfKey] = {}
    # The data of a report are a store with one plan.
    sources: list[tuple[Path, Callable[[StoredPlan], TracedExperiment]]] = [(store.root, partial(store_source, store))]
    sources += [(folder / "data", partial(report_source, folder)) for folder in reports_below(reports)]
    for root, source in sources:
        for plan in plans_newest_first(root):
            with suppress(CorruptFile):
                tables = plan_tables(root, plan)
                for match in _matches(prefix, tables["runs"], tables["axes"], partial(source, plan)):
                    found.setdefault(match.run, match)
    return found


def _matches(
    prefix: str, runs: pl.DataFrame, axes: pl.DataFrame, source: Callable[[], TracedExperiment]
) -> Iterator[RunOfKey]:
    keys = pl.col("run", "trajectory", "variant")
    matching = runs.filter(pl.any_horizontal(keys.str.starts_with(prefix)))
    for run, name in run_names(matching, axes.filter(pl.col("run").is_in(matching["run"].implode()))).items():
        yield RunOfKey(run, name, source)
