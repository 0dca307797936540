"""``log(a/b)`` within the seed, an interval over seeds, exponentiated (Student, 1908).

With ``over`` and no ``reduce`` the ratio is for all x: the largest (smallest) within the seed is tested against the
upper (lower) edge, both edges by intersection-union. The largest of several ratios that scatter lies above their means.
With ``each`` the ratio of every place is tested by its own interval over seeds, all by intersection-union.
"""

from dataclasses import replace

import polars as pl

from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.region import Region, ratio_region
from lnlab.claims.sample import arm_names, contrast_sample, min_seeds, refuse_one_step
from lnlab.claims.sites import SiteColumns, site_conditions, statistic_at
from lnlab.claims.student import judge_sample
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.select.reductions import Reduction
from lnlab.select.series import SeedSeries, select_series
from lnlab.tables import Results

NO_RATIO = 1.0
"""The ratio of two numbers that do not differ."""


@claims.register("ratio", measure="ratio", no_effect=lambda _: NO_RATIO)
def ratio(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    to: dict[str, Json],
    over: str | None = None,
    reduce: Reduction | None = None,
    each: SiteColumns = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    equals: float | None = None,
    factor: float = 1.25,
) -> Finding:
    """``a/b``: the selection ``of`` over the same with what ``to`` changes, paired by seed (Student, 1908).

    ``equals: c`` accepts c/factor to c·factor. With ``over`` and no ``reduce`` the ratio must lie in
    the range at every x of a seed. With ``each: [layer, ...]`` it does so over seeds at every place that these columns
    tell apart. Zeros are null and counted. Trained sides are compared where both finish; with
    ``about: median`` or ``share`` a failed seed ranks as the largest number.
    """
    allowed = ratio_region(between, at_least, at_most, equals, factor)
    refuse_one_step(results, of, to)
    names = arm_names(of, to)
    ranks_zeros = criterion.about != "mean"
    null = criterion.null(NO_RATIO, allowed, ratio=True)
    # For all x the largest ratio is held to the upper edge and the smallest to the lower one.
    everywhere = over is not None and reduce is None
    edges = [("largest", Region(high=allowed.high)), ("smallest", Region(low=allowed.low))]
    members = []
    for site in site_conditions(results, of, each, to):
        a, b = (select_series(results, {**side, **site}, over, reduce) for side in (of, {**of, **to}))
        if not everywhere:
            sample = contrast_sample(a, b, log=True, names=names, ranks_zeros=ranks_zeros)
            statistic = statistic_at(f"ratio of {reduce}" if reduce else "ratio", site)
            members.append(Member(statistic, sample, allowed, null=null))
            continue
        for extreme, edge in edges:
            if edge != Region():
                pair = _at_extreme(extreme, a, b)
                sample = contrast_sample(*pair, log=True, names=names, ranks_zeros=ranks_zeros)
                members.append(
                    Member(statistic_at(f"{extreme} ratio over {over}", site), sample, edge, null=null, named=())
                )
    if not everywhere and each is None:
        (member,) = members
        return judge_sample(member.statistic, member.sample, allowed, None, criterion, null)
    return intersection_union(members, min_seeds(members[0].sample), criterion)


def _at_extreme(extreme: str, a: SeedSeries, b: SeedSeries) -> tuple[SeedSeries, SeedSeries]:
    """Both series where the ratio within the seed is largest, or smallest, or where it has no logarithm."""
    if a.seeds and b.seeds and a.levels != b.levels:
        raise LabError(
            Issue("conflict", "to", "its values are at other sites than those of 'of'", "reduce them: reduce: mean")
        )
    pairs = a.numbers.join(b.numbers, on=["seed", "x"], suffix="_b", maintain_order="left")
    has_ratio = pl.min_horizontal("value", "value_b") > 0
    ratio = pl.col("value") / pl.col("value_b")
    # False sorts first: a pair without a ratio stands for its seed, which then has no logarithm.
    order = pairs.sort("seed", has_ratio, ratio, descending=[False, False, extreme == "largest"])
    extremes = order.unique("seed", keep="first", maintain_order=True).with_columns(x=pl.lit(None, pl.Float64))
    denominators = extremes.select("seed", "x", pl.col("value_b").alias("value"))
    return replace(a, numbers=extremes.select("seed", "x", "value")), replace(b, numbers=denominators)
