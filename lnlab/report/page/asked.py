"""What a referee would ask, as the page lists it: the most important lines at once, the others folded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnlab.referee.review import SCALE, SHOWN
from lnlab.referee.rule import ReviewLine
from lnlab.report.facts import ReportFacts
from lnlab.report.page.claim_list import ClaimRow


@dataclass(frozen=True)
class AskedLine:
    """A line of the review on the page.

    Attributes:
        line: as it was written.
        label: what kind of line it is: its rule, where it is a question.
        about: the number and the sentence of each claim that it is about.
        replies: the author's answers, each with the number of its claim.
    """

    line: ReviewLine
    label: str
    about: tuple[tuple[int, str], ...]
    replies: tuple[tuple[int, str], ...]


def asked_lines(facts: ReportFacts, rows: Mapping[str, ClaimRow]) -> tuple[Sequence[AskedLine], Sequence[AskedLine]]:
    """The lines that the page shows, and those that it folds."""
    lines = [_asked_line(ReviewLine.from_plain(record), rows) for record in facts.review]
    return lines[:SHOWN], lines[SHOWN:]


def _asked_line(line: ReviewLine, rows: Mapping[str, ClaimRow]) -> AskedLine:
    about = sorted((rows[claim].number, rows[claim].verdict.says) for claim in line.claims if claim in rows)
    replies = sorted((rows[claim].number, answer) for claim, answer in line.answers.items() if claim in rows)
    label = "strength" if line.strength else "scale" if line.rule == SCALE else line.rule
    return AskedLine(line=line, label=label, about=tuple(about), replies=tuple(replies))
