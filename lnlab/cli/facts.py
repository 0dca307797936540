"""What is kept with a plan beside its tables, so that verdicts and reports need neither the compiler nor torch."""

from typing import TYPE_CHECKING

from lnlab import __version__
from lnlab.cli.request import Request
from lnlab.compile.decisions import as_json
from lnlab.compile.plan import Plan
from lnlab.keys import Json
from lnlab.report.facts import ReportFacts, to_json
from lnlab.spec.experiment import ClaimText, Experiment, own
from lnlab.spec.load import Document

if TYPE_CHECKING:
    from lnlab.cli.request import Registries


def facts_of(request: Request, plan: Plan, document: Document, known: "Registries") -> Json:
    """``{"report": what a page says beside its numbers, "claims": every claim, resolved}``."""
    texts = zip(plan.experiment.claims, plan.claims, strict=True)
    return {
        "report": to_json(_report(request, plan, document, known)),
        "claims": [{**_common(text), **choice} for text, choice in texts],
    }


def _common(text: ClaimText) -> dict[str, Json]:
    """The fields of every claim."""
    return text.model_dump(mode="json", include=set(ClaimText.model_fields) - {"kind"})


def _report(request: Request, plan: Plan, document: Document, known: "Registries") -> ReportFacts:
    experiment = plan.experiment
    sections = zip(experiment.report, plan.sections, strict=True)
    return ReportFacts(
        name=plan.name,
        title=experiment.title,
        question=experiment.question or "",
        source=_source(experiment),
        differs=experiment.differs,
        spec=document.text,
        path=request.spec.as_posix(),
        digest=plan.digest,
        profile=plan.profile,
        overrides=plan.overrides,
        plugins=tuple(path.as_posix() for path in request.plugins),
        version=__version__,
        probes=tuple({**known["probe"].resolve(own(probe)), "at": probe.at} for probe in experiment.probes),
        sections=tuple({**choice, "title": text.title, "claims": list(text.claims)} for text, choice in sections),
        sources={claim.id: claim.source for claim in experiment.claims if claim.source},
        decisions=tuple(as_json(plan.decisions)),
    )


def _source(experiment: Experiment) -> dict[str, str]:
    return experiment.source.model_dump(exclude_none=True) if experiment.source else {}
