"""How a run came out: what its trajectory's records say of as many updates as it asks for."""

from typing import Any

from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.record import Record
from lnlab.store.records.records import TrajectoryContents

OUTCOME_COLUMNS = ("status", "reason", "seconds", "parameters", "last_finite_loss", "device", "versions")


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
        seconds = float(sum(each.outcome["seconds"] or 0.0 for each in needed or contents.records[:1]))
        row = _columns(record) | {"seconds": seconds}
        extent = {"done": end.steps} if end else {"done": request.steps, "status": "finished", "reason": None}
        return row | (extent if request.steps else {"done": 0})
    if miss.attempt is not None:
        reached = max(coverage_of(contents.records).covered, miss.attempt.steps)
        return _columns(miss.attempt) | {"done": min(reached, request.steps)}
    return dict.fromkeys((*OUTCOME_COLUMNS, "done")) | {"reason": miss.reason if contents.damaged else None}


def _columns(record: Record) -> dict[str, Any]:
    return {name: record.outcome.get(name) for name in OUTCOME_COLUMNS}


def _deciding_record(contents: TrajectoryContents, request: TrajectoryRequest) -> Record:
    """The record that a settled run shows.

    Of a run with updates that of its end, or the last that its updates needed; else the first that finished and holds
    something of it, or the first.
    """
    if request.steps:
        end = coverage_of(contents.records).ended(request.steps)
        return end or next(r for r in contents.records if r.first_step < request.steps <= r.steps)
    keys = set(request.measurements)
    holders = [record for record in contents.records if not keys or keys & set(record.measurements)]
    return next((record for record in holders if record.finished), holders[0])
