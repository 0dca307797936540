"""Numbers of training batches, by the update that the batches led to.

A loop calls the recorder after each batch, and several batches may make one update: its number is their mean. A batch
whose gradients were thrown away, as a ``GradScaler`` does where one is infinite, belongs to no update.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal


@dataclass
class BatchNumbers:
    """One number by its name.

    Attributes:
        waiting: of batches whose update is not made yet.
        since: updates that were made when the first of these came.
        written: the update that has its number.
    """

    waiting: list[float] = field(default_factory=list)
    since: int = -1
    written: int = -1

    def add(
        self, value: float, count: int, gradients: Literal["none", "waiting", "broken"] | None
    ) -> Iterator[tuple[int, float]]:
        """Yield updates with their numbers, once these are known.

        Args:
            value: of the last batch.
            count: updates made.
            gradients: what backward passes since the last update have left. None where nobody knows: then the number
                of an update is the mean of those that came at its count.
        """
        if gradients is None:
            self.waiting = [*(self.waiting if count == self.written else ()), value]
            self.written = count
            yield count, fmean(self.waiting)
            return
        if self.waiting and count > self.since and (gradients != "none" or count > self.since + 1):
            yield self.since + 1, fmean(self.waiting)  # their update was made, and this batch is of a later one
            self.written = self.since + 1
            self.waiting = []
        if gradients == "waiting":
            self.since = self.since if self.waiting else count
            self.waiting.append(value)
            return
        of_update, self.waiting = [*self.waiting, value], []
        if gradients == "none" and count > self.written:
            self.written = count
            yield count, fmean(of_update)

    def rest(self, count: int) -> Iterator[tuple[int, float]]:
        """Yield what waits for an update that was made without a further call."""
        if self.waiting and count > self.since:
            yield self.since + 1, fmean(self.waiting)
