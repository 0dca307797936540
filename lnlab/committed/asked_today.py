"""What the spec of a report asks as it stands today: its plan, whose keys hold of files what the report says."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.committed.committed_report import CommittedReport
from lnlab.committed.frozen import frozen_path, with_frozen_criteria
from lnlab.compile.decisions import decision_from_json, decisions_to_json
from lnlab.compile.files_read import files_of_entries
from lnlab.compile.plan import Plan, compile_plan
from lnlab.corpora.files.fetch import data_roots
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.printable import shown_path
from lnlab.report.facts import ReportFacts
from lnlab.report.question import claims_with_choices, files_read_by, question_fields, resolved_probes
from lnlab.report.same_question import find_spec
from lnlab.specfile.load import SpecDocument, load_spec, parse_spec
from lnlab.specfile.values import kind_label

if TYPE_CHECKING:
    from lnlab.claims.claim import Claim
    from lnlab.compile.resolve.choices import Registries


@dataclass(frozen=True)
class AskedToday:
    """What is asked of the rows of a report.

    Attributes:
        document: the spec.
        file: of the spec. None means that only the text in the report is at hand.
        plan: the judged runs, under the decisions of the report.
        claims: resolved, with the fields that all claims have.
        facts: the question as the report will say it. Its looks, models, review and default sections come of the rows.
    """

    document: SpecDocument
    file: Path | None
    plan: Plan
    claims: "Sequence[Claim]"
    facts: ReportFacts


def asked_today(
    report: CommittedReport, spec: Path | None, known: "Registries", *, own_text: bool = False
) -> AskedToday:
    """Compile the spec of a report. No file that its plan depends on is read.

    Args:
        report: its data, or all of it.
        spec: its path. None means the file that the report names, or else the text in the report.
        known: the registries of both wings.
        own_text: whether the text in the report is meant, whatever its file says today.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read, or the spec chooses something that these runs did not decide.
    """
    facts = report.parsed[0]
    file = spec if spec is not None or own_text else find_spec(report.folder, facts)
    document = load_spec(file) if file is not None else parse_spec(facts.spec, Path(facts.path))
    plan = compile_plan(
        document,
        known,
        data_roots(document.path.parent),
        profile=facts.profile,
        overrides=facts.overrides,
        decisions=[decision_from_json(entry) for entry in facts.decisions],
        memory=sys.maxsize,
        known_files=files_of_entries(facts.files_read, known),
        other_profiles=False,
    )
    if plan.undecided:
        question = plan.undecided[0]
        where = ", ".join(f"{axis} = {kind_label(value)}" for axis, value in question.about.items()) or "all runs"
        what = f"the choice of '{question.path}' for {where} was not made in these runs"
        raise ReportError(Issue("not-run", str(document.path), what, "run the spec again"))

    fields = question_fields(plan.experiment, plan.sections, known, plan.grid_seeds, profile=facts.profile)
    fields |= {"probes": resolved_probes(plan.experiment, known), "files_read": files_read_by(plan)}
    if any(decision.grid for decision in plan.decisions):
        fields["decisions"] = tuple(decisions_to_json(plan.decisions))
    if document.text != facts.spec:  # the digest of an unchanged text stays
        fields |= {"spec": document.text, "digest": plan.digest}
    asked = replace(facts, **fields, path=facts.path if spec is None else shown_path(spec))
    if file is not None and frozen_path(file).is_file():
        asked = with_frozen_criteria(asked, file, known)
    claims = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
    return AskedToday(document, file, plan, claims, asked)
