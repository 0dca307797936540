"""What a plan still lacks, and why each miss is a miss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lnlab.store.records import Found, Record, look

NEVER = "never measured"


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


def misses(root: Path, wanted: Mapping[str, Sequence[str]]) -> dict[str, Miss]:
    """Trajectory -> what it lacks of ``wanted`` (trajectory -> measurements); one that lacks nothing is not there.

    Raises:
        StoreError: this user may not read the store.
    """
    found = ((trajectory, miss_of(look(root, trajectory), keys)) for trajectory, keys in wanted.items())
    return {trajectory: miss for trajectory, miss in found if miss}


def miss_of(found: Found, wanted: Sequence[str]) -> Miss | None:
    """What the records of one trajectory lack of ``wanted``."""
    held = found.first()
    missing = tuple(key for key in wanted if key not in held)
    if not missing and (wanted or any(record.finished for record in found.records)):
        return None
    attempts = [r for r in found.records if not r.finished and (not missing or set(missing) & set(r.asked))]
    if found.damaged:
        return Miss(missing, f"file damaged: {'; '.join(found.damaged)}")
    if attempts:
        status, reason = (attempts[-1].outcome[name] for name in ("status", "reason"))
        said = f"the last attempt {_VERBS.get(status, status)}"
        return Miss(missing, f"{said}: {reason}" if reason else said, attempts[-1])
    if held and missing:
        return Miss(missing, f"{NEVER}: {len(missing)} of {len(wanted)} measurements are new here")
    return Miss(missing, NEVER)


_VERBS = {
    "failed": "failed",
    "diverged": "diverged",
    "interrupted": "was interrupted",
    "timed_out": "ran out of time",
    "out_of_memory": "ran out of memory",
}
