"""The queue of units that nobody works on yet, costliest first, so that no long one is left for the end."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lnlab.compile.work import Trajectory

Clock = Callable[[], float]

DELAY = 0.1
"""Seconds before a unit that came back is handed out again."""


@dataclass
class Queue:
    """Units in the order in which they are handed out.

    Attributes:
        ready: units that may be handed out now.
        waiting: (not before this time, unit) of units that have to wait, as another process works on them.
        costs: key -> cost, 1 for a key without one.
    """

    ready: deque[Trajectory]
    costs: Mapping[str, float]
    waiting: list[tuple[float, Trajectory]] = field(default_factory=list)
    clock: Clock = time.monotonic

    @classmethod
    def of(cls, units: Sequence[Trajectory], costs: Mapping[str, float]) -> "Queue":
        """The queue of these units. Units of equal cost keep the order of ``units``."""
        queue = cls(deque(), costs)
        queue.ready.extend(sorted(units, key=queue.cost, reverse=True))
        return queue

    def __bool__(self) -> bool:
        return bool(self.ready or self.waiting)

    def cost(self, unit: Trajectory) -> float:
        """What a unit costs."""
        return self.costs.get(unit.key, 1.0)

    def next(self) -> Trajectory | None:
        """The next unit that may be handed out, or None if all must wait. Units that never had to wait come first."""
        if self.ready:
            return self.ready.popleft()
        if self.waiting and self.waiting[0][0] <= self.clock():
            return self.waiting.pop(0)[1]
        return None

    def put_back(self, unit: Trajectory) -> None:
        """Take a unit back, to be tried again after ``DELAY`` seconds."""
        self.waiting.append((self.clock() + DELAY, unit))

    def wait_time(self) -> float:
        """Seconds until a unit may be handed out."""
        if self.ready or not self.waiting:
            return 0.0
        return max(0.0, self.waiting[0][0] - self.clock())
