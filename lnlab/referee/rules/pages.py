"""Rules on other pages of the same folder of reports."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import counted_word
from lnlab.referee.rule import Remark, rule
from lnlab.referee.study import Study
from lnlab.select.quantity import quantity_fact

_ALIKE = 0.8
"""Share of characters in common from which two sentences say the like."""
_COMMON_WORDS = 0.6
"""Share of all words of both that they have in common."""
_DECIDED = ("supported", "contradicted", "smaller", "undecided", "beyond")


@rule("R6a", "Does another page judge the sentence otherwise?", "a sentence that says what differs, or one page")
def judged_otherwise_elsewhere(study: Study) -> Iterator[Remark]:
    """Where a like sentence about the same quantity has another word on another page."""
    for verdict in study.judged(*_DECIDED):
        for neighbour in study.neighbours:
            other = neighbour.verdict
            if neighbour.page == study.name or other.verdict not in _DECIDED or other.verdict == verdict.verdict:
                continue
            if (other.kind, other.quantity) == (verdict.kind, verdict.quantity) and _says_the_like(verdict, other):
                says = f'Another page, {neighbour.page}, judges a like sentence "{counted_word(other.verdict)}"'
                yield Remark(f"{says}: {other.says}", (verdict.claim,), grave=True)


def _says_the_like(verdict: Verdict, other: Verdict) -> bool:
    """Whether two claims of one kind about one quantity say the like: in words, or of the same sides of a source."""
    both_of_source = verdict.role == other.role == "source"
    one_a_run = quantity_fact({"quantity": verdict.quantity}, "whole_run")  # so that both mean the same moment
    if both_of_source and one_a_run and " - " in verdict.statistic and verdict.statistic == other.statistic:
        return True
    one, two = (re.findall(r"[\w'-]+", text) for text in (verdict.says, other.says))
    apart = [[word for word in words if word not in against] for words, against in ((one, two), (two, one))]
    if all(any(word[:1].isupper() or word[:1].isdigit() for word in words) for words in apart):
        return False  # each names something that the other does not
    common = {word.lower() for word in one} & {word.lower() for word in two}
    if len(common) < _COMMON_WORDS * len({word.lower() for word in (*one, *two)}):
        return False
    matcher = SequenceMatcher(None, verdict.says.lower(), other.says.lower())
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE
