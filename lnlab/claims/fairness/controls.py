"""Whether what a sentence is about exists in these runs: something to be cured, and arms that learn."""

import math
from collections.abc import Callable
from statistics import median

import polars as pl

from lnlab.analyse.quantities.training import final_losses, recorded_curve
from lnlab.claims.claim import Claim, Finding
from lnlab.claims.claim_scope import selections_of_claim
from lnlab.claims.order_chain import parse_order
from lnlab.claims.region import number_text
from lnlab.errors import LabError
from lnlab.select.quantity import quantity_fact
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions
from lnlab.select.settings import settings_of
from lnlab.specfile.columns import LAST, METHOD
from lnlab.specfile.values import value_label
from lnlab.tables import Results

LEARNS_BY = 0.1
"""How far, in the unit of the loss, a run has to end below the entropy of single tokens to have learned anything."""
Judge = Callable[[Claim, float], Finding | None]
"""``(claim, part) -> finding``: judged on the same seeds at a part of the level, or None where it cannot be."""


def nothing_to_cure(claim: Claim, finding: Finding, judge: Judge) -> str:
    """Why no remedy could have the effect that a claim asks of one at the end of training, or "".

    That is a reduction to one m-th of what another method has at the end, where that method itself ends at less than m
    times its own number before any update. A reduction that was found all the same speaks for itself.
    """
    of, to, edges = claim.get("of") or {}, claim.get("to") or {}, (finding.region_low, finding.region_high)
    asks = claim["kind"] == "ratio" and of.get("step") == LAST and "step" not in to and METHOD in to
    if not asks or claim.get("over") or claim.get("each") or finding.verdict == "supported":
        return ""
    low, high = edges
    if high is not None and low is None and 0 < high < 1:
        factor, baseline = 1 / high, {**of, **to}
    elif low is not None and high is None and low > 1:
        factor, baseline = low, of
    else:
        return ""
    common = {word: claim[word] for word in ("id", "seeds", "looks", "finish") if claim.get(word) is not None}
    growth = {**common, "kind": "ratio", "of": baseline, "to": {"step": 0}, "at_least": factor}
    found = judge(growth, 1.0)
    if found is None or found.estimate is None or found.high is None or found.low is None or found.high >= factor:
        return ""
    numbers = f"{number_text(found.estimate)} [{number_text(found.low)}, {number_text(found.high)}]"
    return (
        f"nothing is there to be cured: without the remedy ({baseline[METHOD]}) it ends at {numbers} times its number "
        f"before training, and a {number_text(factor)}-fold reduction is asked; runs in which it grows more are missing"
    )


def learns_at_few_rates(claim: Claim, results: Results) -> str:
    """Why a number over a grid of rates says nothing, as an arm learns nothing at most of the rates, or ""."""
    of = claim.get("of") or {}
    if not quantity_fact(of, "of_learning") or not (path := quantity_fact(of, "over")):
        return ""
    gains = results.once("learned below the entropy of single tokens", _gains)
    for arm in _arms(claim):
        try:
            runs = Selected(results, arm).runs
        except LabError:
            continue
        rates = runs.select("run", "variant").join(settings_of(results).numbers(path), on="variant")
        by_rate = rates.join(gains, on="run").group_by("number").agg("value").sort("number")
        idle = [rate for rate, values in by_rate.iter_rows() if median(values) < LEARNS_BY]
        if len(by_rate) > 2 and 2 * len(idle) > len(by_rate):
            told_by = [key for key in (METHOD, str(claim.get("over"))) if key in arm]
            name = value_label(arm[told_by[0]]) if told_by else "an arm"
            return (
                f"{name} learns nothing at {len(idle)} of {len(by_rate)} rates, where it ends less than {LEARNS_BY:g} "
                "below the entropy of single tokens; a grid at most of whose rates it learns is missing"
            )
    return ""


def _arms(claim: Claim) -> list[Conditions]:
    """The selections of a claim, of an order one for each value that it names."""
    levels = parse_order(claim["order"])[0] if claim.get("order") else []
    sides = selections_of_claim(claim)
    return [{**side, str(claim["over"]): level} for side in sides for level in levels] if levels else list(sides)


def _gains(results: Results) -> pl.DataFrame:
    """``run value``: how far each run ends below the entropy of single tokens, minus infinity where it diverged."""
    entropy = recorded_curve(results, "unigram_entropy", "train").group_by("run", maintain_order=True).first()
    losses = final_losses(results).select("run", loss="value")
    joined = losses.join(entropy.select("run", entropy="value"), on="run")
    return joined.select("run", value=pl.col("entropy") - pl.col("loss").fill_nan(math.inf))
