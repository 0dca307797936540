"""What a spec requests of its runs, resolved: probes, sections, claims, and what claims require."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.selection.criteria import flaws_of_criterion
from lnlab.compile.selection.inheritance import FOR_EACH, claim_ids
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Choice, Flawed, parameter_issues
from lnlab.specfile.experiment import CRITERION_FIELDS, ClaimText, ProbeText, SectionText, kind_and_parameters
from lnlab.specfile.read import Reading

REQUEST_FIELDS = {
    kind: (*(field.alias or name for name, field in text.model_fields.items() if name != "kind"), *others)
    for kind, text, others in (
        ("probe", ProbeText, ()),
        ("section", SectionText, ()),
        ("claim", ClaimText, (FOR_EACH,)),
    )
}
"""The fields of a probe, a section and a claim besides the parameters of its kind."""


@dataclass(frozen=True)
class ResolvedRequest:
    """One resolved probe, section or claim (or what a claim requires).

    Attributes:
        choice: its resolved parameters.
        path: its path in the data. A claim has its id in it, as in ``claims.post_grows``.
        at: when a probe is applied.
        grids: the numbers of the grids to whose runs a probe is applied. None means every run.
        levels: the values of ``over`` that a claim names in its ``order``. Empty means all values.
    """

    choice: Choice
    path: Where
    at: Json = None
    grids: frozenset[int] | None = None
    levels: tuple[Json, ...] = ()

    def is_applied(self, grids: Collection[int]) -> bool:
        """Whether a probe is applied to a run of these grids."""
        return self.grids is None or not self.grids.isdisjoint(grids)


@dataclass
class ResolvedRequests:
    """Everything that a spec requests of its runs. The lists are in the order of the spec, without what is flawed."""

    probes: list[ResolvedRequest] = field(default_factory=list)
    sections: list[ResolvedRequest] = field(default_factory=list)
    claims: list[ResolvedRequest] = field(default_factory=list)
    requires: list[ResolvedRequest] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)


def resolve_requests(reading: Reading, merged: MergedSpec, registries: Registries) -> ResolvedRequests:
    """Resolve every probe, section and claim. What is wrong with any of them is in ``issues``."""
    requests = ResolvedRequests()
    known = claim_ids(merged)
    for number, probe in enumerate(reading.experiment.probes):
        path = reading.path(("probes", number))
        request = _resolve_request(requests, "probe", kind_and_parameters(probe), path, registries)
        grids = None
        if probe.grid is not None:
            grids = frozenset(place for place, name in enumerate(merged.grid_names) if name in probe.grid)
            requests.issues += merged.unknown_grids((*path, "grid"), probe.grid)
        requests.probes += [replace(request, at=probe.at, grids=grids)] if request else []
    for number, section in enumerate(reading.experiment.report):
        path = reading.path(("report", number))
        request = _resolve_request(requests, "section", kind_and_parameters(section), path, registries)
        requests.sections += [request] if request else []
        for i, word in enumerate(section.claims):
            if word not in known:
                what, place = f"no claim is called '{word}'", (*path, "claims", i)
                requests.issues.append(Issue("unknown-name", place, what, nearest(word, known), named=place[:-1]))
    for number, claim in enumerate(reading.experiment.claims):
        place = reading.path(("claims", number))
        named: Where = ("claims", claim.id)
        path = named if merged.numbered(named) == place else place  # of two with one id the first is called by it
        entry = registries["claim"].entries.get(claim.kind)
        if isinstance(claim.law, str) and entry is not None and "law" not in entry.keywords:
            what, remedy = f"found '{claim.law}'", "write the value that the sentence names"
            requests.issues.append(Issue("wrong-type", (*path, "law"), what, remedy))
            continue
        request = _resolve_request(requests, "claim", kind_and_parameters(claim), path, registries)
        requests.claims += [request] if request else []
        if request is not None:
            experiment = reading.experiment
            # Of grids with seeds of their own the claim has at least as many as the one with the fewest.
            n = min(map(len, (experiment.seeds, *experiment.grid_seeds.values())))
            n = len(experiment.claim_seeds[claim.id]) if claim.id in experiment.claim_seeds else n
            looks = claim.looks or experiment.looks
            whose = experiment.role_of(claim)
            of_criterion = flaws_of_criterion(claim, request.choice, registries, looks, n, whose)
            requests.issues += [flaw.below(*path) for flaw in of_criterion]

        # What the claim requires is a claim without an id: it may have what belongs to a criterion, and a sentence.
        single = isinstance(merged.data["claims"][place[1]].get("requires"), dict)  # one mapping, which has no number
        for i, requirement in enumerate(claim.requires):
            below: Where = (*path, "requires") if single else (*path, "requires", i)
            beside = (*CRITERION_FIELDS, *(["says"] if isinstance(requirement.get("says"), str) else []))
            choice = {word: value for word, value in requirement.items() if word not in beside}
            required = _resolve_request(requests, "claim", choice, below, registries)
            if required is None:
                continue
            requests.requires.append(required)
            criterion = {word: requirement[word] for word in CRITERION_FIELDS if word in requirement}
            try:
                text = ClaimText.model_validate(
                    {"id": "it", "says": "it", "kind": required.choice["kind"], **criterion}
                )
                found = list(flaws_of_criterion(text, required.choice, registries, 1, 0))
            except ValidationError as error:
                found = list(parameter_issues(error, criterion, ClaimText.model_fields, "a requirement"))
            requests.issues += [flaw.below(*below) for flaw in found]

    # Edges of a causal graph: their arrows join its nodes, and claims of the spec judge them. Estimates are of claims.
    for request in (*requests.sections, *requests.claims):
        nodes = request.choice.get("nodes")  # a claim about the edges of a section has no nodes of its own
        flaws = [
            Issue("unknown-name", ("estimates", row), f"no claim is called '{word}'", nearest(word, known))
            for row, word in (request.choice.get("estimates") or {}).items()
            if word not in known
        ]
        for number, edge in enumerate(request.choice.get("edges") or ()):
            for end, name in enumerate(edge["arrow"]):
                if nodes is not None and name not in nodes:
                    where: Where = ("edges", number, "arrow", end)
                    flaws.append(Issue("unknown-name", where, f"no node is called '{name}'", nearest(name, nodes)))
            for role in ("observed", "cut"):
                if (word := edge[role]) not in known:
                    where = ("edges", number, role)
                    flaws.append(Issue("unknown-name", where, f"no claim is called '{word}'", nearest(word, known)))
        requests.issues += [flaw.below(*request.path) for flaw in flaws]
    return requests


def _resolve_request(
    requests: ResolvedRequests,
    kind: str,
    raw: Choice,
    path: Where,
    registries: Registries,
) -> ResolvedRequest | None:
    """Resolve a section or a claim. If it is flawed, add the flaws to ``requests.issues`` and return None."""
    try:
        choice = registries[kind].resolve(raw, REQUEST_FIELDS[kind])
    except Flawed as error:
        requests.issues += [flaw.below(*path) for flaw in error.issues]
        return None
    facts = registries[kind][choice["kind"]].facts
    try:
        levels = facts.levels(choice) if kind == "claim" and facts.levels else []
    except LabError as error:
        flaws = [Issue(problem.code, (problem.where,), problem.what, problem.remedy) for problem in error.issues]
        requests.issues += [flaw.below(*path) for flaw in flaws]
        return None
    return ResolvedRequest(choice, path, levels=tuple(levels))
