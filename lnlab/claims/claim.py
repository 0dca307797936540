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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal

from lnlab.claims.candidates import require_equal_candidates
from lnlab.claims.looks import spent
from lnlab.claims.our_margin import side_of_range
from lnlab.claims.region import Region
from lnlab.claims.significance import ALPHA
from lnlab.claims.verdict_details import Detail, LawWord
from lnlab.claims.verdicts import Verdicts
from lnlab.errors import LabError
from lnlab.facts import Facts
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.plugins import building
from lnlab.registry import Flawed, Registry, supplied_parameters
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
        elsewhere: of settings that its selections pin, by path, at how many of their values that were run the word is
            the same, and at how many it was judged. A setting with one value is absent.
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
    elsewhere: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding(Ruling):
    """The outcome of one kind of claim.

    Attributes:
        tested: whether the numbers were judged at all. What leaves a claim undecided by rule, too few seeds for one, is
            no look at the data.
        unfit: whether its levels are too few or too close for any verdict, though each has its numbers.
    """

    tested: bool = False
    unfit: bool = False


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

    def __repr__(self) -> str:
        return str(Verdicts((self,)))

    def _repr_html_(self) -> str:
        return Verdicts((self,))._repr_html_()


def unknown(_: Mapping[str, Json]) -> None:
    """The value without an effect of a claim that has to state one."""


@dataclass(frozen=True)
class ClaimFacts(Facts):
    """What a kind of claim says of itself.

    Attributes:
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
    *("id", "says", "primary", "requires", "source", "published", "role", "because", "answered", "calibration"),
    *("seeds", "looks", "law", "larger_is", *CRITERION_FIELDS),
)
"""Fields of every claim, except where its kind has a parameter of that name. All others are parameters of its kind."""


def reads_verdicts(claim: Claim) -> bool:
    """Whether a claim is about the verdicts of other claims of its experiment."""
    return claim["kind"] in claims.entries and claims[claim["kind"]].facts.reads == "verdicts"


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
    claim: Claim,
    results: Results,
    verdicts: Sequence[Verdict] = (),
    look: int = 1,
    *,
    seen: bool = False,
    part: float = 1.0,
) -> Finding:
    """What the kind of a claim finds at a look, whatever the claim requires.

    Args:
        claim: the claim with its reference filled in.
        results: of the seeds that the claim names, as ``results_of_claim``.
        verdicts: of other claims of the experiment, for a claim that is about them.
        look: number of this look at the criterion.
        seen: whether this look has been before.
        part: of the level of this look, where several tests share it.

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
    require_equal_candidates(choice, results)
    facts = claims[choice["kind"]].facts
    criterion = criterion_of({**claim, **choice}, facts.about, look, names_law=facts.law, seen=seen)
    criterion = replace(criterion, level=criterion.level * part)
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
