"""The word of a claim after the other settings of its experiment, and its controls, were asked.

    a control fails: not testable here
    at another setting the same test says the opposite, and the sentence does not say which one it means: undecided
    with each arm at its best rate of these runs the word is another, and the sentence names no rate: undecided

Several settings are asked at once, so that one of them says the opposite by chance more often than one alone does. A
word is therefore another one only if it is at a level that all settings share, by Holm's steps: the smallest p of m at
the level over m, the next at the level over m - 1. How many of the other settings say the same is kept in any case.
"""

from dataclasses import dataclass, replace

from lnlab.claims.claim import Claim, Finding
from lnlab.claims.fairness.best_rates import RATE, at_best_rates
from lnlab.claims.fairness.controls import Judge, learns_at_few_rates, nothing_to_cure
from lnlab.claims.fairness.elsewhere import OtherSetting, other_settings
from lnlab.claims.region import number_text
from lnlab.select.axis_words import axis_name, names_value, setting_name
from lnlab.specfile.columns import TIMES
from lnlab.specfile.values import value_label
from lnlab.tables import Results

_SIGNS = {"supported": 1, "contradicted": -1, "smaller": -1, "beyond": -1}
"""What a word says of the sentence. Any other says nothing."""


@dataclass(frozen=True)
class _Elsewhere:
    """The same test elsewhere.

    Attributes:
        where: in words: ``at a learning rate of 0.1``.
        path: of the setting.
        claim: as it stands there.
        finding: there, at the level of the look.
        at_best: whether every arm has its own best value.
    """

    where: str
    path: str
    claim: Claim
    finding: Finding
    at_best: bool = False


def fair_finding(claim: Claim, results: Results, finding: Finding, judge: Judge) -> Finding:
    """The finding of a claim, after its controls and the other settings of its experiment were asked.

    Args:
        claim: as it is declared.
        results: of the seeds that it names.
        finding: of it alone.
        judge: judges the same claim elsewhere.
    """
    if not finding.tested or finding.verdict not in (*_SIGNS, "undecided"):
        return finding
    if missing := nothing_to_cure(claim, finding, judge) or learns_at_few_rates(claim, results):
        return Finding("not testable here", finding.statistic, missing)
    if finding.verdict not in _SIGNS:
        return finding
    others = list(_elsewhere(claim, results, finding, judge))
    kept = replace(finding, elsewhere=_counts(finding, others))
    own = f"as judged {_numbers(finding)}, {finding.verdict}"
    for other in _other_words(finding, others, judge):
        if names_value(claim.get("says", ""), other.path):
            continue
        reason = (
            f"{own}; {other.where} {_numbers(other.finding)}, {other.finding.verdict}; the sentence does not say which "
            f"{setting_name(other.path)} it means; {finding.reason}"
        )
        return replace(kept, verdict="undecided", detail="depends on the setting", law_word=None, reason=reason)
    return kept


def _elsewhere(claim: Claim, results: Results, finding: Finding, judge: Judge) -> list[_Elsewhere]:
    """The claim at each other setting at which it can be judged, and with each arm at its best rate."""
    found = []
    for other in other_settings(claim, results):
        there = judge(other.claim, 1.0)
        if there is not None and there.tested and _measures_something(there):
            found.append(_Elsewhere(_place(other), other.path, other.claim, there))
    if (best := at_best_rates(claim, results)) is not None:
        best_claim, rates = best
        there = judge(best_claim, 1.0)
        if there is not None and there.tested and there.n == finding.n:
            values = ", ".join(dict.fromkeys(value_label(rate) for rate in rates))
            where = f"with each arm at its best of these rates ({values})"
            found.append(_Elsewhere(where, RATE, best_claim, there, at_best=True))
    return found


def _measures_something(finding: Finding) -> bool:
    """Whether seeds differ. One number of all, to the bit, follows from the setting, as the ratio to itself does."""
    return finding.measure == "share" or len(set(finding.seeds.values())) != 1 or len(finding.seeds) < 2


def _other_words(finding: Finding, others: list[_Elsewhere], judge: Judge) -> list[_Elsewhere]:
    """Those of the others that say the opposite at a level that all share (Holm), or nothing at the best rates."""
    sign = _SIGNS[finding.verdict]
    opposite = [other for other in others if _SIGNS.get(other.finding.verdict) == -sign]
    open_at_best = [other for other in others if other.at_best and other.finding.verdict == "undecided"]
    rejected = _holm(opposite, len(others), sign, judge)
    return [*rejected, *open_at_best]


def _holm(opposite: list[_Elsewhere], m: int, sign: int, judge: Judge) -> list[_Elsewhere]:
    """Those that say the opposite at their step of Holm's test of m settings."""
    rejected: list[_Elsewhere] = []
    while len(rejected) < len(opposite):
        part = 1 / (m - len(rejected))
        there = [other if part == 1 else _at_level(other, part, judge) for other in opposite]
        now = [other for other in there if other is not None and _SIGNS.get(other.finding.verdict) == -sign]
        if len(now) <= len(rejected):
            break
        rejected = now
    return rejected


def _at_level(other: _Elsewhere, part: float, judge: Judge) -> _Elsewhere | None:
    finding = judge(other.claim, part)
    return None if finding is None else replace(other, finding=finding)


def _counts(finding: Finding, others: list[_Elsewhere]) -> dict[str, tuple[int, int]]:
    """Of each setting at how many of its values the word is the same, and at how many the claim was judged."""
    counts: dict[str, tuple[int, int]] = {}
    for other in others:
        if not other.at_best:
            same, total = counts.get(other.path, (1, 1))
            alike = _SIGNS.get(other.finding.verdict) == _SIGNS[finding.verdict]
            counts[other.path] = same + alike, total + 1
    return counts


def _place(other: OtherSetting) -> str:
    value = value_label(other.value)
    return f"at {value} times the chosen rate" if other.path == TIMES else f"at {axis_name(other.path)} {value}"


def _numbers(finding: Finding) -> str:
    """``0.56 [0.49, 0.63]``."""
    if finding.estimate is None or finding.low is None or finding.high is None:
        return "without an interval"
    ends = ", ".join(number_text(end) for end in (finding.low, finding.high))
    return f"{number_text(finding.estimate)} [{ends}]"
