"""Memory for several runs at once: how many workers a machine has memory for, and which measurements use less.

    bound = SHARE * memory / workers - LIBRARIES

A measurement that would hold more than the bound takes the parameters in its probe's fact ``frugal``, which trade time
for memory and change no bit of a number, so that they are in no key: the graphs of a curvature are rebuilt for each
product. What does not fit even so is done by fewer workers at once. All of it follows from the bound, and nothing from
how much memory is free at the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lnlab.compile.cost.cost import cost
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Measurement, Trajectory

SHARE = 0.85
"""Of a machine's memory that workers may fill, as estimates err and others want some."""
LIBRARIES = 450 * 2**20
"""Bytes of a worker that has torch, the pieces and a small corpus, and no run yet."""


@dataclass(frozen=True)
class MemoryPlan:
    """How units are run within the memory of a machine.

    Attributes:
        memory: bytes of the machine.
        workers: at once, if there are so many units.
        bound: bytes that each may need for its units.
        peak: that the largest of them needs.
        units: with the parameters that keep them within the bound.
        frugal: how many of their measurements take the parameters that need less memory.
        could: how many of them have such parameters.
    """

    memory: int
    workers: int
    bound: int
    peak: int
    units: tuple[Trajectory, ...]
    frugal: int
    could: int

    @property
    def fits(self) -> bool:
        """Whether the machine has memory for the largest unit with one worker and no share left free."""
        return self.peak + LIBRARIES <= self.memory


def plan_memory(units: Sequence[Trajectory], registries: Registries, workers: int, memory: int) -> MemoryPlan:
    """The memory plan of units on a machine with ``memory`` bytes, for at most so many workers."""
    # As many workers as would fit if every measurement took as little memory as it can.
    smallest_peak = max((_peak(_bounded(unit, registries, 0), registries) for unit in units), default=0)
    at_once = max(1, min(workers, int(SHARE * memory) // (smallest_peak + LIBRARIES)))
    # With fewer units than workers each may have more.
    bound = int(SHARE * memory) // max(1, min(at_once, len(units))) - LIBRARIES
    bounded = tuple(_bounded(unit, registries, bound) for unit in units)
    original = [measurement for unit in units for measurement in unit.measurements]
    chosen = [measurement for unit in bounded for measurement in unit.measurements]
    return MemoryPlan(
        memory=memory,
        workers=at_once,
        bound=bound,
        peak=max((_peak(unit, registries) for unit in bounded), default=0),
        units=bounded,
        frugal=sum(old.probe != new.probe for old, new in zip(original, chosen, strict=True)),
        could=sum(_low_memory(old, registries).probe != old.probe for old in original),
    )


def _bounded(unit: Trajectory, registries: Registries, bound: int) -> Trajectory:
    """A unit whose measurements stay within the bound, or take as little memory as they can."""
    measurements = []
    for measurement in unit.measurements:
        low_memory = _low_memory(measurement, registries)
        has_no_choice = low_memory.probe == measurement.probe
        fits = has_no_choice or cost(unit.setting, [measurement], registries).peak_bytes <= bound
        measurements.append(measurement if fits else low_memory)
    return replace(unit, measurements=tuple(measurements))


def _low_memory(measurement: Measurement, registries: Registries) -> Measurement:
    """The same measurement, by its key too, with the parameters that take least memory."""
    probe = measurement.probe
    frugal = registries["probe"][probe["kind"]].facts.frugal
    return replace(measurement, probe={**probe, **frugal}) if frugal else measurement


def _peak(unit: Trajectory, registries: Registries) -> int:
    return cost(unit.setting, unit.measurements, registries).peak_bytes
