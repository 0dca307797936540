"""Judging claims: each on its own seeds, at the level of its look, where what it requires holds.

A verdict is the same wherever a claim is judged: in a store, from the tables of a report, or in Python.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lnlab.claims.claim import Claim, Finding, Verdict, finding_of, reads_verdicts, verdict_of
from lnlab.claims.claim_scope import claim_scope, results_of_claim, variants_of_claim, with_compared_reference
from lnlab.claims.criterion_digest import claim_criterion
from lnlab.claims.fairness.ruling import fair_finding
from lnlab.claims.look_book import LookBook
from lnlab.claims.thinned import thinned_finding
from lnlab.claims.verdict_text import further_seeds
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.seed_words import seeds_called, seeds_word
from lnlab.select.series import clusters_of
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

_OF_A_MEAN = ("ratio", "difference", "bound", "interaction")
"""Claims that are judged by an interval of a mean, which takes clusters of replicates into account."""


def judge_all(
    declared: Iterable[Claim],
    results: Results,
    locate: Callable[[Issue], Issue] = lambda problem: problem,
    known: Iterable[Verdict] = (),
    looks: LookBook | None = None,
) -> list[Verdict]:
    """The verdicts of claims, in order. A claim that no rows could answer is ill-posed and stops no other.

    Args:
        declared: claims, as for ``judge_claim``. Those about verdicts of others are judged last.
        results: what the experiment measured.
        locate: puts the file, line and column in front of where a problem lies.
        known: verdicts of other claims of the experiment.
        looks: the looks so far. Those of today are added. None means that every look is the first.
    """
    with seeds_called(results.runs):
        return _judged(list(declared), results, locate, known, looks)


def _judged(
    in_order: Sequence[Claim],
    results: Results,
    locate: Callable[[Issue], Issue],
    known: Iterable[Verdict],
    looks: LookBook | None,
) -> list[Verdict]:
    verdicts = {verdict.claim: verdict for verdict in known}
    # Claims about verdicts of others come last: False is before True.
    for claim in sorted(in_order, key=reads_verdicts):
        try:
            others = list(verdicts.values())
            if looks is None:
                verdicts[claim["id"]] = judge_claim(claim, results, others)
                continue
            criterion, seeds = claim_criterion(claim, results)
            number, too_early = declared_look(claim, len(seeds), looks.number(claim["id"], criterion, seeds))
            own_results = results_of_claim(claim, results)
            seen = looks.seen(claim["id"], criterion, seeds)
            where = f"claims.{claim['id']}"
            judged, finding, scope = _judged_at(where, claim, own_results, others, number, seen=seen)
            if too_early and finding.tested:
                finding = replace(
                    finding, verdict="undecided", detail=None, law_word=None, reason=too_early, tested=False
                )
            finding = _fair(claim, finding, own_results, number, seen=seen)
            finding = _with_runs(judged, finding, own_results)
            if finding.tested and seeds:  # what a rule leaves undecided was no look at the data
                # That of a share is how many seeds must be in the range, and no range of numbers.
                accepted = None if finding.about == "share" else (finding.region_low, finding.region_high)
                looks.record(
                    claim["id"], criterion, seeds, number, finding.level, verdict=finding.verdict, accepted=accepted
                )
            verdicts[claim["id"]] = verdict_of(judged, finding, scope)
        except LabError as error:
            reason = "; ".join(str(locate(problem)) for problem in error.issues)
            verdicts[claim["id"]] = verdict_of(claim, Finding("ill-posed", claim["kind"], reason), "")
    return [verdicts[claim["id"]] for claim in in_order]


def declared_look(claim: Claim, n: int, number: int) -> tuple[int, str]:
    """The number of a look, and why it is too early for one, or "".

    A declared size that was skipped counts as looked at.

    Args:
        claim: its ``looks`` may declare the numbers of seeds at which it is judged.
        n: seeds judged now.
        number: number of the look as the book counts it. It holds where no sizes are declared.
    """
    sizes = claim.get("looks")
    if not isinstance(sizes, list | tuple):
        return number, ""
    # One look more than declared, which ``level`` refuses.
    if n > sizes[-1]:
        return len(sizes) + 1, ""
    if n not in sizes:
        following = next(size for size in sizes if size > n)
        return number, f"{n} {seeds_word()}; the next declared look is at {following}"
    return max(number, sizes.index(n) + 1), ""


def judge_claim(
    claim: Claim, results: Results, verdicts: Sequence[Verdict] = (), look: int = 1, *, seen: bool = False
) -> Verdict:
    """The verdict of one claim.

    Args:
        claim: the common fields and the parameters of its kind, resolved or not.
        results: what the experiment measured.
        verdicts: of other claims of the experiment, for a claim that is about them.
        look: number of this look at the criterion, which sets its level.
        seen: whether this look has been before. The reason then names the seeds of the next one.

    Raises:
        LabError: no rows could answer it, its calibration seeds are judged, or fewer looks were declared.
    """
    where, own_results = f"claims.{claim['id']}", results_of_claim(claim, results)
    judged, finding, scope = _judged_at(where, claim, own_results, verdicts, look, seen=seen)
    return verdict_of(judged, _fair(claim, finding, own_results, look, seen=seen), scope)


def _fair(claim: Claim, finding: Finding, results: Results, look: int, *, seen: bool) -> Finding:
    """The finding of a claim after its controls and the other settings of the experiment were asked."""

    def elsewhere(other: Claim, part: float) -> Finding | None:
        try:
            complete = with_compared_reference(other)
            unmet = _unmet_requirement(complete, results, look, seen=seen)
            return unmet or finding_of(complete, results, (), look, seen=seen, part=part)
        except LabError:  # nothing was run there, or it leaves several numbers a seed
            return None

    return fair_finding(claim, results, finding, elsewhere)


def _judged_at(
    where: str, claim: Claim, results: Results, verdicts: Sequence[Verdict], look: int, *, seen: bool = False
) -> tuple[Claim, Finding, str]:
    """Judge a claim, or a test that a claim requires.

    Args:
        where: its path in the spec, with which the places of all issues begin.
        claim: the claim, or the test as a claim.
        results: results of the seeds that the claim names, as from ``results_of_claim``. A test has the seeds of its
            claim.
        verdicts: of other claims of the experiment, for a claim that is about them.
        look: number of this look at the criterion.
        seen: whether this look has been before.

    Returns:
        The claim with its reference filled in, its finding, and its scope in words.

    Raises:
        LabError: as ``judge_claim``, at paths below ``where``.
    """
    try:
        claim = with_compared_reference(claim)
        try:
            finding = _without_clusters(claim, results) or thinned_finding(claim, results)
            finding = finding or _unmet_requirement(claim, results, look, seen=seen)
            finding = finding or finding_of(claim, results, verdicts, look, seen=seen)
            scope_text = claim_scope(claim, results, finding.n)
        except NothingSelected as error:
            reason = "; ".join(map(str, error.issues))
            finding = Finding("not testable here", claim["kind"], reason)
            scope_text = "none of these runs"
        # A margin set on pilot seeds is judged on others.
        pilot = set((claim.get("calibration") or {}).get("seeds") or ())
        if overlap := sorted(pilot & set(finding.seeds)):
            what = f"{seeds_word()} {', '.join(map(str, overlap))} set the margin and are judged by it"
            raise LabError(Issue("conflict", "calibration.seeds", what, "judge other seeds, as with of: {seed: [...]}"))
        return claim, finding, scope_text
    except LabError as error:
        raise LabError(
            *(Issue(p.code, f"{where}.{p.where}".rstrip("."), p.what, p.remedy) for p in error.issues)
        ) from error


def _without_clusters(claim: Claim, results: Results) -> Finding | None:
    """The finding of a claim that cannot take clusters of replicates into account, where there are some."""
    if claim["kind"] in _OF_A_MEAN or not clusters_of(results.runs):
        return None
    what = f"replicates stand in clusters, and a claim of kind {claim['kind']} takes them as independent"
    return Finding("not testable here", claim["kind"], f"{what}; use {', '.join(_OF_A_MEAN)}")


def _with_runs(claim: Claim, finding: Finding, results: Results) -> Finding:
    """An undecided finding that says how many runs would decide. No time, as that would differ between machines."""
    if finding.verdict != "undecided" or (seeds := further_seeds(finding.reason)) is None:
        return finding
    runs = seeds * variants_of_claim(claim, results).len()
    return replace(finding, reason=f"{finding.reason}; that takes {runs:,} run{'' if runs == 1 else 's'}")


def _unmet_requirement(claim: Claim, results: Results, look: int, *, seen: bool) -> Finding | None:
    """Return the finding of a claim whose requirements do not all hold, or None.

    ``results`` are those of the claim's seeds: its requirements are judged on the same.
    """
    for number, required in enumerate(claim.get("requires") or (), 1):
        test = {"id": claim["id"], "looks": claim.get("looks"), **required}
        verdict = verdict_of(*_judged_at(f"requires.{number - 1}", test, results, (), look, seen=seen))
        reason = (
            f"requirement {number} ({required.get('says') or required['kind']}) is {verdict.verdict}: {verdict.reason}"
        )
        if verdict.verdict in ("contradicted", "smaller", "beyond", "not testable here"):
            return Finding("not testable here", verdict.statistic, reason)
        if verdict.verdict == "undecided":
            return Finding("undecided", verdict.statistic, reason)
    return None
