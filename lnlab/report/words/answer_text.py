"""The author's answer with the numbers of the verdicts, and whether these are still the ones it was written for.

The page, the index and the README all fill it in here.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import MINUS
from lnlab.keys import Json
from lnlab.report.facts import ReportFacts
from lnlab.report.words.quantity_words import quantity_name, quantity_unit
from lnlab.report.words.verdict_words import verdict_interval
from lnlab.report.words.wording import count_noun, format_value, in_variant, nonbreaking

LONGEST_ANSWER = 40
"""The most words of an answer that the author did not write."""
_MOST_NUMBERS = 2
"""The most numbers of a heading that such an answer repeats."""
_VERDICT_WORDS = {"smaller": "Smaller than claimed", "beyond": "Beyond our margin"}
_YES_OR_NO = re.compile(
    r"(?:^|, )(?:does|do|did|is|are|was|were|has|have|can|will|would|should)\b"
    r"(?![^?]*\b(?:or|and (?:which|what|how))\b)",
    re.IGNORECASE,
)
"""A question that yes or no answers."""
_WHICH = re.compile(r"(?:^|, )(?:which|what)\b", re.IGNORECASE)
_RANKING = re.compile(r"\b(?:lowest|highest|best)\b|indistinguishable")
"""A heading that ranks values."""
_BOTH_ENDS = re.compile(r"^(?P<head>.* ends) (?P<low>at .+), and (?P<high>at [^;]+)$")
"""A heading of curves that names the lowest and the highest: a question asks for one."""
_MORE = re.compile(r"(?:;| and) \d+ more in the figure$")
"""The end of a heading that leaves out series: an answer has no figure."""
_WAYS = {
    "less": re.compile(r"\b(?:lower|smaller|less|fewer|faster|shorter|below)\b", re.IGNORECASE),
    "more": re.compile(r"\b(?:higher|larger|greater|more|longer|above|slower)\b", re.IGNORECASE),
    "same": re.compile(r"\b(?:same|equal|equally|alike)\b", re.IGNORECASE),
}
"""Words by the direction that they claim."""
_NO_NAME = ("The", "A", "An", "In", "At", "With", "Without", "Most", "No", "Of", "On", "After", "Before")
"""Words at the beginning of a heading that lose their capital behind a title."""
_ANSWERING = ("supported", "contradicted", "smaller", "beyond", "undecided")
_COMPARED = re.compile(r"^(?:share of seeds with |[a-z]+ of )?(.+) ([/-]) (.+)$")
"""The two values in the statistic of a claim: ``mean of layer / rms``."""
_LACKING = re.compile(
    r"a verdict needs \d+|about [\d,]+ seeds would decide|(?:about|more than) [\d,]+ seeds would be needed"
)
_INTERVAL = re.compile(r"\s?\[[^\[\]]*\d[^\[\]]*\]")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")
PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def answers_of_profile(facts: ReportFacts) -> list[Mapping[str, Json]]:
    """The answers that are about the results of this profile, in the order of the spec."""
    return [answer for answer in facts.answers if answer["profile"] == facts.profile]


def made_answer(
    headings: Sequence[tuple[str, str]],
    verdicts: Sequence[Verdict],
    names: Mapping[str, str] | None = None,
    question: str = "",
) -> str:
    """Make the answer of a page whose author wrote none: every claim with its verdict, as far as there is room.

    The first claim that compares two values of an axis leads, primary claims before the others. The heading that ranks
    the values of a grid answers a question which of them is best. Without either the first heading leads.

    Args:
        headings: title and heading of each section, in order.
        verdicts: of all claims.
        names: what readers call the values that claims compare, by the word of the spec.
        question: of the spec. A question that a claim decides is answered with yes or no.

    Returns:
        At most ``LONGEST_ANSWER`` words. Claims without room are counted (``2 more claims below: undecided``).
    """
    claims = sorted(verdicts, key=lambda verdict: not verdict.primary)
    ranking = [(title, text) for title, text in headings if _RANKING.search(text)]
    if _WHICH.search(question) and ranking:
        asked = set(question.lower().split())
        ranked = max((text for _, text in ranking), key=lambda text: len(asked & set(text.lower().split())))
        asked_end = _BOTH_ENDS.search(ranked)
        if asked_end and "highest" in question:
            ranked = f"{asked_end['head']} {asked_end['high']}"
        elif asked_end and "lowest" in question:
            ranked = f"{asked_end['head']} {asked_end['low']}"
        return _with_claims(_heading_alone(ranked), claims, names or {})
    compared = [
        v
        for v in claims
        if v.kind in ("order", "ratio", "difference", "interaction") and v.verdict in _ANSWERING and v.n
    ]
    if compared:
        word = _yes_or_no(question, compared[0], compared[1:], names or {})
        found = _found(compared[0], names or {})
        lead = f"{word}: {found}." if word else _claim_in_words(compared[0], names or {}, number=True)
        if len(lead.split()) <= LONGEST_ANSWER:
            return _with_claims(lead, [claim for claim in claims if claim is not compared[0]], names or {})
    sentences = []
    for title, heading in headings[:2]:
        text = heading
        if title and len(headings) > 1:
            text = f"{title}: {heading[:1].lower() + heading[1:] if heading.split(' ', 1)[0] in _NO_NAME else heading}"
        sentences.append(_heading_alone(text))
    both = " ".join(filter(None, sentences))
    if not claims and len(both.split()) <= LONGEST_ANSWER and len(_NUMBER.findall(both)) <= _MOST_NUMBERS:
        return both
    return _with_claims(sentences[0] if sentences else "", claims, names or {})


def _with_claims(lead: str, claims: Sequence[Verdict], names: Mapping[str, str]) -> str:
    """The first sentence and the claims, with numbers if there is room. Claims without room are counted."""
    for shown in range(len(claims), -1, -1):
        more = len(claims) - shown
        counts = Counter(claim.verdict for claim in claims[shown:])
        each = ", ".join(f"{n} {word}" if more > 1 else word for word, n in counts.items())
        rest = [f"{count_noun(more, 'more claim')} below: {each}." if lead or shown else ""] if more else []
        for number in (True, False):
            text = " ".join(
                filter(None, [lead, *(_claim_in_words(c, names, number=number) for c in claims[:shown]), *rest])
            )
            if len(text.split()) <= LONGEST_ANSWER:
                return text
    return lead


def _claim_in_words(verdict: Verdict, names: Mapping[str, str], *, number: bool) -> str:
    """A claim with its verdict: ``Contradicted: “It rises”; the ratio is 0.49.``."""
    says = verdict.says.rstrip(".")
    measured = verdict.n > 0 and verdict.estimate is not None
    found = _found(verdict, names) if number and measured and verdict.verdict in _ANSWERING else ""
    if verdict.verdict == "supported":
        return f"{says}: {found}." if found else f"Supported: “{says}”."
    word = _VERDICT_WORDS.get(verdict.verdict, verdict.verdict.capitalize())
    if verdict.verdict == "undecided" and number:
        if measured:
            agree = f"{'every' if verdict.inside else 'no'} seed agrees"
            word += f", though {agree}" if verdict.inside in (0, verdict.n) else ", as seeds disagree"
        # The last is what the seeds themselves ask for: it is more than a rule asks for before it.
        needs = next(reversed(_LACKING.findall(verdict.reason)), "")
        needs += " seeds" if needs.startswith("a verdict") else ""
        found = ", and ".join(filter(None, (found, needs)))
    return f"{word}: “{says}”{f'; {found}' if found else ''}."


def _found(verdict: Verdict, names: Mapping[str, str]) -> str:
    """State what was measured, with its unit. A comparison of two values is put into words."""
    number = _estimate_alone(verdict)
    unit = quantity_unit(verdict.quantity) if verdict.quantity and verdict.measure in ("value", "difference") else None
    # most units need "a number of": only those of a loss follow a number as they are
    unit = f" {unit.split(' per ')[0]}" if unit and unit.startswith(("nats", "bits")) else ""
    compared = _COMPARED.search(verdict.statistic)
    if verdict.measure == "share":
        return f"it holds in {verdict.inside} of {count_noun(verdict.n, 'seed')}"
    if compared is None:
        return f"the {verdict.measure if verdict.measure in ('ratio', 'difference') else 'estimate'} is {number}{unit}"
    first, sign, second = compared.groups()
    a, b = names.get(first, first), names.get(second, second)
    if verdict.quantity is None or verdict.low is None or verdict.high is None:
        return f"{a} {'/' if sign == '/' else 'minus'} {b} is {number}{unit}"
    subject = f"the {quantity_name(verdict.quantity)}"
    if sign == "/":
        return f"{subject} {in_variant(a)} is {number} times that {in_variant(b)}"
    if verdict.low <= 0 <= verdict.high:
        return f"{a} minus {b} is {number}{unit}"
    way = "lower" if verdict.high < 0 else "higher"
    return f"{subject} is {number.removeprefix(MINUS)}{unit} {way} {in_variant(a)} than {in_variant(b)}"


def _yes_or_no(question: str, lead: Verdict, others: Sequence[Verdict], names: Mapping[str, str]) -> str:
    """``Yes`` or ``No`` where a claim says what the question asks, in its direction and of the same variant."""
    ways = {way for way, words in _WAYS.items() if words.search(question)}
    if not _YES_OR_NO.search(question) or len(ways) != 1 or {w for w in _WAYS if _WAYS[w].search(lead.says)} != ways:
        return ""
    way = next(iter(ways))
    if any(_WAYS[way].search(other.says) and other.verdict != lead.verdict for other in others):
        return ""
    if way != "same" and (compared := _COMPARED.search(lead.statistic)):
        pair = [names.get(value, value).lower() for value in (compared[1], compared[3])]
        first_named = [
            min((name for name in pair if name in text.lower()), key=text.lower().index, default="")
            for text in (question, lead.says)
        ]
        if first_named[0] != first_named[1]:
            return ""
    if lead.verdict == "supported":
        return "Yes"
    no_effect = 1.0 if lead.measure == "ratio" else 0.0
    if lead.verdict != "contradicted" or lead.low is None or lead.high is None:
        return ""
    # less than the claim demands is not yet no: its direction has to be wrong
    if lead.region_low is None and lead.region_high is not None and lead.region_high < no_effect:
        return "No" if lead.low >= no_effect else ""
    if lead.region_high is None and lead.region_low is not None and lead.region_low > no_effect:
        return "No" if lead.high <= no_effect else ""
    return "No"


def _heading_alone(heading: str) -> str:
    """A heading as a sentence: without intervals, and without its last clauses where it is long."""
    text = _MORE.sub("", _INTERVAL.sub("", heading).rstrip("."))
    while "; " in text and (len(text.split()) > LONGEST_ANSWER or len(_NUMBER.findall(text)) > _MOST_NUMBERS):
        text = text.rpartition("; ")[0]
    return f"{text}." if text.strip() and len(text.split()) <= LONGEST_ANSWER else ""


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
    """The estimate with the digits that its interval leaves meaningful."""
    return estimate_in_words(verdict).partition(" [")[0].partition(",")[0]


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
