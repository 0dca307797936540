"""How far the records of a trajectory reach: an unbroken line of stretches from its initial state."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lnlab.store.records.record import Record

COMPLETE_STATUSES = ("finished", "diverged", "interrupted")
"""Statuses of a stretch that has the rows of all its updates. A failed one may lack rows of its last update."""


@dataclass(frozen=True)
class Coverage:
    """What is known of the updates of a trajectory.

    Attributes:
        covered: updates whose rows are there, from the first on.
        end: the record of the trajectory's own end, if it has come to one: it diverged, or its stop rule ended it.
    """

    covered: int
    end: Record | None = None

    def ended(self, steps: int) -> Record | None:
        """Return the record that ended the trajectory before ``steps`` updates, if any."""
        return self.end if self.end is not None and self.end.steps < steps else None


def coverage_of(records: Sequence[Record]) -> Coverage:
    """The course of records in their one order (by first step)."""
    covered = 0
    end = None
    for record in records:
        if record.first_step <= covered and record.outcome["status"] in COMPLETE_STATUSES:
            covered = max(covered, record.steps)
            end = end or (record if record.ends else None)
    return Coverage(covered, end)


def superseded_records(records: Sequence[Record], damaged: Sequence[Record] = ()) -> list[Record]:
    """The records without which the others say the same: all their updates and measurements are in others.

    Args:
        records: intact ones in their one order. One that came to a bad end always stays: it tells why.
        damaged: records some of whose rows are lost, in any order.
    """
    covered, _, measurements, _ = total = _content(records)
    remaining = list(records)
    for record in reversed(records) if _overlap(records) else ():
        others = [other for other in remaining if other is not record]
        if record.outcome["status"] in COMPLETE_STATUSES and _content(others) == total:
            remaining = others
    surplus = [record for record in records if record not in remaining]
    return surplus + [r for r in damaged if r.steps <= covered and measurements >= set(r.measurements)]


def _overlap(records: Sequence[Record]) -> bool:
    """Whether an update or a measurement is in two records, or two of them hold nothing: rare, and quick to see."""
    measurements = [key for record in records for key in record.measurements]
    repeated = any(earlier.steps > later.first_step for earlier, later in pairwise(records))
    empty = sum(record.steps == record.first_step and not record.measurements for record in records)
    return repeated or empty > 1 or len(measurements) > len(set(measurements))


def _content(records: Sequence[Record]) -> tuple[int, tuple[int, str] | None, frozenset[str], bool]:
    """What records say together: updates, the trajectory's own end, measurements, and whether one of them finished."""
    coverage = coverage_of(records)
    end = (coverage.end.steps, str(coverage.end.outcome["status"])) if coverage.end else None
    measurements = frozenset(key for record in records for key in record.measurements)
    return coverage.covered, end, measurements, any(record.finished for record in records)
