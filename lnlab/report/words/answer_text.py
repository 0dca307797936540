"""The author's answer with the numbers of the verdicts, and whether these are still the ones it was written for.

The page, the index and the README all fill it in here.
"""

import re
from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.keys import Json
from lnlab.report.facts import ReportFacts
from lnlab.report.words.wording import format_interval, format_value, nonbreaking

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def answers_of_profile(facts: ReportFacts) -> list[Mapping[str, Json]]:
    """The answers that are about the results of this profile, in the order of the spec."""
    return [answer for answer in facts.answers if answer["profile"] == facts.profile]


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
