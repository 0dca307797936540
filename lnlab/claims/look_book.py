"""The record of looks: the sets of seeds on which each claim has been judged, and by what. Every look has its level.

The looks at a claim are counted together, whatever name it had, and each has the digest of its criterion
(``criterion_digest``):

    the same criterion on the same seeds            the same look
    the same criterion on other seeds               a further look
    another criterion, seeds that were judged       a further look: the data had been seen when it was chosen
    another criterion, none of these seeds          the first look at a new claim

A judgement that a rule leaves undecided whatever the numbers are is no look.

    book = LookBook.from_json(facts.looks)           what a report, its lock or a store remembers
    judge_all(claims, results, looks=book)           each claim at the level of its look, recorded if judged
    book.to_json()                                   claim -> [{look, seeds, n, alpha, date, commit, criterion, ...}]
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

from lnlab.claims.criterion_digest import covers
from lnlab.keys import Json
from lnlab.specfile.seeds import parse_seeds

Accepted = tuple[float | None, float | None]
"""The edges of an accepted range. None means unbounded."""


@dataclass(frozen=True)
class Look:
    """One look.

    Attributes:
        look: its number, from 1.
        seeds: the seeds on which it was judged, ascending.
        alpha: its two-sided level.
        date: the day, or nothing where it is not known.
        commit: of the repository at that time, or nothing.
        criterion: the digest of what was judged. Empty for a look that was recorded afterwards, which counts for its
            claim whatever its criterion is.
        verdict: the word that it gave, or nothing where that is not known.
        accepted: the accepted range, or None where it is not known.
    """

    look: int
    seeds: tuple[int, ...]
    alpha: float
    date: str = ""
    commit: str = ""
    criterion: str = ""
    verdict: str = ""
    accepted: Accepted | None = None

    def to_json(self) -> dict[str, Json]:
        """The look as plain values, without those that are not known of its verdict."""
        accepted = None if self.accepted is None else list(self.accepted)
        values = {**asdict(self), "seeds": list(self.seeds), "n": len(self.seeds), "accepted": accepted}
        return {name: value for name, value in values.items() if value or name not in ("verdict", "accepted")}

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> "Look":
        """A look as ``to_json`` has it, or with its ``seeds`` alone, which may stand as in a spec (``1-10``)."""
        accepted = stated.get("accepted")
        day, commit, criterion, verdict = (
            str(stated.get(name) or "") for name in ("date", "commit", "criterion", "verdict")
        )
        return cls(
            look=int(stated.get("look") or 0),
            seeds=tuple(sorted(parse_seeds(stated["seeds"]))),
            alpha=float(stated.get("alpha") or 0.0),
            date=day,
            commit=commit,
            criterion=criterion,
            verdict=verdict,
            accepted=(accepted[0], accepted[1]) if accepted else None,
        )

    def is_on(self, criterion: str, seeds: Collection[int]) -> bool:
        """Whether this look has judged these seeds by this criterion."""
        return set(self.seeds) == set(seeds) and covers(self.criterion, criterion)


@dataclass
class LookBook:
    """The looks at the claims of one experiment, by claim, in their order."""

    looks: dict[str, list[Look]] = field(default_factory=dict)
    commit: str = ""

    @classmethod
    def from_json(cls, *records: Mapping[str, Iterable[Mapping[str, Any]]], commit: str = "") -> "LookBook":
        """The looks of several records, by day. A look that stands in several counts once.

        Args:
            records: claim -> looks. A look must have ``seeds``, a list or as in a spec (``1-10``).
            commit: of the looks to come.
        """
        book = cls(commit=commit)
        for record in records:
            for claim, entries in record.items():
                known = book.looks.setdefault(claim, [])
                for stated in entries:
                    look = Look.from_json(stated)
                    if not any(earlier.is_on(look.criterion, look.seeds) for earlier in known):
                        known.append(look)
        for claim, known in book.looks.items():
            # Of one day each has its number. One that was entered afterwards has none, and stands in front.
            known.sort(key=lambda look: (look.date, look.look))
            book.looks[claim] = [
                replace(look, look=1 + len(looks_before(known[:place], look.criterion, look.seeds)))
                for place, look in enumerate(known)
            ]
        return book

    def to_json(self) -> dict[str, list[dict[str, Json]]]:
        """Claim -> looks, as plain values, without claims that have not been looked at."""
        return {claim: [look.to_json() for look in entries] for claim, entries in self.looks.items() if entries}

    def number(self, claim: str, criterion: str, seeds: Collection[int]) -> int:
        """Which look at a claim this is: the one that there was on these seeds, else one more than there were."""
        known = self._known(claim, criterion)
        place = next((place for place, look in enumerate(known) if look.is_on(criterion, seeds)), len(known))
        return 1 + len(looks_before(known[:place], criterion, seeds))

    def seen(self, claim: str, criterion: str, seeds: Collection[int]) -> bool:
        """Whether these seeds have been judged by this criterion."""
        return any(look.is_on(criterion, seeds) for look in self._known(claim, criterion))

    def _known(self, claim: str, criterion: str) -> list[Look]:
        """The looks at a claim, and those at its criteria under other names: a new name makes no first look."""
        known = list(self.looks.get(claim, ()))
        others = [look for name, entries in self.looks.items() if name != claim for look in entries]
        criteria = {criterion, *(look.criterion for look in known)} - {""}
        while renamed := [look for look in others if look.criterion and any(_alike(look, c) for c in criteria)]:
            known += [look for look in renamed if not any(each.is_on(look.criterion, look.seeds) for each in known)]
            others = [look for look in others if look not in renamed]
            criteria |= {look.criterion for look in renamed}
        return sorted(known, key=lambda look: (look.date, look.look))

    def record(
        self,
        claim: str,
        criterion: str,
        seeds: Collection[int],
        number: int,
        alpha: float,
        *,
        verdict: str = "",
        accepted: Accepted | None = None,
    ) -> None:
        """Record a judged look. One that there was keeps its date, and gets this number, level and verdict.

        Earlier looks without a criterion are of this one from now on.
        """
        known = self.looks.setdefault(claim, [])
        known[:] = [replace(look, criterion=look.criterion or criterion) for look in known]
        index = next((place for place, look in enumerate(known) if look.is_on(criterion, seeds)), None)
        if index is None:
            known.append(
                Look(
                    look=number,
                    seeds=tuple(sorted(seeds)),
                    alpha=alpha,
                    date=date.today().isoformat(),
                    commit=self.commit,
                    criterion=criterion,
                    verdict=verdict,
                    accepted=accepted,
                )
            )
        else:
            known[index] = replace(known[index], look=number, alpha=alpha, verdict=verdict, accepted=accepted)


def looks_before(looks: Iterable[Look], criterion: str, seeds: Collection[int]) -> list[Look]:
    """Those of some looks that count before one by this criterion on these seeds.

    They are linked with it, at once or through each other: by the criterion, or by a seed that was judged.
    """
    linked: list[Look] = []
    apart = list(looks)
    criteria, judged = [criterion], set(seeds)

    def is_linked(look: Look) -> bool:
        return any(_alike(look, each) for each in criteria) or not judged.isdisjoint(look.seeds)

    while newly_linked := [look for look in apart if is_linked(look)]:
        linked += newly_linked
        apart = [look for look in apart if look not in newly_linked]
        criteria += [look.criterion for look in newly_linked]
        judged.update(*(look.seeds for look in newly_linked))
    return linked


def _alike(look: Look, criterion: str) -> bool:
    """Whether a criterion is that of a look but for restrictions of either."""
    return covers(look.criterion, criterion) or covers(criterion, look.criterion)
