"""What the claims of a spec test of the runs that it plans, as digests, before any of them has run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.claims.criterion_digest import RESTRICTION_MARK, criterion_digest
from lnlab.committed.frozen import frozen_facts, frozen_path
from lnlab.compile.decisions import assumed_decision
from lnlab.compile.plan import compile_plan
from lnlab.keys import digest
from lnlab.report.facts import ReportFacts
from lnlab.report.question import claims_with_choices
from lnlab.specfile.load import parse_spec
from lnlab.specfile.seeds import seeds_text
from lnlab.store.plans import plan_frames
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Roots
    from lnlab.specfile.load import SpecDocument


def planned_criteria(
    document: "SpecDocument", known: "Registries", profile: str | None, overrides: Sequence[str] = ()
) -> dict[str, tuple[str, str]]:
    """The digest of what each claim of a spec tests of its planned runs, by id, and its seeds.

    Where something is chosen on tuning seeds, the plan is that of the first candidate, and the digest covers the
    question. No corpus is read, as the digest must be the same on every machine.

    Raises:
        SpecError: every problem of the spec.
    """
    roots: Roots = ()
    plan = compile_plan(document, known, roots, profile=profile, overrides=overrides, assume_data=True)
    questions = sorted(question.key for question in plan.undecided)
    if plan.undecided:
        assumed = [assumed_decision(question) for question in plan.undecided]
        plan = compile_plan(
            document, known, roots, profile=profile, overrides=overrides, decisions=assumed, assume_data=True
        )
    frames = plan_frames(replace(plan, needs=()))
    results = Results(frames["runs"], frames["axes"], {})
    criteria = {}
    for claim in claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True)):
        core, *restrictions = criterion_digest(claim, results).split(RESTRICTION_MARK)
        core = digest([core, claim.get("looks"), questions])[: len(core)]
        criteria[claim["id"]] = (
            RESTRICTION_MARK.join([core, *restrictions]),
            seeds_text(claim.get("seeds") or plan.experiment.seeds),
        )
    return criteria


def with_frozen_criteria(facts: ReportFacts, spec: Path, known: "Registries") -> ReportFacts:
    """The facts of a report with the criteria that were frozen beside its spec, each held against that of today.

    Without the file they stay as they were.

    Raises:
        LabError: the file cannot be read, or the text of the spec in the facts is wrong.
    """
    if not frozen_path(spec).is_file():
        return facts
    criteria = planned_criteria(parse_spec(facts.spec, spec), known, facts.profile, facts.overrides)
    return replace(facts, frozen=frozen_facts(spec, facts.profile, criteria))
