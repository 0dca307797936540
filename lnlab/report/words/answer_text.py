"""The author's answer with the numbers of the verdicts, and whether these are still the ones it was written for.

The page, the index and the README all fill it in here.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import counted_word, verdict_label
from lnlab.keys import Json
from lnlab.report.facts import ReportFacts
from lnlab.report.words.verdict_words import verdict_interval
from lnlab.report.words.wording import count_noun, format_value, nonbreaking, without_interval
from lnlab.seed_words import counted_seeds

LONGEST_ANSWER = 40
"""The most words of an answer that the author did not write."""
_MEASURED = ("supported", "contradicted", "smaller", "beyond", "undecided")
PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def answers_of_profile(facts: ReportFacts) -> list[Mapping[str, Json]]:
    """The answers that are about the results of this profile, in the order of the spec."""
    return [answer for answer in facts.answers if answer["profile"] == facts.profile]


def verdict_answer(verdicts: Sequence[Verdict]) -> str:
    """The verdicts themselves, where the author wrote no answer: ``Supported: “It grows”; the ratio is 6.3``.

    Primary claims come first. There are at most ``LONGEST_ANSWER`` words; claims without room are counted.
    """
    claims = sorted(verdicts, key=lambda verdict: not verdict.primary)
    for stated in range(len(claims), 0, -1):
        counts = Counter(claim.verdict for claim in claims[stated:])
        more = ", ".join(f"{n} {counted_word(word)}" for word, n in counts.items())
        sentences = [_verdict_sentence(claim) for claim in claims[:stated]]
        if more:
            sentences.append(f"{count_noun(len(claims) - stated, 'more claim')} below: {more}.")
        text = " ".join(sentences)
        if len(text.split()) <= LONGEST_ANSWER:
            return text
    return ""


def _verdict_sentence(verdict: Verdict) -> str:
    label = verdict_label(verdict)
    sentence = f"{label[:1].upper()}{label[1:]}: “{verdict.says.rstrip('.')}”"
    if verdict.estimate is None or not verdict.n or verdict.verdict not in _MEASURED:
        return f"{sentence}."
    if verdict.measure == "share":
        return f"{sentence}; it holds in {verdict.inside} of {counted_seeds(verdict.n)}."
    number = verdict.measure if verdict.measure in ("ratio", "difference", "exponent") else "estimate"
    return f"{sentence}; the {number} is {_estimate_alone(verdict)}."


def fill_answer(says: str, verdicts: Sequence[Verdict]) -> str:
    """The sentence with the numbers of the verdicts.

    ``{id}`` is the estimate with its interval, ``6.3 [5.2, 7.6]``. ``{id.estimate}`` is the estimate alone, which reads
    better in an answer. ``{id.n}`` is the number of seeds. Braces around anything else stay as they are. So does a
    claim that was not judged, so that a reader sees that a number is missing.
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
        return str(verdict.n) if part == "n" else _estimate_alone(verdict)

    return PLACEHOLDER.sub(filled, says)


def _estimate_alone(verdict: Verdict) -> str:
    """The estimate with the digits that its interval leaves meaningful, and the power of ten that stands behind it."""
    return without_interval(estimate_in_words(verdict))


def estimate_in_words(verdict: Verdict) -> str:
    """The estimate of a verdict with its interval, or a count as it is."""
    if verdict.measure == "edges":
        return format_value(verdict.estimate)
    return nonbreaking(verdict_interval(verdict))


def outdated_claims(written: Mapping[str, Json], verdicts: Sequence[Verdict]) -> list[str]:
    """The claims under ``while`` whose verdict is not the one that an answer or a heading was written for.

    They stand in the author's order. A claim that was not judged is one of them.
    """
    words = {verdict.claim: verdict.verdict for verdict in verdicts}
    return [claim for claim, word in written["while"].items() if words.get(claim) != word]
