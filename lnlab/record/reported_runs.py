"""The runs that reports have of a spec: ``lnlab run SPEC --rows-from REPORT`` computes the others alone."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from lnlab.compile.decisions import Decision, decision_from_json
from lnlab.compile.front import setting_namer
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.record.joined_reports import JoinedReports, join_reports
from lnlab.record.measured_probes import refuse_changed_probes, resolved_probes
from lnlab.report.words.wording import count_noun

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries


class ReportOfRuns(NamedTuple):
    """A report with runs.

    Attributes:
        folder: of the report.
        runs: the name of the setting and the seed of each run, with the first digits of the key of its trajectory.
        probes: by which they were measured, resolved.
    """

    folder: Path
    runs: Mapping[tuple[str, int], str]
    probes: Sequence[Mapping[str, Json]]

    def runs_of(self, plan: "Plan", known: "Registries") -> set[tuple[str, int]]:
        """The runs of a plan that this report has, as the plan would compute and measure them.

        Raises:
            ReportError: it has runs of the plan that were measured by other probes, or computed by other code or on
                other data: then they have other keys.
        """
        name = setting_namer(known)
        names = {variant: name(setting) for variant, setting in plan.settings.items()}
        planned = {(names[run.variant], run.seed): run.trajectory for run in plan.runs}
        runs = planned.keys() & self.runs.keys()
        if not runs:
            return set()
        refuse_changed_probes(resolved_probes(plan.experiment, known), self.folder, self.probes, known)
        if changed := [run for run in runs if not planned[run].startswith(self.runs[run])]:
            runs_of_before = count_noun(len(changed), "run")
            what = f"computed {runs_of_before} with another corpus, another plugin or another version of a piece"
            raise ReportError(Issue("differs", str(self.folder), what, "run the spec without this report"))
        return runs


def reports_of_runs(joined: JoinedReports, known: "Registries") -> tuple[ReportOfRuns, ...]:
    """The reports that were joined, with their runs that have ended."""
    name = setting_namer(known)
    reports = []
    for part in joined.parts:
        texts = part.results.runs.select("variant", "setting").unique("variant").iter_rows()
        names = {variant: name(json.loads(text)) for variant, text in texts}
        ended = part.results.runs.filter(pl.col("status").is_not_null()).select("variant", "seed", "trajectory")
        runs = {(names[variant], seed): trajectory for variant, seed, trajectory in ended.iter_rows()}
        reports.append(ReportOfRuns(part.folder, runs, part.facts.probes))
    return tuple(reports)


@dataclass(frozen=True)
class ReportedRuns:
    """The runs of reports that need not be computed again.

    Attributes:
        decisions: what was chosen on their tuning seeds.
        reports: that have the runs.
    """

    decisions: tuple[Decision, ...]
    reports: tuple[ReportOfRuns, ...]

    def trajectories(self, plan: "Plan", known: "Registries") -> frozenset[str]:
        """The keys of the trajectories of a plan of which no run is missing.

        Raises:
            ReportError: a report has runs of the plan that are not the same today.
        """
        name = setting_namer(known)
        names = {variant: name(setting) for variant, setting in plan.settings.items()}
        reported = set().union(*(report.runs_of(plan, known) for report in self.reports))
        missing = {run.trajectory for run in plan.runs if (names[run.variant], run.seed) not in reported}
        return frozenset({run.trajectory for run in plan.runs} - missing)


def reported_runs(
    folders: Sequence[Path], profile: str | None, overrides: Collection[str], known: "Registries"
) -> ReportedRuns:
    """Read which runs these reports have.

    Args:
        folders: of the reports.
        profile: the one that the runs are asked for with.
        overrides: the same, ``path=value``.
        known: the registries of both wings.

    Raises:
        ReportError: a report cannot be read, is of another profile or overrides, or contradicts another one.
    """
    joined = join_reports(folders, known)
    facts = joined.facts
    if (facts.profile, tuple(facts.overrides)) != (profile, tuple(overrides)):
        theirs, ours = (
            " ".join([f"--profile {name}" if name else "no profile", *(f"-s {each}" for each in changes)])
            for name, changes in ((facts.profile, facts.overrides), (profile, overrides))
        )
        what = f"is of {theirs}, and this run of {ours}"
        raise ReportError(Issue("differs", str(folders[0]), what, "run the spec as it was run for the report"))
    decisions = tuple(decision_from_json(entry) for entry in facts.decisions)
    return ReportedRuns(decisions, reports_of_runs(joined, known))
