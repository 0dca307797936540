"""A comparison of final losses with each arm at the best of the rates it was run at."""

import json
import math
from collections.abc import Mapping

from lnlab.claims.claim import Claim
from lnlab.claims.fairness.elsewhere import is_number, levels_of_axis, sides_of
from lnlab.claims.kinds.order import NATS_MARGIN, RELATIVE_MARGIN, contrast_region
from lnlab.claims.order_chain import parse_order
from lnlab.claims.sample import one_number_per_seed
from lnlab.errors import LabError
from lnlab.keys import Json, canonical
from lnlab.select.selection import selections_by_word
from lnlab.select.series import select_series
from lnlab.specfile.columns import COLUMNS, TIMES
from lnlab.tables import Results

RATE = "optimizer.lr"
_LOSSES = ("final_nll", "best_nll")
_OF_ORDERS = ("over", "order", "scale", "delta", "along", "reduce")
"""Fields of an order that a contrast of two does not have."""


def at_best_rates(claim: Claim, results: Results) -> tuple[Claim, tuple[Json, ...]] | None:
    """A comparison of final losses with each arm at its best rate of these runs, and the rates, or None.

    The best has the lowest mean over the judged seeds. Arms that were run at different numbers of rates are not
    compared so, as the best of more is lower by chance alone.
    """
    of = claim.get("of") or {}
    path = next((path for path in (TIMES, RATE) if is_number(of.get(path))), None)
    if (
        path is None
        or of.get("quantity") not in _LOSSES
        or any(s.get(path, of[path]) != of[path] for s in sides_of(claim))
    ):
        return None
    compared = _as_difference(claim)
    if compared is None:
        return None
    rates = list(levels_of_axis(results, path))
    best: dict[str, Json] = {}
    counts = set()
    for word, selection in selections_by_word(compared).items():
        means = {canonical(rate): _mean_loss(results, {**selection, path: rate}) for rate in rates}
        run = {text: mean for text, mean in means.items() if mean is not None}
        if len(run) < 2:
            return None
        counts.add(len(run))
        best[word] = json.loads(min(run, key=run.__getitem__))
    if len(counts) > 1 or all(rate == of[path] for rate in best.values()):
        return None
    arms = {word: {**(compared.get(word) or {}), path: rate} for word, rate in best.items()}
    return {**compared, **arms}, tuple(best.values())


def _as_difference(claim: Claim) -> Claim | None:
    """The claim as one whose arms can have different rates each: an order of two becomes a contrast with its edges."""
    if claim["kind"] in ("difference", "interaction"):
        return claim if not claim.get("over") else None
    over = claim.get("over")
    if claim["kind"] != "order" or not isinstance(over, str) or over in COLUMNS or claim.get("along"):
        return None
    names, relations = parse_order(claim["order"])
    if len(relations) != 1:
        return None
    log = claim.get("scale") == "log"
    usual = RELATIVE_MARGIN if log else NATS_MARGIN
    allowed = contrast_region(relations[0], usual if claim.get("delta") is None else claim["delta"], log=log)
    low, high = allowed.low, allowed.high
    edges = {"at_most": high} if low is None else {"between": (low, high)}
    common = {key: value for key, value in claim.items() if key not in _OF_ORDERS}
    kind = "ratio" if log else "difference"
    return {**common, "kind": kind, "of": {**claim["of"], over: names[0]}, "to": {over: names[1]}, **edges}


def _mean_loss(results: Results, selection: Mapping[str, Json]) -> float | None:
    """The mean over seeds, infinite where one failed, or None where nothing was run or is missing."""
    try:
        series = select_series(results, selection)
        numbers = [number for number in one_number_per_seed(series).values() if number is not None]
    except LabError:
        return None
    if series.pending or not (numbers or series.failed):
        return None
    return math.inf if series.failed else math.fsum(numbers) / len(numbers)
