"""Probes, sections and claims of a spec: their kinds are known, their parameters valid, their selections plausible."""

from collections.abc import Iterator
from dataclasses import replace

from pydantic import ValidationError

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.selection.criteria import flaws_of_criterion
from lnlab.compile.selection.grid_conditions import unknown_grids
from lnlab.compile.selection.inheritance import FOR_EACH, claim_ids
from lnlab.compile.selection.published_tables import flaws_of_tables
from lnlab.compile.selection.references import flaws_of_reference
from lnlab.compile.selection.resolved_requests import ResolvedRequest, ResolvedRequests
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.errors import LabError, nearest
from lnlab.facts import SectionFacts
from lnlab.issues import Issue, Where
from lnlab.registry import Choice, Flawed, parameter_issues
from lnlab.select.planned import PlannedRuns, PlannedSelection
from lnlab.select.selection import selections_by_word, value_list
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.experiment import CRITERION_FIELDS, ClaimText, ProbeText, SectionText, kind_and_parameters
from lnlab.specfile.read import Reading
from lnlab.specfile.references import REFERENCE

REQUEST_FIELDS = {
    kind: (*(field.alias or name for name, field in text.model_fields.items() if name != "kind"), *others)
    for kind, text, others in (
        ("probe", ProbeText, ()),
        ("section", SectionText, ()),
        ("claim", ClaimText, (FOR_EACH,)),
    )
}
"""The fields of a probe, a section and a claim besides the parameters of its kind."""

PATH_PARAMETERS = ("over", "along", "rows", "columns", "panels", "lines")
"""Parameters that name a path of the setting or a column."""


def resolve_requests(reading: Reading, merged: MergedSpec, registries: Registries) -> ResolvedRequests:
    """Resolve every probe, section and claim. What is wrong with any of them is in ``issues``."""
    requests = ResolvedRequests()
    known = claim_ids(merged)
    for number, probe in enumerate(reading.experiment.probes):
        path = reading.path(("probes", number))
        request = _resolve_request(requests, "probe", kind_and_parameters(probe), path, merged, registries)
        grids = None
        if probe.grid is not None:
            grids = frozenset(place for place, name in enumerate(merged.grid_names) if name in probe.grid)
            issues = unknown_grids(merged, (*path, "grid"), probe.grid)
            requests.issues += [flaw.at(merged.location(flaw.path)) for flaw in issues]
        requests.probes += [replace(request, at=probe.at, grids=grids)] if request else []
    for number, section in enumerate(reading.experiment.report):
        path = reading.path(("report", number))
        request = _resolve_request(requests, "section", kind_and_parameters(section), path, merged, registries)
        requests.sections += [request] if request else []
        for i, word in enumerate(section.claims):
            if word not in known:
                flaw = Issue("unknown-name", (*path, "claims"), f"no claim is called '{word}'", nearest(word, known))
                requests.issues.append(flaw.at(merged.location((*path, "claims", i))))
    for number, claim in enumerate(reading.experiment.claims):
        path = reading.path(("claims", number))
        entry = registries["claim"].entries.get(claim.kind)
        if isinstance(claim.law, str) and entry is not None and "law" not in entry.keywords:
            flaw = Issue(
                "wrong-type",
                ("claims", claim.id, "law"),
                f"found '{claim.law}'",
                "write the value that the sentence names",
            )
            requests.issues.append(flaw.at(merged.location((*path, "law"))))
            continue
        request = _resolve_request(
            requests, "claim", kind_and_parameters(claim), path, merged, registries, ("claims", claim.id)
        )
        requests.claims += [request] if request else []
        if request is not None:
            experiment = reading.experiment
            # Of grids with seeds of their own the claim has at least as many as the one with the fewest.
            n = min(map(len, (experiment.seeds, *experiment.grid_seeds.values())))
            n = len(experiment.claim_seeds[claim.id]) if claim.id in experiment.claim_seeds else n
            looks = claim.looks or experiment.looks
            whose = experiment.role_of(claim)
            for flaw in flaws_of_criterion(claim, request.choice, registries, looks, n, whose):
                requests.issues.append(flaw.below("claims", claim.id).at(merged.location((*path, *flaw.path))))

        # What the claim requires is a claim without an id: it may have what belongs to a criterion, and a sentence.
        single = isinstance(merged.data["claims"][path[1]].get("requires"), dict)  # one mapping, which has no number
        for i, requirement in enumerate(claim.requires):
            below: Where = ("requires",) if single else ("requires", i)
            position, name = (*path, *below), ("claims", claim.id, *below)
            beside = (*CRITERION_FIELDS, *(["says"] if isinstance(requirement.get("says"), str) else []))
            choice = {word: value for word, value in requirement.items() if word not in beside}
            required = _resolve_request(requests, "claim", choice, position, merged, registries, name)
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
            requests.issues += [flaw.below(*name).at(merged.location((*position, *flaw.path))) for flaw in found]

    # Edges of a causal graph: their arrows join its nodes, and claims of the spec judge them.
    for request in (*requests.sections, *requests.claims):
        nodes = request.choice.get("nodes")  # a claim about the edges of a section has no nodes of its own
        flaws = []
        for number, edge in enumerate(request.choice.get("edges") or ()):
            for end, name in enumerate(edge["arrow"]):
                if nodes is not None and name not in nodes:
                    where: Where = ("edges", number, "arrow", end)
                    flaws.append(Issue("unknown-name", where, f"no node is called '{name}'", nearest(name, nodes)))
            for role in ("observed", "cut"):
                if (word := edge[role]) not in known:
                    where = ("edges", number, role)
                    flaws.append(Issue("unknown-name", where, f"no claim is called '{word}'", nearest(word, known)))
        for flaw in flaws:
            requests.issues.append(flaw.below(*request.name).at(merged.location((*request.path, *flaw.path))))
    return requests


def _resolve_request(
    requests: ResolvedRequests,
    kind: str,
    raw: Choice,
    path: Where,
    merged: MergedSpec,
    registries: Registries,
    name: Where = (),
) -> ResolvedRequest | None:
    """Resolve a section or a claim. If it is flawed, add the flaws to ``requests.issues`` and return None."""
    try:
        choice = registries[kind].resolve(raw, REQUEST_FIELDS[kind])
    except Flawed as error:
        requests.issues += [
            flaw.below(*(name or path)).at(merged.location((*path, *flaw.path))) for flaw in error.issues
        ]
        return None
    judged = kind == "claim"
    facts = registries[kind][choice["kind"]].facts
    try:
        levels = facts.levels(choice) if judged and facts.levels else []
    except LabError as error:
        flaws = [Issue(problem.code, (problem.where,), problem.what, problem.remedy) for problem in error.issues]
        requests.issues += [flaw.below(*(name or path)).at(merged.location((*path, *flaw.path))) for flaw in flaws]
        return None
    several = bool(judged and facts.several) or bool(choice.get("exact", False))
    implied = facts.implied if isinstance(facts, SectionFacts) else ()
    return ResolvedRequest(
        choice, path, name or path, judged=judged, several=several, implied=implied, levels=tuple(levels)
    )


def selection_issues(requests: ResolvedRequests, context: PlannedRuns, merged: MergedSpec) -> list[Issue]:
    """What is wrong with the selections, now that the settings are known."""
    issues: list[Issue] = []
    for request in (*requests.sections, *requests.claims, *requests.requires):
        for below, flaw in _flaws_of_request(request, context):
            path = (*below, *flaw.path)
            issues.append(
                Issue(flaw.code, (*request.name, *path), flaw.what, flaw.remedy).at(
                    merged.location((*request.path, *path))
                )
            )
    return issues


def _flaws_of_request(request: ResolvedRequest, context: PlannedRuns) -> Iterator[tuple[Where, Issue]]:
    """Flaws of one section or claim, each with the parameter that has it.

    An exact bound holds every sample to it and averages none, so it may take as many variants as it likes.
    """
    choice = request.choice
    named_paths = {word: choice[word] for word in PATH_PARAMETERS if isinstance(choice.get(word), str)}
    if isinstance(choice.get("x"), str) and "." in choice["x"]:  # without a dot it may be a quantity, or the epoch
        named_paths["x"] = choice["x"]
    words = ("of", "where", "to", "less", "less_to")
    selections = [(word, choice[word]) for word in words if isinstance(choice.get(word), dict)]
    if "less" in dict(selections) and choice.get("less_to") is None:
        selections.append(("less_to", {}))  # it is read all the same, with the changes of the others
    if isinstance(choice.get("quantity"), str):
        yield from (((), flaw) for flaw in PlannedSelection(context, {"quantity": choice["quantity"]}).issues)
    if isinstance(choice.get("theory"), str):
        flaws = PlannedSelection(context, {"quantity": choice["theory"]}).issues
        yield from (((), replace(flaw, place=("theory",))) for flaw in flaws)
    unknown = {word: path for word, path in named_paths.items() if not context.has(path)}
    yield from (((word,), context.unknown_key(path)) for word, path in unknown.items())
    # What a selection leaves cannot be told while an axis is misspelt.
    if unknown:
        return
    flawed = False
    first = choice.get("of") or {}
    over = choice.get("over")
    if request.levels and isinstance(over, str) and over not in COLUMNS:
        for flaw in context.issues_of(over, list(request.levels)):
            flawed = True
            yield (), replace(flaw, place=("order",))

    # Of a claim ``to`` has the reference of ``of``, unless it names its own.
    by_word = dict(selections)
    base = "of" if "of" in by_word else "where"
    main = by_word.get(base) or {}
    shown = [name for source in (choice.get("quantity"), choice.get("numbers")) for name in value_list(source)]
    names = [*shown, *value_list(main.get("quantity"))]
    references = [(base, flaw) for flaw in flaws_of_reference(main, names, context, request.implied)]
    for word in ("to", "less", "less_to"):
        if REFERENCE in (other := by_word.get(word) or {}):
            names = value_list({**main, **other}.get("quantity"))
            references += [(word, flaw) for flaw in flaws_of_reference(other, names, context)]
    for word, flaw in references:
        flawed = True
        yield (word,), flaw

    sides = selections_by_word({**choice, "of": first})
    taken = {word: PlannedSelection(context, sides.get(word) or dict(selection)) for word, selection in selections}
    for word, selection in selections:
        # ``to`` is read with the conditions of ``of``, whose flaws are told there.
        flaws = [flaw for flaw in taken[word].issues if not flaw.path or flaw.path[0] in selection]
        flawed = flawed or bool(flaws)
        yield from (((word,), flaw) for flaw in flaws)
    yield from (((), flaw) for flaw in flaws_of_tables(choice, context))
    axes = list(named_paths.values())
    if not request.judged or flawed:
        return
    if selections and not request.several:
        for word, one in taken.items():
            # runs that differ only in what their quantity is taken over have one number
            over = [path for name in one.selection.names if (path := context.taken_over.get(name))]
            if both := [path for path in over if path in axes]:
                what = f"it is taken over {both[0]}, and so is the claim"
                yield (word, "quantity"), Issue("conflict", (), what, "keep one of them")
            elif reason := one.several([*axes, *over]) or one.unpinned(axes):
                yield (word,), Issue("conflict", (), reason, "a claim reads one number per seed and x")
    elif not choice.get("exact") and (reason := PlannedSelection(context, first).unpinned(axes)):
        yield ("of",), Issue("conflict", (), reason, "a claim reads one number of each run")
