"""A claim is a sentence, a selection of rows, a test and its region. A verdict is what the rows say about it.

    supported: the interval over seeds lies in the region
    contradicted: the interval is disjoint from the region
    smaller: the effect is smaller than a margin of ours, and the sentence itself is not contradicted
    beyond: the interval is disjoint from a region of ours that asks for no effect
    undecided: none of these, or too few seeds
    not testable here: what the claim requires does not hold
    ill-posed: the rows have no single number for it per seed, or its declaration cannot be judged

Nothing here needs scipy, so that stored verdicts print at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal

from lnlab.claims.claim_scope import claim_scope, results_of_claim, variants_of_claim, with_compared_reference
from lnlab.claims.criterion_digest import claim_criterion
from lnlab.claims.look_book import LookBook
from lnlab.claims.looks import spent
from lnlab.claims.our_margin import side_of_range
from lnlab.claims.region import Region
from lnlab.claims.significance import ALPHA
from lnlab.claims.verdict_details import Detail, LawWord
from lnlab.claims.verdict_text import further_seeds
from lnlab.claims.verdicts import Verdicts
from lnlab.errors import LabError
from lnlab.facts import Facts
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.plugins import building
from lnlab.registry import Flawed, Registry, supplied_parameters
from lnlab.select.settings import NothingSelected
from lnlab.specfile.comparisons import flaws_of_comparison
from lnlab.specfile.experiment import CRITERION_FIELDS, About, MarginOwner, Role, VerdictWord
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.claims.criterion import Criterion

Claim = Mapping[str, Json]
VerdictLabel = VerdictWord
Measure = Literal["value", "difference", "ratio", "exponent", "share", "steps", "edges"]
"""What the numbers of a verdict are: in the unit of their quantity (``value``, ``difference``), or without one: ratios,
exponents, shares of seeds, steps of a grid of learning rates, and edges of a causal graph."""


@dataclass(frozen=True)
class Ruling:
    """What the rows say of a claim: the fields that a finding and a verdict share.

    Attributes:
        verdict: supported, contradicted, smaller, beyond, undecided, not testable here, ill-posed.
        statistic: what was estimated.
        reason: what decided, in words.
        estimate: over seeds (a geometric mean on the log scale), or None.
        low: lower end of the deciding interval, at ``level``, or None.
        high: upper end of the deciding interval, or None.
        region_low: lower edge of the declared region. None means unbounded.
        region_high: upper edge of the declared region. None means unbounded.
        n: seeds judged.
        inside: seeds inside the region.
        seeds: each seed's number.
        measure: what its numbers are. None means that it was stored before verdicts had a measure.
        detail: what a verdict on a margin of ours says beyond its word, or None.
        law: the value that the sentence names, or None.
        law_word: whether the interval holds it, or None where nothing could be said.
        look: how many times it has been judged, on growing sets of seeds or by another criterion on these.
        level: two-sided level of the deciding interval, which covers with probability 1 - level.
        bound: probability of either wrong word that all looks together may spend.
        margin: whose the accepted range is.
        about: what of the distribution over seeds is judged, or None where that is no question.
    """

    verdict: VerdictLabel
    statistic: str
    reason: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    region_low: float | None = None
    region_high: float | None = None
    n: int = 0
    inside: int = 0
    seeds: Mapping[int, float] = field(default_factory=dict)
    measure: Measure | None = None
    detail: Detail | None = None
    law: float | None = None
    law_word: LawWord | None = None
    look: int = 1
    level: float = ALPHA
    bound: float = ALPHA
    margin: MarginOwner = "source"
    about: About | None = None


@dataclass(frozen=True)
class Finding(Ruling):
    """The outcome of one kind of claim.

    Attributes:
        tested: whether the numbers were judged at all. What leaves a claim undecided by rule, too few seeds for one, is
            no look at the data.
    """

    tested: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict(Ruling):
    """A claim, judged: the columns of the table ``verdicts`` but the digest of its rows.

    Attributes:
        claim: its id.
        kind: its kind.
        says: the claim as a sentence.
        primary: whether it counts in the headline.
        role: ``source``, ``alternative`` (a competing reading), ``prediction`` (our own), or ``control``.
        scope: sizes, corpus, steps, seeds.
        quantity: the quantity that its numbers are of, or None.
    """

    claim: str
    kind: str
    says: str
    primary: bool
    role: Role
    scope: str
    quantity: str | None = None

    def _repr_html_(self) -> str:
        return Verdicts((self,))._repr_html_()


def unknown(_: Mapping[str, Json]) -> None:
    """The value without an effect of a claim that has to state one."""


@dataclass(frozen=True)
class ClaimFacts(Facts):
    """What a kind of claim says of itself.

    Attributes:
        several: whether it takes more than one number per seed.
        measure: what its numbers are, where a finding does not say otherwise.
        reads: what it judges. ``rows``: measured rows, by its selections. ``reports``: verdicts of other reports, which
            its parameter ``evidence`` cites. ``verdicts``: verdicts of other claims of its experiment, which a builder
            is supplied with.
        levels: ``claim -> values``: the values of ``over`` that its ``order`` names. No others are read. None means
            that all are read.
        about: the properties of the distribution over seeds that it can be judged about. The first is the default. An
            empty tuple means none, and no level.
        law: whether a sentence can name a value on the scale of its statistic.
        margin: whether its accepted range can be ours.
        no_effect: ``claim -> value`` without an effect, from which a margin of ours is measured. A value of None means
            that the claim has to state it, or asks for none.
    """

    several: bool = False
    measure: Measure = "value"
    reads: Literal["rows", "reports", "verdicts"] = "rows"
    levels: Callable[[Mapping[str, Json]], list[Json]] | None = None
    about: tuple[About, ...] = ("mean", "median", "share")
    law: bool = True
    margin: bool = True
    no_effect: Callable[[Mapping[str, Json]], float | None] = unknown


claims: Registry[Callable[..., Finding]] = Registry("claim", ClaimFacts)
"""Builders ``(results: Results, *, of, over, ...) -> Finding``. ``judge`` adds the common fields.

A claim about other claims is supplied with ``verdicts``, a sequence, in place of ``results``.
"""
_COMMON_FIELDS = (
    *("id", "says", "primary", "requires", "source", "published", "role", "because", "calibration", "seeds"),
    *("looks", "law", "larger_is", *CRITERION_FIELDS),
)
"""Fields of every claim, except where its kind has a parameter of that name. All others are parameters of its kind."""


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
    in_order = list(declared)
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
            finding = _with_runs(judged, finding, own_results)
            if finding.tested and seeds:  # what a rule leaves undecided was no look at the data
                accepted = finding.region_low, finding.region_high
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
        return number, f"{n} seeds; the next declared look is at {following}"
    return max(number, sizes.index(n) + 1), ""


def reads_verdicts(claim: Claim) -> bool:
    """Whether a claim is about the verdicts of other claims of its experiment."""
    return claim["kind"] in claims.entries and claims[claim["kind"]].facts.reads == "verdicts"


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
    where = f"claims.{claim['id']}"
    return verdict_of(*_judged_at(where, claim, results_of_claim(claim, results), verdicts, look, seen=seen))


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
            finding = _unmet_requirement(claim, results, look, seen=seen)
            finding = finding or finding_of(claim, results, verdicts, look, seen=seen)
            scope_text = claim_scope(claim, results, finding.n)
        except NothingSelected as error:
            reason = "; ".join(map(str, error.issues))
            finding = Finding("not testable here", claim["kind"], reason)
            scope_text = "none of these runs"
        # A margin set on pilot seeds is judged on others.
        pilot = set((claim.get("calibration") or {}).get("seeds") or ())
        if overlap := sorted(pilot & set(finding.seeds)):
            what = f"seeds {', '.join(map(str, overlap))} set the margin and are judged by it"
            raise LabError(Issue("conflict", "calibration.seeds", what, "judge other seeds, as with of: {seed: [...]}"))
        return claim, finding, scope_text
    except LabError as error:
        raise LabError(
            *(Issue(p.code, f"{where}.{p.where}".rstrip("."), p.what, p.remedy) for p in error.issues)
        ) from error


def _with_runs(claim: Claim, finding: Finding, results: Results) -> Finding:
    """An undecided finding that says how many runs would decide. No time, as that would differ between machines."""
    if finding.verdict != "undecided" or (seeds := further_seeds(finding.reason)) is None:
        return finding
    runs = seeds * variants_of_claim(claim, results).len()
    return replace(finding, reason=f"{finding.reason}; that takes {runs:,} run{'' if runs == 1 else 's'}")


def verdict_of(claim: Claim, finding: Finding, scope_text: str) -> Verdict:
    """A finding about a claim with the scope in words, as a verdict."""
    quantity = (claim.get("of") or {}).get("quantity")
    return Verdict(
        claim=claim["id"],
        kind=claim["kind"],
        says=claim.get("says", ""),
        primary=claim.get("primary", False),
        role=claim.get("role") or "prediction",
        scope=scope_text,
        quantity=quantity if isinstance(quantity, str) else None,
        **{f.name: getattr(finding, f.name) for f in fields(Ruling)},
    )


def finding_of(
    claim: Claim, results: Results, verdicts: Sequence[Verdict] = (), look: int = 1, *, seen: bool = False
) -> Finding:
    """What the kind of a claim finds at a look, whatever the claim requires.

    Args:
        claim: the claim with its reference filled in.
        results: of the seeds that the claim names, as ``results_of_claim``.
        verdicts: of other claims of the experiment, for a claim that is about them.
        look: number of this look at the criterion.
        seen: whether this look has been before.

    Raises:
        LabError: its parameters are wrong, or no rows could answer it.
    """
    from lnlab.claims.criterion import criterion_of  # late: it imports scipy, which stored verdicts do without

    entry = claims.entries.get(claim["kind"])
    own = entry.keywords if entry is not None else {}
    try:
        choice = claims.resolve({key: value for key, value in claim.items() if key in own or key not in _COMMON_FIELDS})
    except Flawed as error:
        raise LabError(*(Issue(f.code, ".".join(map(str, f.path)), f.what, f.remedy) for f in error.issues)) from error
    if flaws := list(flaws_of_comparison(choice)):
        raise LabError(*(replace(flaw, place=".".join(map(str, flaw.path))) for flaw in flaws))
    facts = claims[choice["kind"]].facts
    criterion = criterion_of({**claim, **choice}, facts.about, look, names_law=facts.law, seen=seen)
    supplied = {"results": results, "verdicts": verdicts, "criterion": criterion}
    names = supplied_parameters(claims[choice["kind"]].build)
    with building("claim", choice["kind"], claims[choice["kind"]].origin):
        finding = claims.builder(choice)(*(supplied[name] for name in names))
        if not isinstance(finding, Finding):
            raise TypeError(f"it returned {type(finding).__name__}, and no Finding")
    return stated_finding(finding, claim, criterion, look)


def stated_finding(finding: Finding, claim: Claim, criterion: "Criterion", look: int) -> Finding:
    """A finding with its look and level filled in, and what the claim declares: law, margin and estimand."""
    facts = claims[claim["kind"]].facts
    finding = replace(finding, measure=finding.measure or facts.measure)
    if criterion.margin == "ours" and finding.verdict == "contradicted" and finding.detail is None:
        # Of an exact bound only the worst of all samples is known.
        ends = (finding.low, finding.high) if finding.low is not None else (finding.estimate, finding.estimate)
        region = Region(finding.region_low, finding.region_high)
        finding = replace(finding, verdict="beyond", detail=side_of_range(claim, ends, region, finding.measure))
    return replace(
        finding,
        law=criterion.law if finding.law is None else finding.law,
        look=look,
        level=criterion.level,
        bound=spent(look, claim.get("looks") or 1),
        margin=criterion.margin,
        about=criterion.about if facts.about else None,
    )


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
