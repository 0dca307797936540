"""``a - b`` within the seed, an interval over seeds (Student, 1908): for numbers whose unit a sentence names."""

from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.region import declared_region
from lnlab.claims.sample import arm_names, contrast_sample, refuse_one_step
from lnlab.claims.student import judge_sample
from lnlab.keys import Json
from lnlab.select.reductions import Reduction
from lnlab.select.series import select_series
from lnlab.tables import Results


@claims.register("difference", measure="difference", no_effect=lambda _: 0.0)
def difference(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    to: dict[str, Json],
    over: str | None = None,
    reduce: Reduction | None = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Finding:
    """``a - b``: the selection ``of`` less the same with what ``to`` changes, paired by seed (Student, 1908).

    In the unit of the quantity, such as nats; for a factor between positive numbers there is ``ratio``. Trained sides
    are compared where both finish; with ``about: median`` or ``share`` a failed seed ranks as the largest number.
    """
    allowed = declared_region(between, at_least, at_most)
    refuse_one_step(results, of, to)
    a, b = select_series(results, of, over, reduce), select_series(results, {**of, **to}, over, reduce)
    sample = contrast_sample(a, b, log=False, names=arm_names(of, to))
    null = criterion.null(0.0, allowed, ratio=False)
    statistic = f"difference of {reduce}" if reduce else "difference"
    return judge_sample(statistic, sample, allowed, None, criterion, null)
