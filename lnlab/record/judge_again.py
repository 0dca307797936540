"""The claims of a spec judged on the tables of a report: again, or with their last verdict, or not testable."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from lnlab.claims.claim import Claim, Finding, Verdict, reads_verdicts, verdict_of
from lnlab.claims.claim import claims as registered
from lnlab.claims.claim_scope import results_of_claim
from lnlab.claims.criterion_digest import claim_criterion
from lnlab.claims.judging import judge_all, judge_claim
from lnlab.claims.kept_numbers import judge_kept_numbers
from lnlab.claims.look_book import LookBook
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.record.held_rows import are_covered, entries_of_runs, missing_rows_sentence
from lnlab.record.matching import MatchedRuns
from lnlab.report.kept_rows import claim_selections
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.select.reductions import RATIO_REDUCTIONS
from lnlab.select.select import runs_with
from lnlab.select.selection import Conditions
from lnlab.select.series import trained_elsewhere
from lnlab.select.settings import NothingSelected
from lnlab.specfile.experiment import CRITERION_FIELDS
from lnlab.tables import Results

DESCRIPTIVE_FIELDS = ("says", "primary", "role", "because", "source", "published", "seeds")
"""Fields of a claim that do not decide its verdict, given the runs that it reads."""
TEST_FIELDS = ("looks", "law", *CRITERION_FIELDS)
"""Fields by which a claim is judged, given the number of each seed."""
UNCOMPARED_FIELDS = ("seeds", "measure", "quantity")
"""Fields of a verdict that are compared apart, or say only what its numbers are."""
_ROUNDING = 1e-9
"""Numbers that differ by less, relative to their size, are those of another machine."""
_ = FRAME_REGISTRIES["claim"]  # importing it is what makes the kinds of claims known


@dataclass(frozen=True)
class JudgedReport:
    """A report as it was judged last.

    Attributes:
        results: its tables.
        claims: its claims, resolved, by id.
        verdicts: by id.
        kept_rows: which rows the tables contain, see ``held_rows``.
    """

    results: Results
    claims: Mapping[str, Claim]
    verdicts: Mapping[str, Verdict]
    kept_rows: Sequence[Mapping[str, Json]]


@dataclass(frozen=True)
class JudgedClaims:
    """Verdicts of the present claims.

    Attributes:
        verdicts: in the order of the spec.
        carried: ids of unchanged claims that keep their verdict, as not all of their rows are in the tables.
    """

    verdicts: tuple[Verdict, ...]
    carried: tuple[str, ...]


def judge_again(
    claims: Sequence[Claim],
    matched: MatchedRuns,
    before: JudgedReport,
    located: Callable[[Issue], Issue],
    looks: LookBook | None = None,
) -> JudgedClaims:
    """Judge every claim whose rows are complete. Others keep their verdict, or are not testable if they changed.

    Each is judged at the level of its look. New looks are added to ``looks``.

    A verdict that differs from the last one by rounding alone, as between machines, stays the last one.
    """
    verdicts: dict[str, Verdict] = {}
    carried: list[str] = []
    # Claims about other verdicts come after those.
    for claim in sorted(claims, key=reads_verdicts):
        name: str = claim["id"]
        required = claim_selections(claim)
        last_verdict = before.verdicts.get(claim["id"])
        of_claim = results_of_claim(claim, matched.results)
        absent: list[Conditions] = []  # selections of which the data lack runs
        if matched.absent:
            absent = [selection for selection in required if _runs(of_claim, selection) & matched.absent]
        if absent:
            verdicts[name] = _untestable(claim, missing_rows_sentence(absent))
        elif all(
            are_covered([of_runs], kept)
            for selection in required
            for kept, of_runs in entries_of_runs(before.kept_rows, of_claim, selection)
        ):
            (verdict,) = judge_all([claim], matched.results, located, verdicts.values(), looks)
            if last_verdict is not None and equal_verdicts(last_verdict, verdict):  # only rounding is new
                verdict = replace(last_verdict, measure=verdict.measure, quantity=verdict.quantity)
            verdicts[name] = verdict
        elif last_verdict is None:
            verdicts[name] = _untestable(claim, missing_rows_sentence(required))
        else:
            same = _described_anew(last_verdict, claim)
            kept = _on_kept_numbers(claim, matched.results, before, looks)
            # The same words may have another test: at a later look, or by the rules of today. The reason is left out,
            # as it may tell of rows, and the numbers alone do not.
            holds = kept is None or equal_verdicts(same, replace(kept, reason=same.reason))
            if _unchanged(claim, matched.results, before) and holds:
                carried.append(name)
                measure = last_verdict.measure  # earlier reports do not state it, and the claim alone determines it
                if measure is None and claim["kind"] == "bound":
                    measure = "ratio" if claim.get("reduce") in RATIO_REDUCTIONS else "value"
                elif measure is None and registered[claim["kind"]].facts.measure != "value":
                    measure = registered[claim["kind"]].facts.measure
                quantity = required[0].get("quantity")
                quantity = quantity if isinstance(quantity, str) else None
                verdicts[name] = replace(same, measure=measure, quantity=quantity)
            else:
                verdicts[name] = kept or _untestable(claim, missing_rows_sentence(required))
    return JudgedClaims(tuple(verdicts[claim["id"]] for claim in claims), tuple(carried))


def _described_anew(last: Verdict, claim: Claim) -> Verdict:
    """The last verdict with the words of today's claim that do not decide it."""
    return replace(last, **{field: claim[field] for field in ("says", "primary", "role") if field in claim})


def verdict_follows(claim: Claim, results: Results, verdict: Verdict, known: Sequence[Verdict] = ()) -> bool:
    """Whether a verdict follows from these rows, and from the verdicts of other claims where it is about them.

    It was given at the first time of its look or at a later one, at which an undecided verdict asks for other seeds.
    """
    try:
        return any(
            equal_verdicts(judge_claim(claim, results, known, verdict.look, seen=seen), verdict)
            for seen in (False, True)
        )
    except LabError:
        return False


def equal_verdicts(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts have the same words, and the same numbers up to rounding."""
    if one.seeds.keys() != other.seeds.keys():
        return False
    names = [field.name for field in fields(Verdict) if field.name not in UNCOMPARED_FIELDS]
    pairs: list[tuple[Json, Json]] = [(getattr(one, name), getattr(other, name)) for name in names]
    pairs += [(one.seeds[seed], other.seeds[seed]) for seed in one.seeds]
    return all(
        math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING) or (math.isnan(a) and math.isnan(b))
        if isinstance(a, float) and isinstance(b, float)
        else a == b
        for a, b in pairs
    )


def _unchanged(claim: Claim, results: Results, before: JudgedReport, without: Collection[str] = ()) -> bool:
    """Whether a claim was judged before on the same runs, with the same fields except those in ``without``."""
    other = before.claims.get(claim["id"])
    if (
        other is None
        or claim["id"] not in before.verdicts
        or canonical(_decisive(claim, without)) != canonical(_decisive(other, without))
    ):
        return False
    today = results_of_claim(claim, results)
    then = results_of_claim(other, before.results)
    return all(_runs(today, selection) == _runs(then, selection) for selection in claim_selections(claim))


def _on_kept_numbers(claim: Claim, results: Results, before: JudgedReport, looks: LookBook | None) -> Verdict | None:
    """The verdict by the numbers that the last one holds, where the rows are those of before and only the test is new.

    An exact bound has no test: each sample keeps it or breaks it, at every look.
    """
    other, last = before.claims.get(claim["id"]), before.verdicts[claim["id"]]
    if other is None or not _unchanged(claim, results, before, without=TEST_FIELDS):
        return None
    criterion, seeds = claim_criterion(claim, results)
    number = looks.number(claim["id"], criterion, seeds) if looks is not None else last.look
    if claim.get("exact"):
        return _described_anew(last, claim)
    if not seeds:
        return None
    own = results_of_claim(claim, results)
    elsewhere = any(trained_elsewhere(runs_with(own, selection)) for selection in claim_selections(claim))
    finding = judge_kept_numbers(claim, last, len(seeds), number, elsewhere=elsewhere)
    if finding is None:
        return None
    if looks is not None and finding.tested:
        accepted = None if finding.about == "share" else (finding.region_low, finding.region_high)
        looks.record(claim["id"], criterion, seeds, number, finding.level, verdict=finding.verdict, accepted=accepted)
    return verdict_of(claim, finding, last.scope)


def _decisive(claim: Claim, without: Collection[str]) -> dict[str, Json]:
    return {key: value for key, value in claim.items() if key not in (*DESCRIPTIVE_FIELDS, *without)}


def _runs(results: Results, selection: Conditions) -> set[str]:
    try:
        return set(runs_with(results, selection)["run"])
    except NothingSelected:
        return set()


def _untestable(claim: Claim, reason: str) -> Verdict:
    return verdict_of(claim, Finding("not testable here", claim["kind"], reason), "none of these runs")
