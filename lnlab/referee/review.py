"""Ask every rule, answer what the author has answered, and put the lines into the order in which they are read."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from lnlab.referee import rules
from lnlab.referee.rule import RULES, Remark, ReviewLine
from lnlab.referee.study import Study
from lnlab.seed_words import seeds_word

SHOWN = 6
"""Lines that a page shows at once. The rest is folded."""
SCALE = "R9"
"""The rule whose line is told of every trained page."""
__all__ = ["RULES", "SHOWN", "open_lines", "review_plan", "review_report", "rules"]


def review_report(study: Study) -> list[ReviewLine]:
    """The lines of a report, the most important first."""
    return _in_order(study, _asked(study, ("report", "both")))


def review_plan(study: Study) -> list[ReviewLine]:
    """The lines of a plan, before any run: what would weaken its verdicts, whatever they are."""
    return _in_order(study, _asked(study, ("both",)))


def open_lines(lines: Iterable[ReviewLine]) -> list[ReviewLine]:
    """The lines that ask for something and have no answer yet."""
    return [line for line in lines if line.is_open]


def _asked(study: Study, moments: Sequence[str]) -> Iterable[ReviewLine]:
    for rule in RULES.values():
        if rule.when in moments:
            for remark in _merged(rule.find(study)):
                answers = {
                    claim: answer
                    for claim in remark.claims
                    if (answer := (study.claims[claim].get("answered") or {}).get(rule.name))
                }
                settles = rule.settles.replace("seeds", seeds_word()) if remark.asks and not remark.strength else ""
                stated = {field.name: getattr(remark, field.name) for field in fields(Remark)}
                yield ReviewLine(rule=rule.name, settles=settles, answers=answers, **stated)


def _merged(remarks: Iterable[Remark]) -> list[Remark]:
    """Remarks of one rule about single claims in the same words as one, about all these claims."""
    merged: dict[tuple[str, ...], Remark] = {}
    for remark in remarks:
        key = (remark.says,) if len(remark.claims) == 1 else (remark.says, *remark.claims)
        before = merged.get(key, remark)
        claims = tuple(dict.fromkeys((*before.claims, *remark.claims)))
        merged[key] = replace(before, claims=claims, grave=before.grave or remark.grave)
    return list(merged.values())


def _in_order(study: Study, lines: Iterable[ReviewLine]) -> list[ReviewLine]:
    """Grave lines on sentences of the source first, the scale of training after these, strengths last."""

    def rank(line: ReviewLine) -> tuple[bool, ...]:
        roles = {study.claims[claim].get("role") for claim in line.claims}
        of_source = "source" in roles or not line.claims
        return line.strength, not of_source, not line.grave

    ordered = sorted(lines, key=rank)
    scale = [line for line in ordered if line.rule == SCALE]
    others = [line for line in ordered if line.rule != SCALE]
    place = SHOWN - len(scale)
    return [*others[:place], *scale, *others[place:]]
