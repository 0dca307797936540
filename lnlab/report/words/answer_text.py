"""The author's answer with the numbers of the verdicts, and whether these are still the ones it was written for.

The page, the index and the README all fill it in here.
"""

import re
from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.keys import Json
from lnlab.report.facts import ReportFacts
from lnlab.report.words.wording import count_noun, format_interval, format_value, nonbreaking

LONGEST_ANSWER = 40
"""Words of an answer that nobody has written."""
_LONGEST_CLAIM = 14
"""Words of a claim that such an answer still names; a longer one is only counted."""
_NO_NAME = ("The", "A", "An", "In", "At", "With", "Without", "Most", "No", "Of", "On", "After", "Before")
"""Words at the beginning of a heading that lose their capital behind a title."""
PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def answers_of_profile(facts: ReportFacts) -> list[Mapping[str, Json]]:
    """The answers that are about the results of this profile, in the order of the spec."""
    return [answer for answer in facts.answers if answer["profile"] == facts.profile]


def answer_of_headings(headings: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]) -> str:
    """What the page says where its author wrote no answer: its first findings, and what is contradicted or undecided.

    Args:
        headings: title and heading of each section, in order.
        verdicts: of all claims.

    Returns:
        At most ``LONGEST_ANSWER`` words; nothing where not even the first finding fits.
    """
    not_held = " ".join(filter(None, (_not_held(verdicts, word) for word in ("contradicted", "undecided"))))
    room = LONGEST_ANSWER - len(not_held.split())
    sentences: list[str] = []
    for title, heading in headings[:2]:
        text = heading.rstrip(".")
        if len(headings) > 1 and title:
            first = text.split(" ", 1)[0]
            text = f"{title}: {text[:1].lower() + text[1:] if first in _NO_NAME else text}"
        while len(text.split()) > room and "; " in text:  # clauses at the end go first
            text = text.rpartition("; ")[0]
        if not text or len(text.split()) > room:
            break
        room -= len(text.split())
        sentences.append(f"{text}.")
    return " ".join(filter(None, (*sentences, not_held))) if sentences else ""


def _not_held(verdicts: Sequence[Verdict], word: str) -> str:
    """Which claim got this verdict, where it is one, else how many did; nothing where none did."""
    claims = [verdict.says for verdict in verdicts if verdict.verdict == word]
    if not claims:
        return ""
    if len(claims) == 1 and len(claims[0].split()) <= _LONGEST_CLAIM:
        return f"{word.capitalize()}: {claims[0]}{'' if claims[0].endswith(('.', '?', '!')) else '.'}"
    if len(claims) == len(verdicts):
        return f"The claim is {word}." if len(verdicts) == 1 else f"All {len(verdicts)} claims are {word}."
    return f"{len(claims)} of {count_noun(len(verdicts), 'claim')} {'is' if len(claims) == 1 else 'are'} {word}."


def fill_answer(says: str, verdicts: Sequence[Verdict]) -> str:
    """The sentence with the numbers of the verdicts.

    ``{id}`` is the estimate with its interval, ``6.3 [5.2, 7.6]``; ``{id.estimate}`` the estimate alone, which reads
    better in an answer; ``{id.n}`` the number of seeds. Braces around anything else are not a claim's and stay as they
    stand; so does a claim that was not judged, where a reader sees that a number is missing.
    """
    verdict_by_claim = {verdict.claim: verdict for verdict in verdicts}

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        if verdict := verdict_by_claim.get(name):
            return estimate_in_words(verdict)
        claim, _, part = name.rpartition(".")
        verdict = verdict_by_claim.get(claim)
        if verdict is None or part not in ("n", "estimate"):
            return match[0]
        return str(verdict.n) if part == "n" else estimate_in_words(verdict).partition(" [")[0].partition(",")[0]

    return PLACEHOLDER.sub(filled, says)


def estimate_in_words(verdict: Verdict) -> str:
    """The estimate of a verdict with its interval, or a count as it is."""
    if verdict.measure == "edges":
        return format_value(verdict.estimate)
    return nonbreaking(format_interval(verdict.estimate, verdict.low, verdict.high))


def outdated_claims(answer: Mapping[str, Json], verdicts: Sequence[Verdict]) -> list[str]:
    """The claims under ``while`` whose verdict is not the one that the answer was written for, in the author's order.

    A claim that was not judged is one of them.
    """
    words = {verdict.claim: verdict.verdict for verdict in verdicts}
    return [claim for claim, word in answer["while"].items() if words.get(claim) != word]
