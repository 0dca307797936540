"""What a plan still lacks, and why each miss is a miss."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lnlab.store.records.coverage import Course, course
from lnlab.store.records.records import Found, Reader, Record

_NEVER = "never measured"


@dataclass(frozen=True)
class Wanted:
    """What a plan asks of a trajectory.

    Attributes:
        steps: updates.
        measurements: key -> the updates made when it is taken, in the order of the plan.
    """

    steps: int = 0
    measurements: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Miss:
    """What a trajectory still lacks.

    Attributes:
        measurements: keys of those that no intact record holds, in the order of the plan; none at all where the
            trajectory was only to be run, and was not.
        reason: why, in words.
        attempt: the last record that came to a bad end over these, if that is why.
    """

    measurements: tuple[str, ...]
    reason: str
    attempt: Record | None = None


def misses(root: Path, wanted: Mapping[str, Wanted]) -> dict[str, Miss]:
    """Trajectory -> what it lacks of what is wanted; one that lacks nothing is not there.

    Raises:
        StoreError: this user may not read the store.
    """
    found = {trajectory: miss_of(held, wanted[trajectory]) for trajectory, held in Reader(root).each(wanted)}
    return {trajectory: miss for trajectory in wanted if (miss := found[trajectory])}


def miss_of(found: Found, wanted: Wanted) -> Miss | None:
    """What the records of one trajectory lack of what is wanted; nothing is wanted beyond the trajectory's own end."""
    held, made = found.first(), course(found.records)
    end = made.ended(wanted.steps)
    there = [key for key, step in wanted.measurements.items() if end is None or step <= end.steps]
    missing = tuple(key for key in there if key not in held)
    reached = end is not None or wanted.steps <= made.covered
    if not missing and reached and (there or wanted.steps or any(record.finished for record in found.records)):
        return None
    attempts = [r for r in found.records if _failed(r) and (not missing or set(missing) & set(r.asked))]
    if found.damaged:
        return Miss(missing, f"file damaged: {'; '.join(found.damaged)}")
    if attempts:
        status, reason = (attempts[-1].outcome[name] for name in ("status", "reason"))
        said = f"the last attempt {_VERBS.get(status, status)}"
        return Miss(missing, f"{said}: {reason}" if reason else said, attempts[-1])
    return Miss(missing, _why(missing, there, made, 0 if reached else wanted.steps, taken=bool(held)))


def _failed(record: Record) -> bool:
    """Whether a stretch came to a bad end that is not the trajectory's own."""
    return not record.finished and not record.ends


def _why(missing: tuple[str, ...], there: list[str], made: Course, steps: int, *, taken: bool) -> str:
    if made.covered < steps:
        return f"trained for {made.covered} of {steps} steps" if made.covered else _NEVER
    if taken and missing:
        return f"{_NEVER}: {len(missing)} of {len(there)} measurements are new here"
    return _NEVER


_VERBS = {
    "failed": "failed",
    "diverged": "diverged",
    "interrupted": "was interrupted",
    "timed_out": "ran out of time",
    "out_of_memory": "ran out of memory",
}
