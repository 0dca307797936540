"""What a referee would ask of a plan, before any run: searches that are not equal, settings that no sentence names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.errors import nearest
from lnlab.issues import Issue

if TYPE_CHECKING:
    from lnlab.compile.decisions import Undecided
    from lnlab.compile.plan import Plan
    from lnlab.referee.rule import ReviewLine

REFUSED = "R7"
"""The rule whose findings make a test unfair whatever the numbers say, so that a spec is refused."""
_MOST_LINES = 12


def review_of_plan(plan: "Plan", questions: "Sequence[Undecided]" = ()) -> "list[ReviewLine]":
    """The lines on a plan of judged runs. ``questions`` are those that its assumed decisions answer."""
    from lnlab.compile.decisions import decisions_to_json
    from lnlab.referee.review import review_plan
    from lnlab.referee.study import Study
    from lnlab.report.question import claims_with_choices
    from lnlab.report.referee import tunings_of
    from lnlab.store.plans import plan_frames
    from lnlab.tables import Results

    first = {run.variant: run for run in reversed(plan.runs)}  # the first run of each variant stands for all
    tables = plan_frames(replace(plan, runs=tuple(first.values()), needs=()))
    claims = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
    decisions = decisions_to_json(plan.decisions)
    for decision, question in zip(decisions, questions, strict=False):
        candidates = [{"value": value, "score": None, "losses": ()} for value, _ in question.candidates]
        decision.update(candidates=candidates, value=None)
    study = Study(
        name=plan.name,
        declared=[{**claim, "seeds": None} for claim in claims],
        results=Results(tables["runs"], tables["axes"]),
        tunings=tunings_of(decisions, [text.model_dump(mode="json") for text in plan.experiment.choose]),
    )
    return review_plan(study)


def unfair_tests(lines: "Iterable[ReviewLine]") -> list[Issue]:
    """The lines that a check refuses, as mistakes of their claims, those without an answer."""
    remedy = f"give every side as many values, or say in answered: {{{REFUSED}: ...}} why it is fair"
    return [
        Issue("conflict", ("claims", claim, "of"), line.says.rstrip("."), remedy)
        for line in lines
        if line.rule == REFUSED
        for claim in line.claims
        if claim not in line.answers
    ]


def unknown_rules(answers: "Mapping[str, Mapping[str, str]]") -> list[Issue]:
    """Answers to rules that there are not, as mistakes of their claims. ``answers``: claim -> rule -> sentence."""
    from lnlab.referee.review import RULES

    return [
        Issue("unknown-name", ("claims", claim, "answered", name), f"no rule is called {name}", nearest(name, RULES))
        for claim, answered in answers.items()
        for name in answered
        if name not in RULES
    ]


def line_texts(lines: "Iterable[ReviewLine]") -> list[str]:
    """``R15 (5 claims): ...``: the open lines, one each."""
    texts = [f"{line.rule} ({_about(line.claims)}): {line.says}" for line in lines if line.is_open]
    more = len(texts) - _MOST_LINES
    return texts if more <= 0 else [*texts[:_MOST_LINES], f"{format_count(more, 'more line')}: lnlab review"]


def _about(claims: Sequence[str]) -> str:
    return "the page" if not claims else claims[0] if len(claims) == 1 else format_count(len(claims), "claim")
