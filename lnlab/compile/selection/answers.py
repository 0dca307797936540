"""Do the claims exist that an answer was written for?"""

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.selection.inheritance import with_claims_written_out
from lnlab.compile.source_spans import UNKNOWN
from lnlab.compile.sweep.overlay import MergedSpec, merge_spec
from lnlab.errors import nearest
from lnlab.issues import Issue
from lnlab.specfile.experiment import Experiment
from lnlab.specfile.load import SpecDocument

WHILE = "while"


def answer_issues(
    experiment: Experiment, merged: MergedSpec, document: SpecDocument, registries: Registries
) -> list[Issue]:
    """Verdicts that an answer names of claims which the spec has in none of its profiles."""
    with_own_claims = [name for name, lines in experiment.profiles.items() if "report" in lines]
    known = _ids(merged)
    for profile in (None, *with_own_claims):
        known |= _ids(with_claims_written_out(merge_spec(document, profile, []), registries))
    single = isinstance(merged.data.get("answer"), dict)
    issues: list[Issue] = []
    for number, answer in enumerate(experiment.answer):
        for claim in answer.while_.keys() - known:
            place = ("answer", WHILE, claim) if single else ("answer", number, WHILE, claim)
            flaw = Issue(
                "unknown-key", place[:-1], f"{UNKNOWN} '{claim}': there is no such claim", nearest(claim, known)
            )
            issues.append(flaw.at(merged.location(place)))
    return issues


def _ids(merged: MergedSpec) -> set[str]:
    """The ids that claims have, flawed or not."""
    claims = merged.data.get("claims")
    listed = [claim for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []
    return {claim["id"] for claim in listed if isinstance(claim.get("id"), str)}
