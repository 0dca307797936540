"""The record of looks: the sets of seeds on which each criterion has been judged. Every look has its own level.

A criterion is the kind of a claim with its selections, edges, law, margin and estimand, and the variants that it reads.
Its words, its sources and its seeds are no part of it. A claim whose criterion changes is another claim. Judging it
again on the same seeds is no new look. Neither is a judgement that a rule leaves undecided whatever the numbers are.

    book = LookBook.from_json(facts.looks)           what a report, its lock or a store remembers
    judge_all(claims, results, looks=book)           each claim at the level of its look, recorded if judged
    book.to_json()                                   claim -> [{look, seeds, n, alpha, date, commit, criterion}]
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.errors import LabError
from lnlab.keys import Json, digest
from lnlab.select.select import runs_with
from lnlab.specfile.seeds import parse_seeds
from lnlab.tables import Results

DESCRIPTIVE = ("id", "says", "primary", "role", "because", "source", "published", "calibration", "seeds", "looks")
"""Fields of a claim that belong to no criterion."""
_DIGITS = 12


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
    """

    look: int
    seeds: tuple[int, ...]
    alpha: float
    date: str = ""
    commit: str = ""
    criterion: str = ""

    def to_json(self) -> dict[str, Json]:
        """The look as plain values."""
        return {**asdict(self), "seeds": list(self.seeds), "n": len(self.seeds)}


@dataclass
class LookBook:
    """The looks at the claims of one experiment, by claim, in their order."""

    looks: dict[str, list[Look]] = field(default_factory=dict)
    commit: str = ""

    @classmethod
    def from_json(cls, *records: Mapping[str, Iterable[Mapping[str, Any]]], commit: str = "") -> "LookBook":
        """The looks of several records, earlier ones first. A set of seeds that stands in several counts once.

        Args:
            records: claim -> looks. A look must have ``seeds``, a list or as in a spec (``1-10``).
            commit: of the looks to come.
        """
        book = cls(commit=commit)
        for record in records:
            for claim, looks in record.items():
                for stated in looks:
                    seeds = tuple(sorted(parse_seeds(stated["seeds"])))
                    known = book.looks.setdefault(claim, [])
                    criterion = str(stated.get("criterion") or "")
                    if any(set(look.seeds) == set(seeds) and _same(look.criterion, criterion) for look in known):
                        continue
                    texts = {name: str(stated.get(name) or "") for name in ("date", "commit")}
                    number = 1 + sum(_same(look.criterion, criterion) for look in known)
                    known.append(Look(number, seeds, float(stated.get("alpha") or 0.0), **texts, criterion=criterion))
        return book

    def to_json(self) -> dict[str, list[dict[str, Json]]]:
        """Claim -> looks, as plain values, without claims that have not been looked at."""
        return {claim: [look.to_json() for look in looks] for claim, looks in self.looks.items() if looks}

    def number(self, claim: str, criterion: str, seeds: Collection[int]) -> int:
        """Which look at a criterion a set of seeds is: that of the same set, else one more than there were."""
        known = self._known(claim, criterion)
        numbers = [n for n, look in enumerate(known, 1) if set(look.seeds) == set(seeds)]
        return numbers[0] if numbers else len(known) + 1

    def seen(self, claim: str, criterion: str, seeds: Collection[int]) -> bool:
        """Whether a criterion has been judged on this set of seeds."""
        return any(set(look.seeds) == set(seeds) for look in self._known(claim, criterion))

    def _known(self, claim: str, criterion: str) -> list[Look]:
        """The looks at a criterion, under the name of this claim and of others: a new name makes no first look."""
        known = [look for look in self.looks.get(claim, ()) if _same(look.criterion, criterion)]
        sets = {frozenset(look.seeds) for look in known}
        elsewhere: dict[frozenset[int], Look] = {}
        for name, looks in self.looks.items():
            if name != claim and criterion:
                elsewhere |= {frozenset(look.seeds): look for look in looks if look.criterion == criterion}
        if not elsewhere.keys() <= sets:
            known += [look for of_seeds, look in elsewhere.items() if of_seeds not in sets]
            known.sort(key=lambda look: len(look.seeds))  # of the names each has its own numbers, and seeds were added
        return known

    def record(self, claim: str, criterion: str, seeds: Collection[int], number: int, alpha: float) -> None:
        """Record a judged look. One on the same seeds keeps its date, and gets this number and level.

        Earlier looks without a criterion are of this one from now on.
        """
        known = self.looks.setdefault(claim, [])
        known[:] = [replace(look, criterion=look.criterion or criterion) for look in known]
        ordered = tuple(sorted(seeds))
        for place, look in enumerate(known):
            if set(look.seeds) == set(seeds) and _same(look.criterion, criterion):
                known[place] = replace(look, look=number, seeds=ordered, alpha=alpha, criterion=criterion)
                return
        known.append(
            Look(
                look=number,
                seeds=ordered,
                alpha=alpha,
                date=date.today().isoformat(),
                commit=self.commit,
                criterion=criterion,
            )
        )


def claim_criterion(claim: Mapping[str, Json], results: Results) -> tuple[str, tuple[int, ...]]:
    """The digest of a claim's criterion and the seeds it is judged on, both empty if it reads no rows.

    Args:
        claim: resolved.
        results: of the experiment.
    """
    variants: set[str] = set()
    seeds: set[int] = set()
    try:
        own = results_of_claim(claim, results)
        for selection in selections_of_claim(claim):
            # Of further seeds those variants alone run that the claim reads; what it asks about is the same.
            variants |= set(runs_with(results, selection, claim.get("over"))["variant"])
            seeds |= set(runs_with(own, selection, claim.get("over"))["seed"])
    except LabError:
        return "", ()
    parts = {key: value for key, value in claim.items() if key not in DESCRIPTIVE and value is not None}
    for key, value in parts.items():
        if isinstance(value, Mapping):  # a selection; judging it on further seeds is another look, no other criterion
            parts[key] = {column: condition for column, condition in value.items() if column != "seed"}
    return digest([parts, sorted(variants)])[:_DIGITS], tuple(sorted(seeds))


def look_sentence(looks: Sequence[Look]) -> str:
    """``look 2 of 2, on 10 seeds, at 98.75 %``: the last look in words, or "" if there was none."""
    if not looks:
        return ""
    last = looks[-1]
    return f"look {last.look} of {len(looks)}, on {len(last.seeds)} seeds, at {100 * (1 - last.alpha):.6g} %"


def _same(one: str, other: str) -> bool:
    # A look that was recorded without a criterion counts for whatever its claim is judged by.
    return not one or not other or one == other
