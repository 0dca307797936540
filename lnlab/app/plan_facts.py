"""Metadata stored with a plan next to its tables, so that verdicts and reports need neither the compiler nor torch."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from lnlab import __version__
from lnlab.app.local_files import survey_files
from lnlab.app.request import Request
from lnlab.compile.decisions import decisions_to_json
from lnlab.compile.plan import Plan
from lnlab.errors import LabError
from lnlab.execute.model_graphs import model_graphs
from lnlab.keys import Json
from lnlab.printable import shown_path
from lnlab.report.facts import ReportFacts, facts_to_json
from lnlab.report.question import claims_with_choices, files_read_by, question_fields, resolved_probes
from lnlab.specfile.load import SpecDocument

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def plan_facts(
    request: Request, plan: Plan, document: SpecDocument, known: "Registries", provenance: Mapping[str, Json]
) -> Json:
    """``{"report": the metadata of a page, "claims": every claim, resolved}``."""
    experiment = plan.experiment
    transfers: tuple[str, ...] = ()
    if plan.sources:  # models are built only where runs take over something
        from lnlab.app.rounds.transfers import transfer_sentences

        transfers = transfer_sentences(plan, document, known)
    left_out: list[str] = []
    with suppress(LabError):  # the runs themselves say what is wrong with a file
        left_out = [note.removeprefix("note: ") for note in survey_files(plan, document, known, request.roots)]
    report = ReportFacts(
        name=shown_path(plan.name),
        spec=document.text,
        path=shown_path(request.spec),
        digest=plan.digest,
        profile=plan.profile,
        overrides=plan.overrides,
        plugins=tuple(map(shown_path, request.plugins)),
        version=__version__,
        probes=resolved_probes(experiment, known),
        files_read=files_read_by(plan),
        decisions=tuple(decisions_to_json(plan.decisions)),
        transfers=transfers,
        provenance=provenance,
        left_out=tuple(f"{note}." for note in left_out),
        models=model_graphs(plan.sections, [(plan.settings[v], plan.points[v]) for v in plan.settings], known),
        **question_fields(experiment, plan.sections, known, plan.grid_seeds, profile=plan.profile),
    )
    claims = claims_with_choices(experiment, zip(experiment.claims, plan.claims, strict=True))
    return {"report": facts_to_json(report), "claims": claims}
