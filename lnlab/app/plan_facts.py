"""Metadata stored with a plan next to its tables, so that verdicts and reports need neither the compiler nor torch."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lnlab import __version__
from lnlab.app.request import Request
from lnlab.compile.decisions import decisions_to_json
from lnlab.compile.plan import Plan
from lnlab.keys import Json, canonical
from lnlab.registry import Choice
from lnlab.report.facts import ReportFacts, facts_to_json
from lnlab.specfile.experiment import ClaimText, Experiment, SectionText, kind_and_parameters
from lnlab.specfile.load import SpecDocument

if TYPE_CHECKING:
    from lnlab.app.request import Registries


def plan_facts(request: Request, plan: Plan, document: SpecDocument, known: "Registries") -> Json:
    """``{"report": the metadata of a page, "claims": every claim, resolved}``."""
    return {
        "report": facts_to_json(_report(request, plan, document, known)),
        "claims": claims_with_choices(zip(plan.experiment.claims, plan.claims, strict=True)),
    }


def claims_with_choices(claims: Iterable[tuple[ClaimText, Choice]]) -> list[dict[str, Json]]:
    """Every claim: its common fields and the resolved parameters of its kind."""
    return [{**_common(text), **choice} for text, choice in claims]


def question_fields(experiment: Experiment, sections: Iterable[Choice], known: "Registries") -> dict[str, Any]:
    """The fields of ``ReportFacts`` that state the question of the experiment and its sections."""
    sections = list(sections)
    pairs = zip(experiment.report, sections, strict=True)
    return {
        "title": experiment.title,
        "question": experiment.question or "",
        "source": _source(experiment),
        "differs": experiment.differs,
        "related": dict(experiment.related),
        "answers": tuple(answer.model_dump(by_alias=True) for answer in experiment.answer),
        "sections": tuple({**choice, **_stated(text)} for text, choice in pairs),
        "sources": {claim.id: claim.source for claim in experiment.claims if claim.source},
        "words": _registered_words(experiment, sections, known),
        "because": {claim.id: dict(claim.because) for claim in experiment.claims if claim.because},
    }


def _registered_words(
    experiment: Experiment, sections: Iterable[Choice], known: "Registries"
) -> dict[str, dict[str, str]]:
    """The words of the quantities that the probes measure, and of the derived ones that sections and claims name."""
    measured = [known["probe"][probe.kind].facts.quantities for probe in experiment.probes]
    stated = (quantities for quantities in measured if isinstance(quantities, Mapping))
    words = {name: quantities[name] for quantities in stated for name in quantities}
    named = canonical([*sections, *(kind_and_parameters(claim) for claim in experiment.claims)])
    derived = [entry for entry in known["quantity"] if entry.facts.words and canonical(entry.name) in named]
    words |= {entry.name: entry.facts.words for entry in derived}
    return {name: asdict(words[name]) for name in sorted(words)}


def _stated(text: SectionText) -> dict[str, Json]:
    """The fields of every section."""
    return {"title": text.title, "heading": text.heading, "claims": list(text.claims)}


def _common(text: ClaimText) -> dict[str, Json]:
    """The fields of every claim."""
    return text.model_dump(mode="json", include=set(ClaimText.model_fields) - {"kind"})


def _report(request: Request, plan: Plan, document: SpecDocument, known: "Registries") -> ReportFacts:
    experiment = plan.experiment
    return ReportFacts(
        name=plan.name,
        spec=document.text,
        path=request.spec.as_posix(),
        digest=plan.digest,
        profile=plan.profile,
        overrides=plan.overrides,
        plugins=tuple(path.as_posix() for path in request.plugins),
        version=__version__,
        probes=tuple(
            {**known["probe"].resolve(kind_and_parameters(probe)), "at": probe.at} for probe in experiment.probes
        ),
        decisions=tuple(decisions_to_json(plan.decisions)),
        **question_fields(experiment, plan.sections, known),
    )


def _source(experiment: Experiment) -> dict[str, str]:
    return experiment.source.model_dump(exclude_none=True) if experiment.source else {}
