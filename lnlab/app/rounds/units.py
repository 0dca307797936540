"""Compute the units of a plan: the workers, the memory that they may use, and the display of progress."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.progress import progress_reporter
from lnlab.app.request import Request
from lnlab.app.run_options import RunOptions
from lnlab.app.run_summary import RunSummary
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.memory import LIBRARIES, MemoryPlan, plan_memory
from lnlab.compile.plan import Plan, Trajectory
from lnlab.compile.reference.explain import call_label
from lnlab.errors import LabError
from lnlab.execute.devices import device_kind, require_devices, visible_gpu
from lnlab.execute.machine import ThisMachine
from lnlab.execute.registry_loader import RegistryLoader
from lnlab.execute.scheduler import sweep
from lnlab.issues import Issue
from lnlab.store.plans import StoredPlan
from lnlab.store.store import Store

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def compute_units(
    store: Store,
    plan: Plan,
    stored: StoredPlan,
    due_units: Sequence[Trajectory],
    request: Request,
    known: "Registries",
    options: RunOptions,
) -> RunSummary:
    """Compute these units of a plan.

    Raises:
        LabError: there is not enough memory for even one unit.
    """
    devices = {device_kind(unit.setting) for unit in due_units}
    require_devices(devices)
    here, limit = ThisMachine(options.workers), options.memory
    memory = min(here.memory, limit or here.memory)
    gpus = here.gpus(devices)
    memory_plan = plan_memory(due_units, known, here.workers, memory, gpus)
    if not memory_plan.fits:
        raise LabError(memory_problem(memory_plan, limit))
    if limit:
        # GPUs or the machine itself may be what has no room for more.
        without_limit = plan_memory(due_units, known, here.workers, here.memory, gpus).workers
        if memory_plan.workers < min(without_limit, len(due_units)):
            workers = format_count(memory_plan.workers, "worker")
            allowed = format_quantity(limit, "B")
            options.console.print(f"--max-memory: {workers} of {here.workers} at once, as {allowed} are for no more")
    units = memory_plan.units
    costs = unit_seconds(units, known)
    at_root = replace(store, root=store.root.absolute())
    names = unit_names(plan, costs)
    total = sum(costs.values())
    with progress_reporter(names, total, console=options.console, quiet=options.quiet) as show:
        registry_loader = RegistryLoader(tuple(path.absolute() for path in request.plugins))
        roots = request.roots
        summary = sweep(
            units,
            at_root.open_unit,
            registry_loader,
            roots=roots,
            workers=memory_plan.workers,
            costs=costs,
            save_every=options.save_every,
            on_event=show,
            live=None if options.quiet else at_root.live,
            gpus=[visible_gpu(number) for number in memory_plan.devices] if "cuda" in devices else (),
        )
    return RunSummary(
        stored=stored,
        # What another process computed meanwhile was not done here.
        scheduled=len(units) - summary.elsewhere,
        units=summary.ended.total() - summary.elsewhere,
        seconds=summary.seconds,
        interrupted=summary.interrupted,
    )


def memory_problem(memory_plan: MemoryPlan, limit: int | None) -> Issue:
    """The problem that the largest GPU, this machine, or the ``limit`` that was set has no room for even one unit."""
    needed = format_quantity(memory_plan.peak + LIBRARIES, "B")
    what = f"one unit needs about {needed} at its peak"
    if limit is not None and not memory_plan.on_gpus:
        least = 1.01 * (memory_plan.peak + LIBRARIES) / 1e9
        remedy = f"allow at least {least:.3g} gigabytes, or take fewer steps, draws or batches"
        return Issue("out-of-memory", f"--max-memory {limit / 1e9:g}", what, remedy)
    whose = "the largest GPU" if memory_plan.on_gpus else "this machine"
    what += f", and {whose} has {format_quantity(memory_plan.memory, 'B')}"
    return Issue("out-of-memory", "", what, "take fewer steps, draws or batches, or a smaller model")


def unit_seconds(units: Sequence[Trajectory], known: "Registries") -> dict[str, float]:
    """What each unit costs beside others: its seconds on the reference machine."""
    return {unit.key: cost(unit.setting, unit.measurements, known).seconds() for unit in units}


def unit_names(plan: Plan, keys: Collection[str]) -> dict[str, str]:
    """What each of these trajectories is, in words: ``placement=post model.layers=6, seed 3``."""
    names = {}
    for run in plan.runs:
        if run.trajectory in keys:
            point = " ".join(f"{axis}={call_label(value)}" for axis, value in plan.points[run.variant].items())
            names[run.trajectory] = f"{point}, seed {run.seed}" if point else f"seed {run.seed}"
    return names
