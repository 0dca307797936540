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
_ANSWERING = ("supported", "contradicted", "smaller", "undecided")
_COMPARED = re.compile(r"^(?:share of seeds with |[a-z]+ of )?(.+) ([/-]) (.+)$")
"""The two values in the statistic of a claim: ``mean of layer / rms``."""
_LACKING = re.compile(r"a verdict needs \d+|about \d+ seeds would decide|more than \d+ seeds would be needed")
_INTERVAL = re.compile(r"\s?\[[^\[\]]*\d[^\[\]]*\]")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")
PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def answers_of_profile(facts: ReportFacts) -> list[Mapping[str, Json]]:
    """The answers that are about the results of this profile, in the order of the spec."""
    return [answer for answer in facts.answers if answer["profile"] == facts.profile]


def made_answer(
    headings: Sequence[tuple[str, str]], verdicts: Sequence[Verdict], names: Mapping[str, str] | None = None
) -> str:
    """What the page says where its author wrote no answer.

    A question compares what its claims compare: the first of them that sets one value of an axis against another, the
    primary ones before the others, is the first sentence. Without one it is the first heading. What else is
    contradicted or undecided follows.

    Args:
        headings: title and heading of each section, in order.
        verdicts: of all claims.
        names: what readers call the values that claims compare, by the word of the spec.

    Returns:
        At most ``LONGEST_ANSWER`` words, and two numbers beside those that claims and variants are named by; nothing
        where not even its first sentence fits.
    """
    compared = [v for v in verdicts if v.kind in ("order", "ratio") and v.verdict in _ANSWERING and v.n]
    for lead in sorted(compared, key=lambda verdict: not verdict.primary):
        others = [verdict for verdict in verdicts if verdict is not lead]
        first = _claim_as_answer(lead, names or {})
        rest = " ".join(filter(None, (_others_not_held(others, word) for word in ("contradicted", "undecided"))))
        if len(first.split()) <= LONGEST_ANSWER:
            return f"{first} {rest}".strip() if len(f"{first} {rest}".split()) <= LONGEST_ANSWER else first
    return _answer_of_headings(headings, verdicts)


def _claim_as_answer(verdict: Verdict, names: Mapping[str, str]) -> str:
    """A claim that compares two values, with its number, and what an undecided one lacks."""
    says = verdict.says.rstrip(".")
    compared = _COMPARED.search(verdict.statistic)
    a, sign, b = compared.groups() if compared else ("", "", "")
    number = _estimate_alone(verdict)
    found = f"the ratio is {number}"
    if verdict.measure == "share":
        found = f"it holds in {verdict.inside} of {count_noun(verdict.n, 'seed')}"
    elif sign:
        found = f"{names.get(a, a)} {'/' if sign == '/' else 'minus'} {names.get(b, b)} is {number}"
    elif verdict.measure != "ratio":
        found = f"the estimate is {number}"
    if verdict.verdict == "supported":
        return f"{says}: {found}."
    if verdict.verdict == "undecided":
        lacking = _seeds_lacking(verdict)
        return f"{_observed(verdict)}: “{says}”; {found}{f', and {lacking}' if lacking else ''}."
    return f"{'Contradicted' if verdict.verdict == 'contradicted' else 'Smaller than claimed'}: “{says}”; {found}."


def _observed(verdict: Verdict) -> str:
    """What the seeds show of a claim that they leave undecided: its sentence alone would read as half true."""
    if not verdict.n:
        return "Undecided"
    if verdict.inside in (0, verdict.n):
        return f"Undecided, though {'every' if verdict.inside else 'no'} seed agrees"
    return "Undecided, as seeds disagree"


def _seeds_lacking(verdict: Verdict) -> str:
    """How many seeds would decide, in the words of the reason; nothing where it gives no number."""
    found = _LACKING.search(verdict.reason)
    return "" if found is None else f"{found[0]}{' seeds' if found[0].startswith('a verdict') else ''}"


def _answer_of_headings(headings: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]) -> str:
    """The first headings, and which claims are contradicted or undecided."""
    not_held = " ".join(filter(None, (_not_held(verdicts, word) for word in ("contradicted", "undecided"))))
    room = LONGEST_ANSWER - len(not_held.split())
    sentences: list[str] = []
    for title, heading in headings[:2]:
        text = _INTERVAL.sub("", heading).rstrip(".")
        if len(headings) > 1 and title:
            first = text.split(" ", 1)[0]
            text = f"{title}: {text[:1].lower() + text[1:] if first in _NO_NAME else text}"
        while "; " in text and (len(text.split()) > room or _numbers(text) > 2):  # clauses at the end go first
            text = text.rpartition("; ")[0]
        if not text or len(text.split()) > room or (sentences and _numbers(" ".join((*sentences, text))) > 2):
            break
        room -= len(text.split())
        sentences.append(f"{text}.")
    return " ".join(filter(None, (*sentences, not_held))) if sentences else ""


def _numbers(text: str) -> int:
    return len(_NUMBER.findall(text))


def _not_held(verdicts: Sequence[Verdict], word: str) -> str:
    """Which claim got this verdict, where it is one, else how many did; nothing where none did."""
    found = [verdict for verdict in verdicts if verdict.verdict == word]
    if len(found) == 1 and len(found[0].says.split()) <= _LONGEST_CLAIM:
        return _claim_not_held(found[0])
    if found and len(found) == len(verdicts):
        return f"The claim is {word}." if len(verdicts) == 1 else f"All {len(verdicts)} claims are {word}."
    if not found:
        return ""
    return f"{len(found)} of {count_noun(len(verdicts), 'claim')} {'is' if len(found) == 1 else 'are'} {word}."


def _claim_not_held(verdict: Verdict) -> str:
    """``Undecided, though no seed agrees: “Warm-up ends lower”; a verdict needs 5 seeds.``."""
    says = verdict.says.removesuffix(".")
    if verdict.verdict != "undecided":
        return f"Contradicted: “{says}”."
    lacking = _seeds_lacking(verdict)
    return f"{_observed(verdict)}: “{says}”{f'; {lacking}' if lacking else ''}."


def _others_not_held(verdicts: Sequence[Verdict], word: str) -> str:
    """That others got this verdict, without a number, which would be the third of the answer."""
    n = sum(verdict.verdict == word for verdict in verdicts)
    return "" if not n else f"Another claim is {word}." if n == 1 else f"Other claims are {word}."


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
        return str(verdict.n) if part == "n" else _estimate_alone(verdict)

    return PLACEHOLDER.sub(filled, says)


def _estimate_alone(verdict: Verdict) -> str:
    """The estimate with the digits that its interval leaves meaningful."""
    return estimate_in_words(verdict).partition(" [")[0].partition(",")[0]


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
