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
from lnlab.execute.measure import measure
from lnlab.execute.process import output_to, settle
from lnlab.execute.program import build, intervened, parameters
from lnlab.execute.unit import BUSY, CORPUS, STORE, Answer, Assignment, Registries, Unit
from lnlab.probes.probe import State
from lnlab.randomness import Draw

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
    begun = time.perf_counter()
    key = assignment.trajectory.key
    try:
        unit = assignment.open_unit(key)
        if unit is None:
            return Answer(key, BUSY, "another process works on it")
        status, text = _do(assignment, unit, begun)
    except StoreError as error:
        return Answer(key, STORE, problems=error.problems)
    except CorpusError as error:
        return Answer(key, CORPUS, problems=error.problems)
    except Exception as error:  # nothing may break the pool
        return Answer(key, STORE, problems=(Problem("", f"the store failed: {_line(error)}"),))
    return Answer(key, status, text, time.perf_counter() - begun)


def _do(assignment: Assignment, unit: Unit, begun: float) -> tuple[str, str]:
    trajectory = assignment.trajectory
    keys = [each.key for each in trajectory.measurements]
    missing = set(unit.missing(keys))
    if not missing and (keys or unit.settled()):
        unit.abandon()
        return "finished", "another process finished it"
    due = [each for each in trajectory.measurements if each.key in missing]
    try:
        with output_to(unit.output):
            taken, row = _run(assignment, due, unit)
    except BaseException:
        unit.abandon()
        raise
    unit.commit(taken, row | {"seconds": time.perf_counter() - begun})
    return row["status"], row["reason"] or ""


def _run(assignment: Assignment, due: Sequence[Measurement], unit: Unit) -> tuple[list[str], dict[str, Any]]:
    """The measurements taken, and the row of outcomes."""
    trajectory, elements = assignment.trajectory, None
    with ExitStack() as acting:
        try:
            registries = assignment.load()
            state = build(trajectory, registries, assignment.roots)
            elements = parameters(state.model)
            acting.enter_context(intervened(state.model, state.optimizer, trajectory.setting, registries))
        except CorpusError:
            raise
        except (Exception, SystemExit) as error:
            return [], outcome(trajectory, *_end(error), elements)
        taken, ends = _taken(state, due, unit, registries)
    status = ends[0][0] if ends else "finished"
    said = "; ".join(reason for _, reason in ends)
    return taken, outcome(trajectory, status, said or None, elements)


def _taken(
    state: State, due: Sequence[Measurement], unit: Unit, registries: Registries
) -> tuple[list[str], list[tuple[str, str]]]:
    """The measurements taken, and how the others ended; one that fails does not keep the others from being taken."""
    taken: list[str] = []
    ends: list[tuple[str, str]] = []
    for measurement in due:
        try:
            table, rows = measure(state, measurement, registries)
            unit.write(table, rows)
            taken.append(measurement.key)
        except (CorpusError, StoreError):
            raise
        except (Exception, SystemExit) as error:
            status, reason = _end(error)
            ends.append((status, f"{measurement.probe['kind']}: {reason}"))
    return taken, ends


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


def outcome(trajectory: Trajectory, status: str, reason: str | None, elements: int | None = None) -> dict[str, Any]:
    """A row of ``outcomes`` for work that made no update."""
    return {
        "trajectory": trajectory.key,
        "steps": 0,
        "status": status,
        "reason": reason,
        "last_finite_loss": None,
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
