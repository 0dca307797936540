"""How far the records of a trajectory reach: an unbroken line of stretches from its initial state."""

from collections.abc import Sequence
from dataclasses import dataclass

from lnlab.store.records import Record

SOUND = ("finished", "diverged", "interrupted")
"""How a stretch may end whose updates are there; one that failed may lack rows of its last."""


@dataclass(frozen=True)
class Course:
    """What is known of the updates of a trajectory.

    Attributes:
        covered: updates whose rows are there, from the first on.
        end: the record of the trajectory's own end, if it has come to one: it diverged, or its stop rule ended it.
    """

    covered: int
    end: Record | None = None

    def ended(self, steps: int) -> Record | None:
        """The end, if a run of so many updates comes to it; one that had made them all by then does not."""
        return self.end if self.end is not None and self.end.steps < steps else None


def course(records: Sequence[Record]) -> Course:
    """The course of records in their one order (by first step)."""
    covered, end = 0, None
    for record in records:
        if record.first_step <= covered and record.outcome["status"] in SOUND:
            covered = max(covered, record.steps)
            end = end or (record if record.ends else None)
    return Course(covered, end)
