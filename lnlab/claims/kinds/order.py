"""``a < b <= c ~ d``: contrasts of neighbours within the seed, all of which must hold (Berger, 1982; Holm, 1979).

On the log scale a contrast is a/b, else a - b. ``<`` asks that the interval lies below 1 (below 0), and ``<=`` below
the margin. ``~`` asks that it lies within the margin on both sides. The claim is contradicted if one contrast is wholly
wrong after Holm.
"""

import math
from dataclasses import replace
from typing import Literal

from lnlab.claims.bounded import is_fraction, is_rate
from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.order_chain import parse_order
from lnlab.claims.region import Region
from lnlab.claims.sample import N_TRAINED, contrast_sample
from lnlab.keys import Json
from lnlab.select.reductions import Reduction
from lnlab.select.series import select_series
from lnlab.tables import Results

RELATIVE_MARGIN, NATS_MARGIN = 0.02, 0.05  # default margins: at init, relative; trained, nats per token


@claims.register(
    "order",
    levels=lambda claim: parse_order(claim["order"])[0],
    # A lead by a margin is measured from a ratio of 1 or a difference of 0; without a scale the rows say from which.
    no_effect=lambda claim: None if claim.get("scale") is None else 1.0 if claim["scale"] == "log" else 0.0,
)
def order(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    over: str,
    order: str,
    along: str | None = None,
    reduce: Reduction | None = None,
    scale: Literal["log", "linear"] | None = None,
    delta: float | None = None,
) -> Finding:
    """``a < b <= c ~ d``: values of ``over`` in the order of their numbers, neighbours paired by seed (Holm, 1979).

    ``order`` writes it down: ``pre < post``. Where each has several numbers, one a layer say, ``reduce`` makes one of
    them ``along`` that column or path. ``scale`` is by default log at init and for learning rates of a grid, and linear
    where training went before; ``delta``, the margin of ``<=`` and ``~``, 0.02 (relative) or 0.05 (of the unit). A
    negative one asks ``<=`` for a lead, which with ``margin: ours`` is measured from no difference.
    Trained values are compared where each finishes; with ``about: median`` or ``share`` a failed seed ranks as the
    largest number.
    """
    names, relations = parse_order(order)
    observed = [select_series(results, {**of, over: name}, along, reduce) for name in names]
    usual = "linear" if any(s.trained for s in observed) and not is_rate(of) else "log"
    log = (scale or usual) == "log"
    margin = (RELATIVE_MARGIN if log else NATS_MARGIN) if delta is None else delta
    bounds = (-1.0, 1.0) if not log and is_fraction(of, reduce) else None
    members = []
    for i, relation in enumerate(relations):
        sides = (f"{over} {names[i]}", f"{over} {names[i + 1]}")
        sample = contrast_sample(
            observed[i],
            observed[i + 1],
            log=log,
            names=sides,
            bounds=bounds,
            ranks_zeros=criterion.about != "mean",
        )
        statistic = f"{f'{reduce} of ' if reduce else ''}{names[i]} {'/' if log else '-'} {names[i + 1]}"
        allowed = contrast_region(relation, margin, log=log)
        # Without a lead there is no margin to miss: the value without a difference is the edge.
        of_edge = replace(criterion, zone=None) if relation == "<" else criterion
        null = of_edge.null(1.0 if log else 0.0, allowed, ratio=log)
        members.append(Member(statistic, sample, allowed, null=null))
    if relations == ["~"] and criterion.law is None:
        criterion = replace(criterion, law=1.0 if log else 0.0)
    finding = intersection_union(members, N_TRAINED, criterion)
    return replace(finding, law=criterion.law, measure=finding.measure or ("ratio" if log else "difference"))


def contrast_region(relation: str, margin: float, *, log: bool) -> Region:
    """Where a/b (or a - b) must lie for ``a relation b``."""
    null, edge = (1.0, 1 + margin) if log else (0.0, margin)
    if relation == "<":
        # Strictly below: an interval that touches the value without a difference shows no order.
        return Region(high=math.nextafter(null, -math.inf))
    if relation == "<=":
        return Region(high=edge)
    return Region(1 / edge if log else -edge, edge)
