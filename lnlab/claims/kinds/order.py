"""``a < b <= c ~ d``: contrasts of neighbours within the seed, all of which must hold (Berger, 1982; Holm, 1979).

On the log scale a contrast is a/b, else a - b. ``<``: the interval lies below 1 (below 0); ``<=``: below the margin;
``~``: within the margin on both sides. Contradicted if one is wholly wrong after Holm.
"""

import math
from dataclasses import replace
from typing import Literal

from lnlab.analyse.select.reductions import Reduction
from lnlab.analyse.select.series import SeedSeries, select_series
from lnlab.claims.claim import Finding, claims
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.order_chain import parse_order
from lnlab.claims.region import Region
from lnlab.claims.sample import N_TRAINED, contrast_sample
from lnlab.keys import Json
from lnlab.tables import Results

RELATIVE_MARGIN, NATS_MARGIN = 0.02, 0.05  # default margins: at init, relative; trained, nats per token


@claims.register("order", levels=lambda claim: parse_order(claim["order"])[0], no_effect=lambda _: None)
def order(
    results: Results,
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
    them ``along`` that column or path. ``scale`` is by default log at init and linear where training went before;
    ``delta``, the margin of ``<=`` and ``~``, 0.02 (relative) or 0.05 (of the unit). Where more than 20 % of the seeds
    of one value failed, the paired sign test is used, a failure ranking as the largest number.
    """
    names, relations = parse_order(order)
    observed = [select_series(results, {**of, over: name}, along, reduce) for name in names]
    log = (scale or ("linear" if any(s.trained for s in observed) else "log")) == "log"
    margin = (RELATIVE_MARGIN if log else NATS_MARGIN) if delta is None else delta
    members = [_member(names, relations, observed, i, margin, log=log) for i in range(len(relations))]
    if reduce is not None:
        members = [replace(member, statistic=f"{reduce} of {member.statistic}") for member in members]
    finding = intersection_union(members, N_TRAINED)
    return replace(finding, measure=finding.measure or ("ratio" if log else "difference"))


def contrast_region(relation: str, margin: float, *, log: bool) -> Region:
    """Where a/b (or a - b) must lie for ``a relation b``."""
    null, edge = (1.0, 1 + margin) if log else (0.0, margin)
    if relation == "<":
        return Region(high=math.nextafter(null, -math.inf))
    if relation == "<=":
        return Region(high=edge)
    return Region(1 / edge if log else -edge, edge)


def _member(
    names: list[Json], relations: list[str], observed: list[SeedSeries], i: int, margin: float, *, log: bool
) -> Member:
    statistic = f"{names[i]} {'/' if log else '-'} {names[i + 1]}"
    allowed = contrast_region(relations[i], margin, log=log)
    return Member(statistic, contrast_sample(observed[i], observed[i + 1], log=log), allowed)
