"""One unit of work in a worker process. It never raises: it answers with a status and a line of text.

Rows go from here to the store; to the parent go a few bytes.
"""

import json
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
from lnlab.errors import CorpusError, LabError, Problem, StoreError
from lnlab.execute.checkpoint import from_bytes
from lnlab.execute.interrupts import URGENT, Stops, counting_stops
from lnlab.execute.program import build, intervened, parameters
from lnlab.execute.trainer import Walk
from lnlab.execute.unit import BUSY, CORPUS, STORE, Answer, Assignment, Registries, Unit
from lnlab.execute.worker_process import output_to, settle
from lnlab.randomness import Draw
from lnlab.tables import Resumed, Row

_MEMORY = ("not enough memory", "can't allocate memory", "out of memory")


def prepare(assignment: Assignment) -> Answer:
    """Read the corpus of an assignment, so that an absent one is found before any work, and is at hand for it."""
    settle()
    key, setting = assignment.trajectory.key, assignment.trajectory.setting
    try:
        with output_to(Path("/dev/null")):
            build_task = assignment.load()["task"].builder(setting["task"])
            list(islice(build_task(Draw(assignment.trajectory.seed), assignment.roots).batches("train", "probe"), 1))
    except CorpusError as error:
        return Answer(key, CORPUS, problems=error.problems)
    except (Exception, SystemExit) as error:  # whatever else is wrong, the units will say of themselves
        return Answer(key, "failed", _line(error))
    return Answer(key, "finished")


def work(assignment: Assignment) -> Answer:
    """Do what one trajectory lacks."""
    settle()
    with counting_stops(URGENT) as stops:  # Ctrl-C in a terminal reaches workers as well, which finish
        return _work(assignment, stops)


def _work(assignment: Assignment, stops: Stops) -> Answer:
    laps, key = Laps(), assignment.trajectory.key
    try:
        unit = assignment.open_unit(key)
        if unit is None:
            return Answer(key, BUSY, "another process works on it")
        status, text = _do(assignment, unit, laps, stops)
    except StoreError as error:
        return Answer(key, STORE, problems=error.problems)
    except CorpusError as error:
        return Answer(key, CORPUS, problems=error.problems)
    except Exception as error:  # nothing may break the pool
        return Answer(key, STORE, problems=(Problem("", f"the store failed: {_line(error)}"),))
    return Answer(key, status, text, laps.whole())


class Laps:
    """A clock: seconds since it was made, and since it was last asked for a lap."""

    def __init__(self) -> None:
        self._begun = self._lap = time.perf_counter()

    def whole(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._begun

    def lap(self) -> float:
        """Seconds since the lap before."""
        before, self._lap = self._lap, time.perf_counter()
        return self._lap - before


def _do(assignment: Assignment, unit: Unit, laps: Laps, stops: Stops) -> tuple[str, str]:
    trajectory = assignment.trajectory
    keys = [each.key for each in trajectory.measurements]
    missing, settled = set(unit.missing(keys)), unit.settled(trajectory.steps)
    if not missing and (settled or (keys and not trajectory.steps)):
        unit.abandon()
        return "finished", "another process finished it"
    due = [each for each in trajectory.measurements if each.key in missing]
    target = max([each.step for each in due] + ([] if settled else [trajectory.steps]), default=0)
    try:
        resumed = unit.resume(_latest(due, target, assignment.load())) if target else None
        with output_to(unit.output):
            taken, row = _run(assignment, due, target, unit, resumed, laps, stops)
    except BaseException:
        unit.abandon()
        raise
    unit.commit(taken, row | {"seconds": laps.lap()})
    return row["status"], row["reason"] or ""


def _latest(due: Sequence[Measurement], target: int, registries: Registries) -> int:
    """The last step from which all that is due can still be measured; an update is seen by making it."""
    probes = registries["probe"]
    return min([target, *(each.step - bool(probes[each.probe["kind"]].facts.update) for each in due)])


def _run(
    assignment: Assignment,
    due: Sequence[Measurement],
    target: int,
    unit: Unit,
    resumed: Resumed | None,
    laps: Laps,
    stops: Stops,
) -> tuple[list[str], dict[str, Any]]:
    """The measurements taken, and the row of outcomes."""
    trajectory, elements = assignment.trajectory, None
    walk: Walk | None = None
    with ExitStack() as acting:
        try:
            registries = assignment.load()
            state = build(trajectory, registries, assignment.roots)
            elements = parameters(state.model)
            acting.enter_context(intervened(state.model, state.optimizer, trajectory.setting, registries))
            if resumed is not None:
                from_bytes(state, resumed.content, resumed.facts)

            def partial(steps: int, loss: float | None) -> Row:
                row = outcome(trajectory, "interrupted", f"kept at step {steps}", elements, steps, loss)
                return row | {"seconds": laps.lap()}

            going = target, _by_step(due), unit, registries, partial, _end
            walk = Walk(state, trajectory, *going, save_every=assignment.save_every, stops=stops)
            walk.remember(resumed.curves if resumed else ())
            ending = walk.go()
        except (CorpusError, StoreError):
            raise
        except (Exception, SystemExit) as error:
            taken, done, loss = (walk.taken, state.step, walk.last_finite_loss) if walk else ([], 0, None)
            return taken, outcome(trajectory, *_end(error), elements, done, loss)
    status, said = (walk.missed[0][0], "; ".join(reason for _, reason in walk.missed)) if walk.missed else (None, None)
    if status is None:
        status, said = (ending.status, ending.reason) if ending else ("finished", None)
    return walk.taken, outcome(trajectory, status, said, elements, state.step, walk.last_finite_loss)


def _by_step(due: Sequence[Measurement]) -> dict[int, list[Measurement]]:
    found: dict[int, list[Measurement]] = {}
    for each in due:
        found.setdefault(each.step, []).append(each)
    return found


def _end(error: BaseException) -> tuple[str, str]:
    """Status and reason; what a user cannot put right leaves its traceback in the output that is kept."""
    if not isinstance(error, LabError):
        traceback.print_exception(error)
    lacking = isinstance(error, MemoryError) or any(words in str(error) for words in _MEMORY)
    return "out_of_memory" if lacking else "failed", _line(error)


def _line(error: BaseException) -> str:
    """An error in one line."""
    said = " ".join(str(error).split())
    if isinstance(error, LabError):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def outcome(
    trajectory: Trajectory,
    status: str,
    reason: str | None,
    elements: int | None = None,
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
        "parameters": elements,
        "seconds": 0.0,
        "device": f"cpu ({platform.processor() or platform.machine()})",
        "versions": json.dumps(
            {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "lnlab": __version__,
                "platform": platform.platform(),
            }
        ),
    }
