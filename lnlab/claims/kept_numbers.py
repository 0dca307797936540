"""A verdict whose rows are gone, judged again by the number of each seed that it holds.

A report keeps the rows that its figures and claims need, and of every verdict the number of each seed. Where only the
level, the margin, the law or the estimand of a claim has changed, these numbers are all that judging it takes.
"""

from lnlab.claims.claim import Claim, Finding, Verdict, claims, stated_finding
from lnlab.claims.criterion import criterion_of
from lnlab.claims.region import declared_region, ratio_region
from lnlab.claims.sample import BY_RULE, N_INIT, N_TRAINED, Sample
from lnlab.claims.student import judge_sample
from lnlab.select.reductions import RATIO_REDUCTIONS

DIFFERENCES = ("difference", "interaction")
"""Kinds whose numbers may be negative, and without an effect are 0."""


def judge_kept_numbers(
    claim: Claim, last: Verdict, seeds: int, look: int, *, elsewhere: bool = False
) -> Finding | None:
    """The finding of a claim on the numbers of its last verdict, or None where they are not enough.

    They are enough for a claim with one number a seed (``ratio``, ``difference``, ``interaction``, ``bound``, without
    ``over`` or with ``reduce``) if every seed has one. The verdict does not record what became of the others.

    Args:
        claim: the resolved claim, with the selections of the last verdict.
        last: the verdict.
        seeds: how many seeds the claim is about.
        look: which look at its criterion it is.
        elsewhere: whether it reads runs that were trained outside lnlab.
    """
    reduced = claim.get("over") is None or claim.get("reduce") is not None
    plain = (
        claim["kind"] in ("bound", "ratio", *DIFFERENCES)
        and reduced
        and not claim.get("each")
        and not claim.get("requires")
    )
    if not plain or claim.get("probability") is not None or len(last.seeds) != seeds or last.measure == "share":
        return None
    facts = claims[claim["kind"]].facts
    criterion = criterion_of(claim, facts.about, look, names_law=facts.law)
    log = claim.get("scale", "log") == "log" and claim["kind"] not in DIFFERENCES
    between, at_least, at_most = (claim.get(word) for word in ("between", "at_least", "at_most"))
    if claim["kind"] == "ratio":
        allowed = ratio_region(between, at_least, at_most, claim.get("equals"), claim.get("factor") or 1.25)
    else:
        allowed = declared_region(between, at_least, at_most, positive=log)
    ratio = claim["kind"] == "ratio" or claim.get("reduce") in RATIO_REDUCTIONS
    # The verdict does not say whether its numbers were measured at init. They were where it was judged on fewer seeds
    # than training asks for (else that rule is its reason); with as many seeds or more the rule makes no difference.
    at_init = N_INIT <= len(last.seeds) < N_TRAINED and BY_RULE not in last.reason
    sample = Sample(dict(last.seeds), log=log, trained=elsewhere or not at_init)
    null = criterion.null(facts.no_effect(claim), allowed, ratio=ratio)
    finding = judge_sample(last.statistic, sample, allowed, None, criterion, null)
    return stated_finding(finding, claim, criterion, look)
