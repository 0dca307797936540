"""What a report says that no table of numbers holds: the question, the source, the spec, how to make it again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from lnlab.errors import Problem, ReportError
from lnlab.keys import Json


@dataclass(frozen=True)
class ReportFacts:
    """Plain values only, so that they survive a JSON file unchanged.

    Attributes:
        name: the spec's file stem; the name of the folder of the report.
        title: of the experiment.
        question: what it asks, or nothing.
        source: ``cite`` and ``figure`` of the paper, or nothing.
        differs: sentences that say where this departs from the paper.
        spec: the text of the spec.
        path: the spec as the command line names it, with forward slashes.
        digest: of the plan: spec, profile, overrides, code, plugins, corpora.
        profile: the profile, or None for the default.
        overrides: what ``-s`` gave, left to right.
        plugins: file names that ``--with`` gave.
        version: of lnlab.
        probes: the resolved probes with their ``at``.
        sections: the resolved sections with their common fields ``title`` and ``claims``.
        sources: where each claim comes from, by id.
        decisions: what was chosen on tuning seeds, with its evidence.
    """

    name: str
    title: str
    spec: str
    path: str
    digest: str
    version: str
    question: str = ""
    source: Mapping[str, str] = field(default_factory=dict)
    differs: tuple[str, ...] = ()
    profile: str | None = None
    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    probes: tuple[Mapping[str, Json], ...] = ()
    sections: tuple[Mapping[str, Json], ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[Mapping[str, Json], ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments that make this report again, after ``lnlab run`` or ``lnlab report``."""
        profile = ("--profile", self.profile) if self.profile else ()
        overrides = tuple(word for override in self.overrides for word in ("-s", override))
        plugins = tuple(word for plugin in self.plugins for word in ("--with", plugin))
        return (*plugins, self.path, *profile, *overrides)


def to_json(facts: ReportFacts) -> dict[str, Json]:
    """The facts as a JSON object."""
    return asdict(facts)


def from_json(data: Mapping[str, Json], where: str) -> ReportFacts:
    """The facts again; a page made before anything was decided on tuning seeds says nothing of decisions.

    Raises:
        ReportError: ``data`` lacks a field or has one too many; ``where`` names the file.
    """
    names = {f.name for f in fields(ReportFacts)}
    if odd := ", ".join(sorted((data.keys() ^ names) - ({"decisions"} - data.keys()))):
        raise ReportError(Problem(where, f"unknown or missing fields: {odd}", "write the report again from the store"))
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return ReportFacts(**given)
