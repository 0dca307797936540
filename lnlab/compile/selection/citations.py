"""Do the claims exist that claims cite of other experiments, and those that an answer or a heading was written for?

A cited report is read when claims are judged. Here it is a file whose content joins the digest of the plan. An
experiment without a report is no mistake: its verdicts are missing, and the claim is not testable.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lnlab.compile.digests import Input, absent_input, input_of
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.selection.inheritance import claim_ids, whole_spec
from lnlab.compile.selection.requested import ResolvedRequest, ResolvedRequests
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.errors import SpecError, nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Flawed
from lnlab.specfile.citations import EVIDENCE, VERDICTS_NAME, citations_of, find_verdicts, specs_at_hand
from lnlab.specfile.experiment import Experiment
from lnlab.specfile.load import SpecDocument, load_spec

WHILE = "while"


def citation_issues(
    requests: ResolvedRequests, merged: MergedSpec, document: SpecDocument, registries: Registries
) -> list[Issue]:
    """What is wrong with the citations of claims: an experiment, a profile or a claim that does not exist."""
    known = specs_at_hand(document.path)
    related = merged.data.get("related")
    issues = [
        Issue("unknown-key", ("related", name), what, nearest(name, known), named=("related",))
        for name in (related if isinstance(related, dict) else ())
        if name not in known
        for what in [f"unknown key '{name}': there is no such spec"]
    ]
    kinds: dict[tuple[str, str], dict[str, Json]] = {}
    for request in (*requests.claims, *requests.requires):
        for citation in citations_of({**request.choice, "requires": ()}):
            name, claim = citation.spec, citation.claim
            if name not in known and find_verdicts(document.path, citation).is_file():
                continue  # the report is here and its spec is not: the claims are those that were judged
            try:
                if (name, citation.profile) not in kinds:
                    kinds[name, citation.profile] = _claim_kinds(name, citation.profile, known, document, registries)
                ids = kinds[name, citation.profile]
                if claim not in ids:
                    what = f"no claim of '{name}' is called '{claim}'"
                    raise Flawed(Issue("unknown-name", (), what, nearest(claim, ids)))
                if ids[claim] == "cited":
                    what = f"the claim '{claim}' of '{name}' itself cites other claims"
                    raise Flawed(Issue("conflict", (), what, "cite those"))
            except Flawed as error:
                issues += [issue.below(*request.path, EVIDENCE, name) for issue in error.issues]
    return issues


def cited_inputs(requests: ResolvedRequests, document: SpecDocument) -> tuple[Input, ...]:
    """The files of verdicts that claims cite, as they are now. An absent file is an input, too.

    Raises:
        OSError: one cannot be read.
    """
    cited: Iterator[ResolvedRequest] = iter((*requests.claims, *requests.requires))
    paths = {
        find_verdicts(document.path, c) for request in cited for c in citations_of({**request.choice, "requires": ()})
    }
    return tuple(input_of(path) if path.is_file() else absent_input(path) for path in sorted(paths))


def cited_verdicts(inputs: Iterable[Input]) -> list[Input]:
    """The files of cited verdicts among those that a plan depends on. An absent file has no digest."""
    return [file for file in inputs if Path(file.path).name == VERDICTS_NAME]


def _claim_kinds(
    name: str, profile: str, known: Mapping[str, Path], document: SpecDocument, registries: Registries
) -> dict[str, Json]:
    """The claims of an experiment, each with its kind.

    Raises:
        Flawed: there is no such spec, it cannot be read, it lacks the profile, or it is the one that cites.
    """
    if name not in known:
        raise Flawed(
            Issue(
                "unknown-key",
                (),
                f"unknown key '{name}': there is no such spec, here or among the shipped ones",
                nearest(name, known),
            )
        )
    if known[name].resolve() == document.path.resolve():
        raise Flawed(Issue("conflict", (), "a spec cannot cite itself", "name a claim of another spec"))
    try:
        other = load_spec(known[name])
    except SpecError as error:
        raise Flawed(
            Issue("unreadable", (), f"cannot be read: {error.issues[0]}", f"lnlab check {known[name]}")
        ) from error
    profiles = other.data.get("profiles") or {}
    if profile not in profiles:
        raise Flawed(Issue("unknown-name", (), f"'{name}' has no profile '{profile}'", nearest(profile, profiles)))
    claims = whole_spec(other, profile, (), registries).data.get("claims") or []
    return {str(claim["id"]): claim.get("kind") for claim in claims if isinstance(claim, dict) and "id" in claim}


def answer_issues(
    experiment: Experiment, merged: MergedSpec, document: SpecDocument, registries: Registries
) -> list[Issue]:
    """Verdicts that an answer or a heading names of claims which the spec has in none of its profiles."""
    with_own_claims = [name for name, lines in experiment.profiles.items() if "report" in lines]
    known = set(claim_ids(merged))
    for profile in (None, *with_own_claims):
        known.update(claim_ids(whole_spec(document, profile, (), registries)))
    single = isinstance(merged.data.get("answer"), dict)
    written: list[tuple[Where, Iterable[str]]] = []
    for number, answer in enumerate(experiment.answer):
        written.append((("answer",) if single else ("answer", number), answer.while_))
    written += [(("report", number), section.while_ or ()) for number, section in enumerate(experiment.report)]
    issues: list[Issue] = []
    for owner, claims in written:
        for claim in sorted(set(claims) - known):
            what = f"unknown key '{claim}': there is no such claim"
            place = (*owner, WHILE, claim)
            issues.append(Issue("unknown-key", place, what, nearest(claim, known), named=place[:-1]))
    return issues
