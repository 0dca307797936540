"""Are specs right? Compiles them and builds every distinct model without memory. Needs no corpus."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.app.local_files import survey_files
from lnlab.app.planning.schedule_notes import schedule_notes
from lnlab.app.rehearsal.judgeable import Rehearsals, undecidable_note
from lnlab.app.rehearsal.models import variants_by_parts
from lnlab.app.request import Request, compile_request, judged_plan, read_document
from lnlab.errors import LabError
from lnlab.html_tables import html_card
from lnlab.issues import Issue
from lnlab.training_extra import absent_packages, ask_without_training

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.specfile.load import SpecDocument


@dataclass(frozen=True)
class SpecSummary:
    """A spec that is right in one of its profiles, and the counts of its parts.

    Attributes:
        spec: its file, or its name.
        profile: the profile. None means the default.
        tuning_runs: runs in which values are chosen.
        runs: runs that are judged.
        models: distinct models, each of which was built, where torch is installed.
        claims: claims.
        note: claims that these seeds cannot decide, in words, or "".
        notes: what else a reader of the spec may not expect, a sentence each.
        review: what a referee would ask before any run, a line each.
    """

    spec: str
    profile: str | None
    tuning_runs: int
    runs: int
    models: int
    claims: int
    note: str
    notes: tuple[str, ...] = ()
    review: tuple[str, ...] = ()


class Checked(tuple[SpecSummary, ...]):
    """The summaries of the profiles of a spec, one each."""

    __slots__ = ()

    def __str__(self) -> str:
        """A line for each: its profile and its counts."""
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = [note for summary in self for note in filter(None, (summary.note, *summary.notes))]
        return html_card(f"{self[0].spec} is right", [*self._lines(), *dict.fromkeys(notes)])

    def _lines(self) -> list[str]:
        return [
            f"{one.profile or 'default'}: {format_count(one.runs, 'run')}, {format_count(one.models, 'model')}, "
            f"{format_count(one.claims, 'claim')}"
            for one in self
        ]


def profile_requests(request: Request) -> Iterator[Request]:
    """The request itself. Without profile and overrides, a request for each profile of its spec follows.

    Raises:
        SpecError: the spec cannot be read at all.
    """
    profiles = None
    if not (request.profile or request.overrides):
        profiles = read_document(request)[0].data.get("profiles")
    named = profiles.items() if isinstance(profiles, dict) else ()
    yield request
    yield from (replace(request, profile=name) for name, lines in named if isinstance(lines, dict))


def early_mistakes(requests: Sequence[Request]) -> list[list[Issue]]:
    """The ``grammar_mistakes`` of requests without plugins. A process of one command imports no torch to find them."""
    for request in requests:
        with suppress(LabError):
            read_document(request)  # remembered, also by the copy of this process that is asked
    return ask_without_training(_early_mistakes, requests, meanwhile=_import_judges)


def _import_judges() -> None:
    """Import what a check needs once the grammar is right, and what needs no torch."""
    import scipy.special  # noqa: F401

    import lnlab.report.registries  # noqa: F401


def _early_mistakes(requests: Sequence[Request]) -> list[list[Issue]]:
    from lnlab.setting_catalogue import SETTING_REGISTRIES

    return [grammar_mistakes(request, SETTING_REGISTRIES) for request in requests]


def grammar_mistakes(request: Request, registries: "Registries") -> list[Issue]:
    """What is wrong with a spec in itself and with the pieces of its settings, in every profile, each once.

    Args:
        request: the spec. Without profile and overrides, each of its profiles is looked at.
        registries: those of settings.
    """
    from lnlab.compile.check import grammar_issues

    problems: list[Issue] = []
    try:
        document, faults = read_document(request)
        places = {fault.where for fault in faults}
        problems += faults
        for one in profile_requests(request):
            found = grammar_issues(document, registries, one.profile, one.overrides)
            problems += (problem for problem in found if problem.where not in places)
    except LabError as error:
        return list(error.issues)
    return list(dict.fromkeys(problems))


def check_profiles(request: Request, known: "Registries") -> tuple[list[SpecSummary], list[Issue]]:
    """The summary of each profile of a request that is right, and every problem of the others, each once.

    Where the grammar has something to say, that alone is told: the rest would mostly follow from it.
    """
    if problems := grammar_mistakes(request, known):
        return [], problems
    summaries: list[SpecSummary] = []
    requests = list(profile_requests(request))
    rehearsals = Rehearsals(known)
    for profile_request in requests:
        try:
            # each of them is checked for itself
            summaries.append(check_request(profile_request, known, rehearsals, other_profiles=len(requests) == 1))
        except LabError as error:
            problems += error.issues
    return summaries, list(dict.fromkeys(problems))


def check_request(
    request: Request, known: "Registries", rehearsals: Rehearsals, *, other_profiles: bool = True
) -> SpecSummary:
    """Compile a spec, build its models, check its claims, and return the counts of its parts.

    Args:
        request: the spec in one of its profiles.
        known: the registries.
        rehearsals: of its other profiles.
        other_profiles: whether the lines of profiles that are not chosen are checked as well.

    Raises:
        LabError: what is wrong with it, or cannot be built.
    """
    from lnlab.app.planning.review_notes import line_texts, review_of_plan, unfair_tests, unknown_rules
    from lnlab.compile.check import located_issues

    plan, document = compile_request(request, known, assume_data=True, other_profiles=other_profiles)
    questions = plan.undecided
    tuning_runs = plan.runs if questions else ()
    buildable = not absent_packages()
    if questions and buildable:
        # Tuning runs have models of their own, which must be sound as well.
        rehearsals.models.build(document, plan)
    plan = judged_plan(request, known, plan, assume_data=True)
    outcome = rehearsals.require_judgeable(request, plan, document)
    surveyed: list[str] = []
    if buildable:
        if plan.sources:
            from lnlab.app.rounds.transfers import transfer_sentences

            transfer_sentences(plan, document, known)
        surveyed = survey_files(plan, document, known, request.roots)
    lines = review_of_plan(plan, questions)
    answers = {claim.id: claim.answered for claim in plan.experiment.claims}
    if unfair := [*unfair_tests(lines), *unknown_rules(answers)]:
        raise LabError(*located_issues(unfair, document, known, request.profile, request.overrides))
    return SpecSummary(
        spec=str(request.spec),
        profile=request.profile,
        tuning_runs=len(tuning_runs),
        runs=len(plan.runs),
        models=len(variants_by_parts(plan)),
        claims=len(plan.claims),
        note=undecidable_note(outcome.too_few, len(plan.claims)),
        notes=(*schedule_notes(plan), *surveyed, *_frozen_notes(request, document, plan, known)),
        review=tuple(line_texts(lines)),
    )


def _frozen_notes(request: Request, document: "SpecDocument", plan: "Plan", known: "Registries") -> list[str]:
    """When the criteria of a spec were frozen, where they were, and which were changed since."""
    from lnlab.committed.frozen import frozen_facts, frozen_path, planned_criteria
    from lnlab.report.words.look_words import frozen_sentence

    if not frozen_path(request.spec).is_file():
        return []
    criteria = planned_criteria(document, known, request.profile, request.overrides)
    sentence = frozen_sentence(
        frozen_facts(request.spec, request.profile, criteria), [claim.id for claim in plan.experiment.claims]
    )
    return [f"note: {sentence}"] if sentence else []
