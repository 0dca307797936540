"""Are specs right? Compiles them and builds every distinct model without memory; needs no corpus."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lnlab.app.planning.local_files import survey_files
from lnlab.app.planning.schedule_notes import schedule_notes
from lnlab.app.planning.undecidable import undecidable_note, undecidable_seeds
from lnlab.app.request import Request, compile_request, read_document
from lnlab.errors import LabError, Problem

if TYPE_CHECKING:
    from lnlab.app.claim_sites import Sites
    from lnlab.app.request import Registries
    from lnlab.compile.plan import Plan
    from lnlab.specfile.load import SpecDocument

MODEL_PARTS = ("task", "model", "encoder", "decoder", "init", "optimizer", "interventions")
"""The parts of a setting that a model is built of, with all that acts on it."""
RULE_PARTS = ("task", "schedule", "train")
"""The parts of a setting that schedules and stopping rules are built of."""


@dataclass(frozen=True)
class SpecSummary:
    """A spec that is right in one of its profiles, and the counts of its parts.

    Attributes:
        spec: its file, or its name.
        profile: the profile; None: the default.
        tuning_runs: runs in which values are chosen.
        runs: runs that are judged.
        models: distinct models, each of which was built.
        claims: claims.
        note: claims that these seeds cannot decide, in words; or nothing.
        notes: what else a reader of the spec may not expect, a sentence each.
    """

    spec: str
    profile: str | None
    tuning_runs: int
    runs: int
    models: int
    claims: int
    note: str
    notes: tuple[str, ...] = ()


def profile_requests(request: Request) -> Iterator[Request]:
    """The request itself; where it names neither profile nor overrides, then one for each profile of its spec.

    Raises:
        SpecError: the spec cannot be read at all.
    """
    profiles = None
    if not (request.profile or request.overrides):
        profiles = read_document(request)[0].data.get("profiles")
    named = profiles.items() if isinstance(profiles, dict) else ()
    yield request
    yield from (replace(request, profile=name) for name, lines in named if isinstance(lines, dict))


def check_profiles(request: Request, known: "Registries") -> tuple[list[SpecSummary], list[Problem]]:
    """The summary of each profile of a request that is right, and every problem of the others, each once."""
    summaries: list[SpecSummary] = []
    problems: list[Problem] = []
    try:
        requests = list(profile_requests(request))
    except LabError as error:
        return [], list(error.problems)
    for profile_request in requests:
        try:
            summaries.append(check_request(profile_request, known))
        except LabError as error:
            problems += error.problems
    return summaries, list(dict.fromkeys(problems))


def check_request(request: Request, known: "Registries") -> SpecSummary:
    """Compile a spec, build its models, check its claims, and return the counts of its parts.

    Raises:
        LabError: what is wrong with it, or cannot be built.
    """
    from lnlab.compile.decisions import assumed_decision

    plan, document = compile_request(request, known, assume_data=True)
    tuning_runs = plan.runs if plan.undecided else ()
    if plan.undecided:
        _build(document, plan, _variants_by_parts(plan), known)
        plan, document = compile_request(
            request, known, [assumed_decision(question) for question in plan.undecided], assume_data=True
        )
    models = _variants_by_parts(plan)
    sites = _build(document, plan, models, known)
    if plan.sources:
        from lnlab.app.rounds.transfers import transfer_sentences

        transfer_sentences(plan, document, known)
    _refuse_claims(request, plan, document, sites)
    surveyed = survey_files(plan, document, known, request.roots)
    return SpecSummary(
        spec=str(request.spec),
        profile=request.profile,
        tuning_runs=len(tuning_runs),
        runs=len(plan.runs),
        models=len(models),
        claims=len(plan.claims),
        note=undecidable_note(undecidable_seeds(plan, known), len(plan.claims)),
        notes=(*schedule_notes(plan), *surveyed),
    )


def _variants_by_parts(plan: "Plan", part_names: Sequence[str] = MODEL_PARTS) -> list[list[str]]:
    """The variants of each model that is built differently, or whatever else is built of these parts."""
    from lnlab.keys import canonical

    variants_by_parts: dict[str, list[str]] = {}
    for variant, setting in plan.settings.items():
        parts = {name: setting.get(name) for name in part_names}
        variants_by_parts.setdefault(canonical(parts), []).append(variant)
    return list(variants_by_parts.values())


def _build(
    document: "SpecDocument", plan: "Plan", models: Sequence[Sequence[str]], known: "Registries"
) -> "dict[str, Sites]":
    """Build these models, and all rules; what cannot be built names its line and its variant.

    Models that differ in optimizer and interventions alone are one, on which these are tried in turn: of 900 models of
    a sweep over rates 40 are distinct.

    Returns:
        By variant the sites of its model, of the quantities whose probes say where they are measured.
    """
    from lnlab.app.claim_sites import distinct_probes, sites_by_quantity
    from lnlab.execute.meta import INITIALIZED_PARTS, build_rules, initialized_on_meta, intervene_on_meta

    sites: dict[str, Sites] = {}
    model_problems: dict[str, list[Problem]] = {variants[-1]: [] for variants in models}
    probes = distinct_probes(plan)
    for variants in _variants_by_parts(plan, INITIALIZED_PARTS):
        model = None
        for variant in filter(model_problems.__contains__, variants):
            with _located(document, plan, variant, model_problems[variant]):
                if model is None:
                    model = initialized_on_meta(plan.settings[variant], known)
                intervene_on_meta(model, plan.settings[variant], known)
                if variants[0] not in sites:
                    sites |= dict.fromkeys(variants, sites_by_quantity(model, probes, known))
    problems = [problem for problems_of_one in model_problems.values() for problem in problems_of_one]
    for variants in _variants_by_parts(plan, RULE_PARTS):
        with _located(document, plan, variants[-1], problems):
            build_rules(plan.settings[variants[-1]], known)
    if problems:
        raise LabError(*problems)
    return sites


@contextmanager
def _located(document: "SpecDocument", plan: "Plan", variant: str, problems: list[Problem]) -> Iterator[None]:
    """Inside, what cannot be built of a variant is added to the problems, with its line and its point in the sweep."""
    from lnlab.compile.reference.explain import call_label

    try:
        yield
    except LabError as error:
        point = " ".join(f"{axis}={call_label(value)}" for axis, value in plan.points[variant].items())
        for problem in error.problems:
            where = document.where(tuple(problem.where.split(".")))
            problems.append(replace(problem, where=": ".join(filter(None, (where, point, problem.where)))))


def _refuse_claims(request: Request, plan: "Plan", document: "SpecDocument", sites: "dict[str, Sites]") -> None:
    """Refuse claims that read no site, or several where they need one.

    Raises:
        LabError: every such claim.
    """
    from lnlab.app.claim_sites import site_problems
    from lnlab.app.judging import locate_claim_problem
    from lnlab.report.question import claims_with_choices

    claims = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
    unchanged = not (request.profile or request.overrides)
    if site_mistakes := site_problems(plan, claims, sites, absent=unchanged):
        overlays = request.profile, request.overrides
        raise LabError(*(locate_claim_problem(problem, document, *overlays) for problem in site_mistakes))
