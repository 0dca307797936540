"""One unit of work in a worker process. It never raises: it answers with a status and a line of text.

Rows go to the store. The parent gets a few bytes.
"""

import json
import os
import platform
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from lnlab import __version__
from lnlab.compile.work import Measurement, Trajectory
from lnlab.errors import CorpusError, LabError, StoreError
from lnlab.execute.checkpoint import from_bytes
from lnlab.execute.devices import device_kind
from lnlab.execute.interrupts import URGENT, Stops, counting_stops
from lnlab.execute.machine import device_name
from lnlab.execute.program import build, count_parameters, intervened
from lnlab.execute.trainer import Trainer
from lnlab.execute.unit import BUSY, CORPUS, STORE, Answer, Assignment, WorkUnit
from lnlab.execute.worker_process import become_worker, output_to
from lnlab.issues import Issue
from lnlab.process_limits import is_out_of_memory, problem_of_limits
from lnlab.randomness import Draw
from lnlab.tables import Resumed, Row


def prepare(assignment: Assignment) -> Answer:
    """Read the corpus of an assignment: an absent one is an error before any work, and workers have it in memory."""
    become_worker()
    key = assignment.trajectory.key
    setting = assignment.trajectory.setting
    try:
        with output_to(Path(os.devnull)):
            _require_planned_text(assignment)
            build_task = assignment.load()["task"].builder(setting["task"])
            list(islice(build_task(Draw(assignment.trajectory.seed), assignment.roots).batches("train", "probe"), 1))
    except CorpusError as error:
        return Answer(key, CORPUS, problems=error.issues)
    except (Exception, SystemExit) as error:  # whatever else is wrong, the units themselves will report
        return Answer(key, "failed", _one_line(error))
    return Answer(key, "finished")


def work(assignment: Assignment) -> Answer:
    """Do what one trajectory lacks."""
    become_worker()
    with counting_stops(URGENT) as stops:  # Ctrl-C in a terminal reaches workers as well, which finish
        timer = Timer()
        key = assignment.trajectory.key
        try:
            unit = assignment.open_unit(key)
            if unit is None:
                return Answer(key, BUSY, "another process works on it")
            ended = _complete(assignment, unit, timer, stops)
        except StoreError as error:
            return Answer(key, STORE, problems=error.issues)
        except CorpusError as error:
            return Answer(key, CORPUS, problems=error.issues)
        except Exception as error:  # nothing may break the pool
            failed = Issue("failed", "", f"the store failed: {_one_line(error)}")
            return Answer(key, STORE, problems=(problem_of_limits(error) or failed,))
        if ended is None:
            return Answer(key, "finished", "another process finished it", seconds=timer.total(), elsewhere=True)
        status, text = ended
        return Answer(key=key, status=status, text=text, seconds=timer.total())


class Timer:
    """Seconds since its construction, and since its last lap."""

    def __init__(self) -> None:
        self._begun = self._lap = time.perf_counter()

    def total(self) -> float:
        """Seconds since its construction."""
        return time.perf_counter() - self._begun

    def lap(self) -> float:
        """Seconds since the lap before."""
        before = self._lap
        self._lap = time.perf_counter()
        return self._lap - before


def _complete(assignment: Assignment, unit: WorkUnit, timer: Timer, stops: Stops) -> tuple[str, str] | None:
    """Compute what a unit lacks.

    Returns:
        The status of what was computed and a line on it, or None if another process has computed all of it.
    """
    trajectory = assignment.trajectory
    keys = [m.key for m in trajectory.measurements]
    missing = set(unit.missing(keys))
    complete = unit.settled(trajectory.steps) and not trajectory.kept  # whose last state is what is wanted
    if not missing and (complete or (keys and not trajectory.steps)):
        unit.abandon()
        return None
    due = [m for m in trajectory.measurements if m.key in missing]
    target = max([m.step for m in due] + ([] if complete else [trajectory.steps]), default=0)
    try:
        resumed = None
        if target:  # else nothing is loaded here: pieces that cannot be loaded fail the unit in `_run`
            probes = assignment.load()["probe"]
            # The last step from which all that is due can still be measured. To see an update, a run must apply it.
            latest = min([target, *(m.step - bool(probes[m.probe["kind"]].facts.update) for m in due)])
            resumed = unit.resume(latest)
        with output_to(unit.output):
            measured, row = _run(assignment, due, target, unit, resumed, timer, stops)
    except BaseException:
        unit.abandon()
        raise
    unit.commit(measured, row | {"seconds": timer.lap()})
    return row["status"], row["reason"] or ""


def _run(
    assignment: Assignment,
    due: Sequence[Measurement],
    target: int,
    unit: WorkUnit,
    resumed: Resumed | None,
    timer: Timer,
    stops: Stops,
) -> tuple[list[str], dict[str, Any]]:
    """Build the state, run it to its target, and return the keys of the measurements made and the row of outcomes."""
    trajectory = assignment.trajectory
    due_by_step: dict[int, list[Measurement]] = {}
    for measurement in due:
        due_by_step.setdefault(measurement.step, []).append(measurement)
    parameter_count = None
    trainer: Trainer | None = None
    with ExitStack() as interventions:
        try:
            registries = assignment.load()
            _require_planned_text(assignment)
            state = build(trajectory, registries, assignment.roots)
            parameter_count = count_parameters(state.model)
            interventions.enter_context(intervened(state.model, state.optimizer, trajectory.setting, registries))
            if resumed is not None:
                from_bytes(state, resumed.content, resumed.facts)

            def partial(steps: int, loss: float | None) -> Row:
                row = outcome(trajectory, "interrupted", f"kept at step {steps}", parameter_count, steps, loss)
                return row | {"seconds": timer.lap()}

            trainer = Trainer(
                state,
                trajectory,
                target=target,
                due=due_by_step,
                unit=unit,
                registries=registries,
                partial=partial,
                explain=_status_of_error,
                save_every=assignment.save_every,
                stops=stops,
            )
            trainer.restore_curves(resumed.curves if resumed else ())
            ending = trainer.run()
        except (CorpusError, StoreError):
            raise
        except (Exception, SystemExit) as error:
            ended = _status_of_error(error)
            if trainer is None:
                return [], outcome(trajectory, *ended, parameter_count)
            return trainer.measured, outcome(trajectory, *ended, parameter_count, state.step, trainer.last_finite_loss)
    status, reason = (ending.status, ending.reason) if ending else ("finished", None)
    if trainer.failures:  # a measurement that failed comes before what ended the run
        status, reason = trainer.failures[0][0], "; ".join(why for _, why in trainer.failures)
    return trainer.measured, outcome(trajectory, status, reason, parameter_count, state.step, trainer.last_finite_loss)


def _require_planned_text(assignment: Assignment) -> None:
    """Refuse a corpus whose files are others than those of the plan: its rows would have the key of another text.

    Raises:
        CorpusError: they were changed, or are gone.
    """
    trajectory = assignment.trajectory
    if trajectory.task is None:
        return
    if assignment.load()["task"].key(trajectory.setting["task"], assignment.roots) != trajectory.task:
        what = "the files of its corpus were changed after this run was planned"
        remedy = "run it again, now of the new text: what is finished is kept"
        raise CorpusError(Issue("differs", "task.corpus", what, remedy))


def _status_of_error(error: BaseException) -> tuple[str, str]:
    """Status and reason of an error. One that no user can correct leaves its traceback in the stored output."""
    if not isinstance(error, LabError):
        traceback.print_exception(error)
    return "out_of_memory" if is_out_of_memory(error) else "failed", _one_line(error)


def _one_line(error: BaseException) -> str:
    """An error in one line."""
    message = " ".join(str(error).split())
    if isinstance(error, LabError):
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def outcome(
    trajectory: Trajectory,
    status: str,
    reason: str | None,
    parameter_count: int | None = None,
    steps: int = 0,
    loss: float | None = None,
) -> dict[str, Any]:
    """A row of ``outcomes`` for work that led to a state after ``steps`` updates."""
    return {
        "trajectory": trajectory.key,
        "steps": steps,
        "status": status,
        "reason": reason,
        "last_finite_loss": loss,
        "parameters": parameter_count,
        "seconds": 0.0,
        "device": device_name(device_kind(trajectory.setting)),
        "versions": json.dumps(
            {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "lnlab": __version__,
                "platform": platform.platform(),
            }
        ),
    }
