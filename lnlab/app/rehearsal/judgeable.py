"""Can all that a plan asks be judged and drawn? Asked of made-up rows before work begins: by check, plan and run.

Where torch is absent no model is built, and the rows have no sites (``lnlab.app.rehearsal.mistakes``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.app.rehearsal.models import BuiltModels
from lnlab.app.request import Request, compile_request, judged_plan
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.training_extra import absent_packages

if TYPE_CHECKING:
    from lnlab.app.rehearsal.models import Places
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Choice
    from lnlab.specfile.experiment import ClaimText
    from lnlab.specfile.load import SpecDocument

_OF_SEVERAL = ("ambiguous", "duplicate", "conflict", "no-effect", "missing", "wrong-type")
"""Codes of mistakes that no profile excuses. Others say that nothing is there, which a profile may have left out."""
_FEW_LEVELS = "wrong-length"
"""The code of levels that are too few for a kind of claim. A profile with more of them excuses it."""


@dataclass(frozen=True)
class Outcome:
    """What a rehearsal of a plan shows.

    Attributes:
        issues: what could not be judged or drawn, with paths in the spec.
        too_few: the numbers of seeds of the claims that so many cannot decide by rule.
    """

    issues: tuple[Issue, ...]
    too_few: tuple[int, ...]


@dataclass
class Rehearsals:
    """The rehearsals of a spec in its profiles.

    Attributes:
        known: the registries.
        models: those that were built for one profile are not built again for another.
        outcomes: what each request shows that was asked for. None where its spec is flawed.
    """

    known: "Registries"
    models: BuiltModels = field(init=False)
    outcomes: "dict[Request, Outcome | None]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.models = BuiltModels(self.known)

    def require_judgeable(self, request: Request, plan: "Plan", document: "SpecDocument") -> Outcome:
        """What a rehearsal of the plan of a request shows where nothing is wrong.

        A condition that nothing meets is no mistake of a profile or an override if the spec itself has runs that meet
        it: what a profile leaves out is not compared in it. Levels are too few where they are in every profile.

        Raises:
            LabError: everything that could not be judged or drawn, each with its line, or models that cannot be built.
        """
        from lnlab.compile.check import located_issues

        outcome = self.outcomes[request] = self.outcomes.get(request) or self._outcome(plan, document)
        issues = list(outcome.issues)
        changed = bool(request.profile or request.overrides)
        if changed and any(issue.code not in _OF_SEVERAL for issue in issues):
            whole = None if _asks_something_else(request, document) else self._of_profile(request, None)
            if whole is not None:
                nowhere = {issue.path for issue in whole.issues}
                issues = [issue for issue in issues if issue.code in _OF_SEVERAL or issue.path in nowhere]
        if any(issue.code == _FEW_LEVELS for issue in issues):
            profiles = document.data.get("profiles")
            names = (None, *(profiles if isinstance(profiles, dict) else ()))
            told = [{issue.path for issue in one.issues} for name in names if (one := self._of_profile(request, name))]
            issues = [
                issue for issue in issues if issue.code != _FEW_LEVELS or all(issue.path in paths for paths in told)
            ]
        if issues:
            overlays = request.profile, request.overrides
            raise LabError(*located_issues(issues, document, self.known, *overlays))
        return outcome

    def _of_profile(self, request: Request, profile: str | None) -> Outcome | None:
        asked = replace(request, profile=profile, overrides=())
        if asked not in self.outcomes:
            try:
                self.outcomes[asked] = self._outcome(*judged_plan_of(asked, self.known))
            except LabError:
                self.outcomes[asked] = None
        return self.outcomes[asked]

    def _outcome(self, plan: "Plan", document: "SpecDocument") -> Outcome:
        from lnlab.app.rehearsal.made_up_rows import rehearse
        from lnlab.app.rehearsal.mistakes import mistakes_in_claim, mistakes_in_section
        from lnlab.report.question import claims_with_choices

        places: dict[str, Places] = {} if absent_packages() else self.models.build(document, plan)
        pairs = list(zip(plan.experiment.claims, plan.claims, strict=True))
        claims = claims_with_choices(plan.experiment, pairs)
        rehearsal = rehearse(plan, claims, places, self.known)
        issues: list[Issue] = []
        too_few: list[int] = []
        for number, section in enumerate(plan.sections):
            implied = self.known["section"][section["kind"]].facts.implied
            issues += [issue.below("report", number) for issue in mistakes_in_section(rehearsal, section, implied)]
        for (text, choice), claim in zip(pairs, claims, strict=True):
            seeds = seeds_judged(plan, text, choice)
            found, few = mistakes_in_claim(rehearsal, claim, seeds)
            issues += found
            too_few += [len(seeds)] if few else []
        return Outcome(tuple(issues), tuple(too_few))


def judged_plan_of(request: Request, known: "Registries") -> "tuple[Plan, SpecDocument]":
    """The plan of the runs that are judged, whatever is chosen, with its document. A corpus may be absent.

    Raises:
        SpecError: what is wrong with the spec.
    """
    plan, document = compile_request(request, known, assume_data=True)
    return judged_plan(request, known, plan, assume_data=True), document


def require_judgeable(request: Request, known: "Registries") -> Outcome:
    """Refuse a request of which something could not be judged or drawn, before anything is computed.

    Raises:
        LabError: everything that is wrong, each with its line.
    """
    return Rehearsals(known).require_judgeable(request, *judged_plan_of(request, known))


def seeds_judged(plan: "Plan", text: "ClaimText", claim: "Choice") -> list[int]:
    """The seeds that a claim is judged on."""
    run_seeds = plan.experiment.seeds_of_claim(text.id) or plan.experiment.seeds
    seeds = (claim.get("of") or {}).get("seed", run_seeds)
    named = set(seeds) if isinstance(seeds, list | tuple) else {seeds}
    return [seed for seed in dict.fromkeys(run_seeds) if seed in named]


def undecidable_note(too_few: Sequence[int], claims: int) -> str:
    """``2 seeds; 4 of 6 claims stay undecided, as ...``, or empty where every claim can be decided."""
    from lnlab.claims.criterion import ONE_LOOK
    from lnlab.claims.sample import N_INIT, N_TRAINED
    from lnlab.claims.student import fewest_alike

    if not too_few:
        return ""
    seeds = format_count(too_few[0], "seed") if len(set(too_few)) == 1 else f"{min(too_few)} to {max(too_few)} seeds"
    which = "the claim stays" if claims == 1 else f"{len(too_few)} of {claims} claims stay"
    if 1 == len(too_few) < claims:
        which = f"1 of {claims} claims stays"
    rule = (
        f"a verdict needs at least {N_INIT} seeds at initialization, {N_TRAINED} after training and for an order, a "
        f"fit or a table, and {fewest_alike(ONE_LOOK.level)} for a share or a median"
    )
    return f"note: {seeds}; {which} undecided: {rule}"


def _asks_something_else(request: Request, document: "SpecDocument") -> bool:
    """Whether the profile or an override replaces what the spec claims or draws."""
    profiles = document.data.get("profiles")
    lines = profiles.get(request.profile) if isinstance(profiles, dict) else None
    changed = [*(lines if isinstance(lines, dict) else ()), *(text.partition("=")[0] for text in request.overrides)]
    return not {"claims", "report"}.isdisjoint(changed)
