"""What the records of a trajectory say of what a plan asks of it: what is missing and why, and how its runs ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.record import Record
from lnlab.store.records.records import StoreReader, TrajectoryContents

OUTCOME_COLUMNS = ("status", "reason", "seconds", "parameters", "last_finite_loss", "device", "versions")
_NOT_STORED = "not in the store"
_VERBS = {
    "failed": "failed",
    "diverged": "diverged",
    "interrupted": "was interrupted",
    "timed_out": "ran out of time",
    "out_of_memory": "ran out of memory",
}


@dataclass(frozen=True)
class TrajectoryRequest:
    """What a plan asks of a trajectory.

    Attributes:
        steps: updates.
        measurements: key -> the updates made when it is taken, in the order of the plan.
    """

    steps: int = 0
    measurements: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MissingWork:
    """What a trajectory still lacks.

    Attributes:
        measurements: keys of those that no intact record holds, in the order of the plan. Empty if only training is
            missing.
        reason: why, in words.
        attempt: the last record that came to a bad end over these, if that is why.
    """

    measurements: tuple[str, ...]
    reason: str
    attempt: Record | None = None


def find_missing_work(root: Path, requests: Mapping[str, TrajectoryRequest]) -> dict[str, MissingWork]:
    """Trajectory -> what it lacks of its request. Trajectories that lack nothing are left out.

    Raises:
        StoreError: this user may not read the store.
    """
    contents = StoreReader(root).read_all(requests)
    by_trajectory = {trajectory: missing_of_request(stored, requests[trajectory]) for trajectory, stored in contents}
    return {trajectory: miss for trajectory in requests if (miss := by_trajectory[trajectory])}


def missing_of_request(contents: TrajectoryContents, request: TrajectoryRequest) -> MissingWork | None:
    """What the records of one trajectory lack of a request. Nothing is missing beyond the trajectory's own end."""
    holders = contents.first_holders()
    coverage = coverage_of(contents.records)
    end = coverage.ended(request.steps)
    due = [key for key, step in request.measurements.items() if end is None or step <= end.steps]
    missing = tuple(key for key in due if key not in holders)
    reached = end is not None or request.steps <= coverage.covered
    if not missing and reached and (due or request.steps or any(record.finished for record in contents.records)):
        return None
    attempts = [
        record
        for record in contents.records
        # a bad end that is not the trajectory's own
        if not (record.finished or record.ends) and (not missing or set(missing) & set(record.asked))
    ]
    if contents.damaged:
        return MissingWork(missing, f"file damaged: {'; '.join(contents.damaged)}")
    if attempts:
        status, reason = (attempts[-1].outcome[name] for name in ("status", "reason"))
        sentence = f"the last attempt {_VERBS.get(status, status)}"
        return MissingWork(missing, f"{sentence}: {reason}" if reason else sentence, attempts[-1])
    if not reached and coverage.covered:
        return MissingWork(missing, f"trained for {coverage.covered} of {request.steps} steps")
    if reached and holders and missing:
        return MissingWork(missing, f"{_NOT_STORED}: {len(missing)} of {len(due)} measurements")
    return MissingWork(missing, _NOT_STORED)


def outcome_of_run(contents: TrajectoryContents, request: TrajectoryRequest) -> dict[str, Any]:
    """The outcome columns of a run: of the record that settles it, of the last attempt, or null."""
    miss = missing_of_request(contents, request)
    if miss is None:
        record = _deciding_record(contents, request)
        coverage = coverage_of(contents.records)
        end = coverage.ended(request.steps)
        keys = set(request.measurements)
        needed = [r for r in contents.records if r.first_step < request.steps or keys & set(r.measurements)]
        # wall-clock time of all stretches that the run's updates and measurements needed
        times = [each.outcome["seconds"] for each in needed or contents.records[:1]]
        times = [seconds for seconds in times if seconds is not None]  # a report does not state them
        row = _columns(record) | {"seconds": float(sum(times)) if times else None}
        extent = {"done": end.steps} if end else {"done": request.steps, "status": "finished", "reason": None}
        return row | (extent if request.steps else {"done": 0})
    if miss.attempt is not None:
        reached = max(coverage_of(contents.records).covered, miss.attempt.steps)
        return _columns(miss.attempt) | {"done": min(reached, request.steps)}
    return dict.fromkeys((*OUTCOME_COLUMNS, "done")) | {"reason": miss.reason if contents.damaged else None}


def _columns(record: Record) -> dict[str, Any]:
    return {name: record.outcome.get(name) for name in OUTCOME_COLUMNS}


def _deciding_record(contents: TrajectoryContents, request: TrajectoryRequest) -> Record:
    """The record from which a run without missing work takes its outcome.

    For a run with updates, it is the record that ended the trajectory, or else the one that holds the run's last
    update. For a run of the initial state alone, it is the first finished record with a measurement of the run. If none
    finished, it is the first with one.
    """
    if request.steps:
        end = coverage_of(contents.records).ended(request.steps)
        return end or next(r for r in contents.records if r.first_step < request.steps <= r.steps)
    keys = set(request.measurements)
    holders = [record for record in contents.records if not keys or keys & set(record.measurements)]
    return next((record for record in holders if record.finished), holders[0])
