"""Room for several runs at once: how many workers a machine has memory for, and what a measurement does with less.

    bound = SHARE * memory / workers - LIBRARIES

A measurement that would hold more than the bound takes the parameters in its probe's fact ``frugal``, which trade time
for memory and change no bit of a number, so that they are in no key: the graphs of a curvature are made anew for each
product. What does not fit even so is done by fewer workers at once. All of it follows from the bound, and nothing from
how full a machine is at the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lnlab.compile.cost.cost import cost
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Measurement, Trajectory

SHARE = 0.85
"""Of a machine's memory that workers may fill, as estimates err and others want some."""
LIBRARIES = 400 * 2**20
"""Bytes of a worker that has torch and the pieces, and no run yet."""


@dataclass(frozen=True)
class Room:
    """How units are to be done on a machine.

    Attributes:
        memory: bytes of the machine.
        workers: at once, if there are so many units.
        bound: bytes that each may need for its units.
        peak: that the largest of them needs.
        units: with the parameters that keep them within the bound.
        frugal: how many of their measurements do with less.
        could: how many of them can.
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
        """Whether the machine has memory for the largest unit, one worker alone and nothing spared."""
        return self.peak + LIBRARIES <= self.memory


def room(units: Sequence[Trajectory], registries: Registries, workers: int, memory: int) -> Room:
    """The room for units on a machine with ``memory`` bytes, by at most so many workers."""
    least = max((_peak(_within(unit, registries, 0), registries) for unit in units), default=0)
    at_once = max(1, min(workers, int(SHARE * memory) // (least + LIBRARIES)))
    bound = int(SHARE * memory) // max(1, min(at_once, len(units))) - LIBRARIES
    made = tuple(_within(unit, registries, bound) for unit in units)
    given, chosen = ([m for unit in some for m in unit.measurements] for some in (units, made))
    return Room(
        memory=memory,
        workers=at_once,
        bound=bound,
        peak=max((_peak(unit, registries) for unit in made), default=0),
        units=made,
        frugal=sum(old.probe != new.probe for old, new in zip(given, chosen, strict=True)),
        could=sum(_frugal(old, registries).probe != old.probe for old in given),
    )


def _within(unit: Trajectory, registries: Registries, bound: int) -> Trajectory:
    """A unit each of whose measurements stays within the bound, or does with as little as it can."""
    return replace(unit, measurements=tuple(_chosen(each, unit, registries, bound) for each in unit.measurements))


def _chosen(measurement: Measurement, unit: Trajectory, registries: Registries, bound: int) -> Measurement:
    least = _frugal(measurement, registries)
    free = least.probe == measurement.probe or cost(unit.setting, [measurement], registries).peak_bytes <= bound
    return measurement if free else least


def _frugal(measurement: Measurement, registries: Registries) -> Measurement:
    """The same measurement, by its key too, with the parameters that take least memory."""
    probe = measurement.probe
    return replace(measurement, probe={**probe, **registries["probe"][probe["kind"]].facts.frugal})


def _peak(unit: Trajectory, registries: Registries) -> int:
    return cost(unit.setting, unit.measurements, registries).peak_bytes
