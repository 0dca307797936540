"""A run on SLURM or Ray: tasks work on the store together while this process waits and shows how far they are."""

import os
import shlex
import sys
import time
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lnlab.app.formats import format_count
from lnlab.app.missing_work import work_to_do
from lnlab.app.plan_facts import plan_facts
from lnlab.app.provenance import provenance_of_run
from lnlab.app.rehearsal.judgeable import require_judgeable
from lnlab.app.request import Request, compile_request, remembered_plan
from lnlab.app.rounds.units import unit_seconds
from lnlab.app.run_options import RunOptions
from lnlab.app.run_summary import RunSummary
from lnlab.app.watching import watched_run
from lnlab.committed.registries import load_registries
from lnlab.compile.cost.memory import LIBRARIES, plan_memory
from lnlab.errors import LabError
from lnlab.execute.cluster.array_tasks import SubmittedTasks, submit_tasks
from lnlab.execute.cluster.command import Command
from lnlab.execute.cluster.ray_tasks import RayTasks, connected, submit_to_ray
from lnlab.execute.devices import device_kind
from lnlab.execute.executor import ExecutorKind
from lnlab.execute.interrupts import counting_stops
from lnlab.issues import Issue
from lnlab.store.plans import PLAN_FILE
from lnlab.store.records.layout import plan_folder

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store

MOST_TASKS = 16
"""Tasks where nobody says how many."""
ROOM = 3
"""A task asks for so many times the estimated time of its share of the units. The requeued task does what is left."""
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
LOOK_EVERY = 5.0
"""Seconds between two looks at the store and at the queue."""
_ENVIRONMENT = ("LNLAB_DATA", "LNLAB_THREADS", "OMP_NUM_THREADS")


def run_on_cluster(
    store: "Store", request: Request, options: RunOptions, cluster: Literal["slurm", "local"] = "slurm"
) -> RunSummary:
    """Submit tasks that compute what the store lacks, and wait until they have ended.

    Ctrl-C and SIGTERM cancel the tasks, which save what they are at.

    Args:
        store: a folder that all nodes see.
        request: the question. All nodes have to see its files.
        options: workers of each task, number of tasks, parameters of sbatch, and whether to wait.
        cluster: ``local`` has processes of this machine in SLURM's place.

    Raises:
        LabError: the spec is wrong, the spec is no file, or the cluster refuses the tasks.
        StoreError: the store cannot be written.
    """
    if options.executor == ExecutorKind.ray:
        with connected(options.address, options.workers):
            return _run(store, request, options, cluster)
    return _run(store, request, options, cluster)


def _run(store: "Store", request: Request, options: RunOptions, cluster: Literal["slurm", "local"]) -> RunSummary:
    if request.text is not None:
        what = "a spec written in Python is not available on the nodes"
        raise LabError(Issue("unsupported", "executor", what, "write it to a YAML file that all nodes can read"))
    known = load_registries(request.plugins)
    require_judgeable(request, known)
    plan, document = compile_request(request, known)
    facts = plan_facts(request, plan, document, known, provenance_of_run(plan.inputs))
    stored = store.save_plan(plan, request.spec, facts, content=request.content)
    lacking = work_to_do(store.lacks(stored), retry_failed=options.retry_failed)
    if not lacking:
        store.used(stored)
        return RunSummary(stored)
    units = [unit for unit in plan.trajectories if unit.key in lacking]
    on_ray = options.executor == ExecutorKind.ray
    workers = 1 if on_ray else options.workers or 1
    # Nobody knows the memory of a node here: the plan is made as if there were room for every worker.
    memory = plan_memory(units, known, workers, options.memory or sys.maxsize)
    on_gpu = any(device_kind(unit.setting) == "cuda" for unit in units)
    # A task asks the same question of the same store, by absolute paths: a node may have another working folder.
    absolute = replace(request, spec=request.spec.absolute(), plugins=tuple(p.absolute() for p in request.plugins))
    words = shlex.split(absolute.command("run"))[1:]
    words += ["--store", str(store.root.absolute()), "--workers", str(workers), "--quiet"]
    words += ["--save-every", str(options.save_every), *(["--retry-failed"] if options.retry_failed else [])]
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    if folders := environment.get("LNLAB_DATA"):
        absolute_folders = (str(Path(folder).absolute()) for folder in folders.split(os.pathsep))
        environment["LNLAB_DATA"] = os.pathsep.join(absolute_folders)
    logs = store.root.absolute() / options.executor / f"{stored.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    command = Command(tuple(words), Path.cwd(), environment)
    needed = memory.peak + LIBRARIES
    tasks: SubmittedTasks | RayTasks
    if on_ray:
        file = plan_folder(store.root.absolute(), stored.digest) / PLAN_FILE
        tasks = submit_to_ray(command, options.workers, len(lacking), logs, file, needed, on_gpu=on_gpu)
        job = "Ray"
    else:
        number = min(options.tasks or MOST_TASKS, len(lacking))
        # Each task asks SLURM for cores for its workers, the memory of as many units, and time for its share.
        seconds = sum(unit_seconds(units, known).values()) / (number * workers)
        parameters: dict[str, str | int] = {
            "cpus_per_task": workers,
            # A quarter more than estimated, as SLURM ends a task that goes beyond.
            "mem_gb": ceil(1.25 * memory.workers * needed / 2**30),
            "time": min(max(ceil(ROOM * seconds / 60), LEAST_MINUTES), MOST_MINUTES),
            **options.sbatch_parameters,
        }
        # A GPU for each worker of a task whose units want one, unless the user has said which.
        if on_gpu and not any(name.startswith(("gpus", "gres")) for name in parameters):
            parameters["gpus_per_node"] = workers
        tasks = submit_tasks(command, number, logs, parameters, cluster)
        job = f"job {tasks.name}"
        if not options.quiet:
            asked = ", ".join(f"{name}={value}" for name, value in parameters.items())
            options.console.print(f"{job}: {format_count(number, 'task')} ({asked}); logs in {logs}")
        if not options.wait:
            options.console.print(f"scancel {tasks.name} ends it; {request.command('run')} judges what it has done")
            return RunSummary(stored, scheduled=len(lacking))
    started = time.monotonic()
    interrupted = _wait(store, stored, tasks, options)
    final = remembered_plan(store, request) or stored  # values were chosen: the tasks have gone on to other runs
    left = work_to_do(store.lacks(final), retry_failed=False)
    if left and not interrupted:
        what = f"{format_count(len(left), 'unit')} left undone"
        remedy = f"the logs of all tasks are in {tasks.logs}; the same command continues from here"
        logs_by_line = dict(tasks.failures())  # one log of several tasks that fail alike
        failures = [Issue("duplicate", str(log), f"{what}: {line}", remedy) for line, log in logs_by_line.items()]
        raise LabError(*(failures or [Issue("duplicate", job, what, remedy)]))
    done = len(lacking) - len(left.keys() & lacking.keys())
    return RunSummary(
        stored=final,
        scheduled=len(lacking),
        units=done,
        seconds=time.monotonic() - started,
        interrupted=interrupted,
    )


def _wait(store: "Store", stored: "StoredPlan", tasks: SubmittedTasks | RayTasks, options: RunOptions) -> int:
    """Show progress until every task has ended. Returns the signal that cancelled them, or 0."""
    shown: list[str] = []
    cancelled = False
    watch = store.watch(stored)
    with counting_stops() as stops:
        while not tasks.done():
            if stops.count and not cancelled:
                cancelled = True
                tasks.cancel()
            lines = list(watched_run(stored, watch.look()).lines())
            if not options.quiet and lines != shown:
                options.console.print("\n".join(lines), markup=False, highlight=False)
                shown = lines
            end = time.monotonic() + LOOK_EVERY
            # Signals are counted and raise nothing: short naps see a request to stop at once.
            while time.monotonic() < end and not (stops.count and not cancelled):
                time.sleep(0.1)
        return stops.first if cancelled else 0
