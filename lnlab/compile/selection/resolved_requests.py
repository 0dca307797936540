"""What a spec requests of its runs, resolved: probes, sections, claims, and what claims require."""

from collections.abc import Collection
from dataclasses import dataclass, field

from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Choice


@dataclass(frozen=True)
class ResolvedRequest:
    """One resolved probe, section or claim (or what a claim requires).

    Attributes:
        choice: its resolved parameters.
        path: its path in the data. A claim has its id in it, as in ``claims.post_grows``.
        at: when a probe is applied.
        grids: the numbers of the grids to whose runs a probe is applied. None means every run.
        levels: the values of ``over`` that a claim names in its ``order``. Empty means all values.
    """

    choice: Choice
    path: Where
    at: Json = None
    grids: frozenset[int] | None = None
    levels: tuple[Json, ...] = ()

    def is_applied(self, grids: Collection[int]) -> bool:
        """Whether a probe is applied to a run of these grids."""
        return self.grids is None or not self.grids.isdisjoint(grids)


@dataclass
class ResolvedRequests:
    """Everything that a spec requests of its runs. The lists are in the order of the spec, without what is flawed."""

    probes: list[ResolvedRequest] = field(default_factory=list)
    sections: list[ResolvedRequest] = field(default_factory=list)
    claims: list[ResolvedRequest] = field(default_factory=list)
    requires: list[ResolvedRequest] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
