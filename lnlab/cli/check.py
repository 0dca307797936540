"""``lnlab check``: are specs right? Compiles them and builds every distinct model without memory; needs no corpus."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.app.request import Request, compile_request, load_registries
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Specs
from lnlab.cli.terminal import format_count, out, print_json
from lnlab.cli.undecidable import undecidable_note, undecidable_seeds
from lnlab.errors import LabError, Problem

if TYPE_CHECKING:
    from lnlab.app.claim_sites import Sites
    from lnlab.app.request import Registries
    from lnlab.compile.plan import Plan
    from lnlab.specfile.load import SpecDocument

CHECK_EXAMPLE = "Example: [bold]lnlab check specs/*.yaml[/bold]"
MODEL_PARTS = ("task", "model", "encoder", "decoder", "init", "optimizer", "interventions")
"""The parts of a setting that a model is built of."""
RULE_PARTS = ("task", "schedule", "train")
"""The parts of a setting that schedules and stopping rules are built of."""
_SpecProfile = tuple[Path, str | None]


def check_specs(
    specs: Specs,
    overrides: Overrides,
    plugins: Plugins,
    profile: Profile = None,
    as_json: AsJsonOption = False,
) -> None:
    """Check specs and build their models.

    Without --profile and -s, the default and every profile of each.
    Reports every problem at once, with its line and column, then instantiates each distinct model on the meta device.
    Needs no corpus.
    """
    known = load_registries(plugins)
    summaries = []
    problems: list[Problem] = []
    for spec, name in _spec_profiles(specs, profile, problems, whole=not (profile or overrides)):
        try:
            summaries.append(_summary_of(Request(spec, name, tuple(overrides), tuple(plugins)), known))
        except LabError as error:
            problems += error.problems
            continue
        if not as_json:
            for line in _lines(summaries[-1]):
                out().print(line)
    if as_json:
        print_json(summaries)
    if problems:
        raise LabError(*dict.fromkeys(problems))


def _spec_profiles(
    specs: Sequence[Path], profile: str | None, problems: list[Problem], *, whole: bool
) -> Iterator[_SpecProfile]:
    """Each spec with each of its profiles; a file that cannot be read is a problem, and the next is read."""
    from lnlab.specfile.load import parse_leniently, read_spec_text

    for spec in specs:
        try:
            profiles = parse_leniently(read_spec_text(spec), spec)[0].data.get("profiles") if whole else None
        except LabError as error:
            problems += error.problems
            continue
        named = profiles.items() if isinstance(profiles, dict) else ()
        yield (spec, profile)
        yield from ((spec, name) for name, lines in named if isinstance(lines, dict))


def _lines(summary: dict[str, Any]) -> Iterator[str]:
    """The summary of a correct spec, a line each, and the note on claims that its seeds cannot decide."""
    runs, models, claims = (format_count(summary[word], word[:-1]) for word in ("runs", "models", "claims"))
    tuning = f"{format_count(summary['tuning_runs'], 'tuning run')}, " if summary["tuning_runs"] else ""
    which = f"{summary['spec']}: {summary['profile'] or 'default'}"
    yield f"{which}: ok: {tuning}{runs}, {models}, {claims}"
    if summary["note"]:
        yield f"{which}: {summary['note']}"


def _summary_of(request: Request, known: "Registries") -> dict[str, Any]:
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
    _refuse_claims(request, plan, document, sites)
    return {
        "spec": str(request.spec),
        "profile": request.profile,
        "tuning_runs": len(tuning_runs),
        "runs": len(plan.runs),
        "models": len(models),
        "claims": len(plan.claims),
        "note": undecidable_note(undecidable_seeds(plan, known), len(plan.claims)),
    }


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

    Returns:
        By variant the sites of its model, of the quantities whose probes say where they are measured.
    """
    from lnlab.app.claim_sites import distinct_probes, sites_by_quantity
    from lnlab.execute.meta import build_on_meta, build_rules

    sites: dict[str, Sites] = {}
    problems: list[Problem] = []
    probes = distinct_probes(plan)
    for variants in models:
        with _located(document, plan, variants[-1], problems):
            model_sites = sites_by_quantity(build_on_meta(plan.settings[variants[-1]], known), probes, known)
            sites |= dict.fromkeys(variants, model_sites)
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
    from lnlab.app.plan_facts import claims_with_choices

    claims = claims_with_choices(zip(plan.experiment.claims, plan.claims, strict=True))
    unchanged = not (request.profile or request.overrides)
    if site_mistakes := site_problems(plan, claims, sites, absent=unchanged):
        overlays = request.profile, request.overrides
        raise LabError(*(locate_claim_problem(problem, document, *overlays) for problem in site_mistakes))
