"""``log(a/b)`` within the seed, Student's interval over seeds, exponentiated (Student, 1908)."""

from lnlab.analyse.reductions import Reduce
from lnlab.analyse.series import series
from lnlab.claims.claim import Finding, claims
from lnlab.claims.region import Region, region
from lnlab.claims.sample import of_two
from lnlab.claims.student import judged
from lnlab.errors import LabError, Problem
from lnlab.keys import Json
from lnlab.tables import Results


@claims.register("ratio")
def ratio(
    results: Results,
    *,
    of: dict[str, Json],
    to: dict[str, Json],
    over: str | None = None,
    reduce: Reduce | None = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    equals: float | None = None,
    factor: float = 1.25,
) -> Finding:
    """``a/b``: the selection ``of`` over the same with what ``to`` changes, paired by seed (Student, 1908).

    ``equals: c`` is the region from c/factor to c·factor. Zeros are null and counted. Where more than 20 % of seeds
    failed, the paired sign test is used, a failure ranking as the largest number.
    """
    if factor <= 1:
        raise LabError(Problem("factor", f"{factor:g} leaves no region", "give a factor above 1"))
    near = None if equals is None else Region(equals / factor, equals * factor)
    allowed = region(between, at_least, at_most, positive=True, equals=near)
    a, b = series(results, of, over, reduce), series(results, {**of, **to}, over, reduce)
    return judged(f"ratio of {reduce}" if reduce else "ratio", of_two(a, b, log=True), allowed)
