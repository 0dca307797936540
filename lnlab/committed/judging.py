"""Claims judged twice: whether two verdicts say the same, and where in a spec the problem of one is."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.issues import Issue
from lnlab.keys import Json

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.specfile.load import SpecDocument


_UNCOMPARED_FIELDS = ("seeds", "measure", "quantity")
"""Fields of a verdict that are compared apart, or say only what its numbers are."""
_ROUNDING = 1e-9
"""Numbers that differ by less, relative to their size, are those of another machine."""


def equal_verdicts(one: "Verdict", other: "Verdict") -> bool:
    """Whether two verdicts have the same words, and the same numbers up to rounding."""
    if one.seeds.keys() != other.seeds.keys():
        return False
    names = one.__dataclass_fields__.keys() - set(_UNCOMPARED_FIELDS)
    pairs: list[tuple[Json, Json]] = [(getattr(one, name), getattr(other, name)) for name in names]
    pairs += [(one.seeds[seed], other.seeds[seed]) for seed in one.seeds]
    return all(
        math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING) or (math.isnan(a) and math.isnan(b))
        if isinstance(a, float) and isinstance(b, float)
        else a == b
        for a, b in pairs
    )


def locate_claim_problem(
    problem: Issue, document: "SpecDocument", profile: str | None, overrides: Sequence[str]
) -> Issue:
    """The problem with ``file:line:col`` of the spec in front of its place.

    Args:
        problem: of a claim or what one requires, ``claims.<id>.<key>``, or of a section, ``report.<number>.<key>``.
        document: the spec.
        profile: its profile.
        overrides: the arguments of ``-s``.
    """
    from lnlab.compile.check import located_issues
    from lnlab.report.registries import FRAME_REGISTRIES

    part, claim, *keys = problem.where.split(".", 2)
    words = [int(key) if key.isdecimal() else key for key in ".".join(keys).split(".") if key]
    path = (part, int(claim) if part == "report" else claim, *words)
    (located,) = located_issues([replace(problem, place=path)], document, FRAME_REGISTRIES, profile, overrides)
    return located
