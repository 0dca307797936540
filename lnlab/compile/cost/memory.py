"""Memory for several runs at once: how many workers a machine has memory for, and which measurements use less.

    bound = SHARE * memory / workers - LIBRARIES

A measurement that would hold more than the bound takes the parameters in its probe's fact ``frugal``, which trade time
for memory and change no bit of a number, so that they are in no key: the graphs of a curvature are rebuilt for each
product. What does not fit even so is done by fewer workers at once. All of it follows from the bound, and nothing from
how much memory is free at the time. Where units are on GPUs, the memory is that of each GPU for its own workers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lnlab.compile.cost.cost import cost
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Measurement, Trajectory

SHARE = 0.85
"""Of a machine's memory that workers may fill, as estimates err and others want some."""
LIBRARIES = 450 * 2**20
"""Bytes of a worker that has torch, the pieces and a small corpus, and no run yet, or of its context on a GPU."""
OF_GPU_WORKER = 2 * 2**30
"""Bytes that a worker whose units are on a GPU takes of the machine's own memory."""


@dataclass(frozen=True)
class MemoryPlan:
    """How units are run within the memory of a machine.

    Attributes:
        memory: bytes of the machine, or of its largest GPU.
        workers: at once, if there are so many units.
        bound: bytes that each may need for its units.
        peak: that the largest of them needs.
        units: with the parameters that keep them within the bound.
        frugal: how many of their measurements take the parameters that need less memory.
        could: how many of them have such parameters.
        devices: by worker the number of the device that it uses.
        on_gpus: whether these devices are GPUs. Otherwise there is one, the machine.
    """

    memory: int
    workers: int
    bound: int
    peak: int
    units: tuple[Trajectory, ...]
    frugal: int
    could: int
    devices: tuple[int, ...]
    on_gpus: bool

    @property
    def fits(self) -> bool:
        """Whether the machine has memory for the largest unit with one worker and no share left free."""
        return self.peak + LIBRARIES <= self.memory


def plan_memory(
    units: Sequence[Trajectory], registries: Registries, workers: int, memory: int, gpus: Sequence[int] = ()
) -> MemoryPlan:
    """The memory plan of units on a machine with ``memory`` bytes, for at most so many workers.

    Args:
        units: what is to be done.
        registries: of every kind.
        workers: at most.
        memory: of the machine, in bytes.
        gpus: bytes of each GPU, if units are on GPUs.
    """
    if gpus:
        workers = max(1, min(workers, int(SHARE * memory) // OF_GPU_WORKER))
    rooms = tuple(gpus) or (memory,)
    # As many workers as would fit if every measurement took as little memory as it can.
    smallest_peak = max((_peak(_bounded(unit, registries, 0), registries) for unit in units), default=0)
    devices = share_devices(rooms, smallest_peak + LIBRARIES, workers) or (rooms.index(max(rooms)),)
    # With fewer units than workers each may have more.
    at_once = Counter(devices[: max(1, len(units))])
    bound = min(int(SHARE * rooms[device]) // number for device, number in at_once.items()) - LIBRARIES
    bounded = tuple(_bounded(unit, registries, bound) for unit in units)
    original = [measurement for unit in units for measurement in unit.measurements]
    chosen = [measurement for unit in bounded for measurement in unit.measurements]
    return MemoryPlan(
        memory=max(rooms),
        workers=len(devices),
        bound=bound,
        peak=max((_peak(unit, registries) for unit in bounded), default=0),
        units=bounded,
        frugal=sum(old.probe != new.probe for old, new in zip(original, chosen, strict=True)),
        could=sum(_low_memory(old, registries).probe != old.probe for old in original),
        devices=devices,
        on_gpus=bool(gpus),
    )


def share_devices(memories: Sequence[int], needed: int, workers: int) -> tuple[int, ...]:
    """The number of the device of each worker: in turn, as long as a device has room for one more.

    Args:
        memories: bytes of each device.
        needed: bytes of one worker with its largest unit.
        workers: at most so many.

    >>> share_devices([24 * 10**9, 80 * 10**9], 10 * 10**9, 5)
    (1, 0, 1, 0, 1)
    """
    rooms = [int(SHARE * memory) // needed for memory in memories]
    # No more turns than workers: the memory of a node of SLURM, which nobody knows, has room for any number.
    turns = [
        (turn, -rooms[device], device) for device in range(len(rooms)) for turn in range(min(rooms[device], workers))
    ]
    return tuple(device for _, _, device in sorted(turns)[:workers])


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
