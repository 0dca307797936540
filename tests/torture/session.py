"""What a store goes through in these tests: plans, units that are measured or train, packs, verdicts, removal.

Its numbers cost nothing and are a function of keys and steps alone. Functions that end in ``_job`` run in a child.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from lnlab.compile.plan import Plan
from lnlab.compile.work import Measurement, Run, Trajectory
from lnlab.errors import StoreError
from lnlab.keys import digest
from lnlab.store import packing
from lnlab.store.garbage import remove_garbage
from lnlab.store.leases import LEASE_PERIOD
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.layout import LEASE_FILE, trajectory_folder
from lnlab.store.records.records import StoreReader
from lnlab.store.store import Store
from lnlab.tables import Results, frame
from tests.support.interposer import Interposer, Killer, Recorder, Refuser
from tests.support.results_digest import results_digest
from tests.support.store_toys import outcome_of, plan_of, rows_of

STEPS, STRETCH = 6, 2
Log = Callable[[str, str], None]
"""Called with what happened and to which unit: computed a stretch, or committed it."""


def unheard(_what: str, _unit: str) -> None:
    """Listen to nothing."""


def trained_plan(variants: int = 1, seeds: int = 2, trained: int = 1, name: str = "toy") -> Plan:
    """A plan of units that are measured, some of which train for a few updates before."""
    plan = plan_of(variants, seeds, name=name)
    trajectories, runs, needs = list(plan.trajectories), list(plan.runs), list(plan.needs)
    for n in range(len(runs) - trained, len(runs)):
        old, run = trajectories[n], runs[n]
        key = digest(["trained", old.key])
        due = tuple(Measurement(digest([key, m.key]), STEPS, m.probe) for m in old.measurements)
        trajectories[n] = Trajectory(key, old.seed, old.setting, STEPS, due)
        runs[n] = Run(digest([key, STEPS]), key, STEPS, run.variant, run.seed)
        needs = [need for need in needs if need[0] != run.key]
        needs += [(runs[n].key, STEPS, each.probe, each.key) for each in due]
    return replace(plan, trajectories=tuple(trajectories), runs=tuple(runs), needs=tuple(needs))


PLAN = trained_plan(seeds=3)
OLD_PLAN = trained_plan(variants=2, seeds=1, trained=0, name="old")


def compute(store: Store, unit: Trajectory, log: Log = unheard) -> bool | None:
    """Do what a unit lacks, as a worker would; whether there was anything to do, None while somebody else does it."""
    opened = store.open_unit(unit.key)
    if opened is None:
        return None
    missing = opened.missing([each.key for each in unit.measurements])
    if not missing and (not unit.steps or opened.settled(unit.steps)):
        opened.abandon()
        return False
    resumed = opened.resume(unit.steps) if unit.steps else None
    try:
        log("computes", f"{unit.key} {resumed.step if resumed else 0}")
        step = resumed.step if resumed else 0
        if resumed:
            known = [row["step"] for row in resumed.curves]
            assert known == list(range(len(known))), f"resumed at {step} with the losses of {known}"
            assert len(known) >= step, f"resumed at {step} with {len(known)} losses"
        while step < unit.steps:
            rows = [_loss(unit.key, n) for n in range(step, step + STRETCH)]
            step += STRETCH
            opened.write("curves", rows)
            if step < unit.steps:
                opened.save(step, bytes([step]) * 64, {"step": step})
                opened.go_on([], outcome_of(unit, "interrupted", f"kept at step {step}") | {"steps": step})
                log("commits", f"{unit.key} {step}")
        for each in unit.measurements:
            if each.key in missing:
                opened.write("sites", [{**row, "step": each.step} if "step" in row else row for row in rows_of(each)])
    except BaseException:
        with suppress(StoreError):
            opened.abandon()
        raise
    opened.commit(missing, outcome_of(unit) | {"steps": unit.steps})
    log("commits", f"{unit.key} {unit.steps}")
    return True


def _loss(key: str, step: int) -> dict[str, Any]:
    value = int(digest([key, step])[:8], 16) / 7
    return {"trajectory": key, "step": step, "split": "train", "quantity": "loss", "value": value}


def live(root: Path, log: Log = unheard, *, loose: bool = False) -> None:
    """One session: an old plan and a new one, everything computed, packed twice, judged, the old plan removed.

    With ``loose`` it ends before it packs a second time.
    """
    packing.MIN_LOOSE_TRAJECTORIES, packing.MAX_SMALL_PACKS = 2, 1
    spec = root.with_name("toy.yaml")
    store = Store(root)
    store.save_plan(OLD_PLAN, spec)
    for unit in OLD_PLAN.trajectories:
        compute(store, unit, log)
    store.pack()
    store.save_plan(PLAN, spec)
    for unit in PLAN.trajectories:
        compute(store, unit, log)
    store.keep_verdicts(PLAN.digest, frame("verdicts", [{"claim": "a", "rows": "1", "verdict": "supported", "n": 3}]))
    if loose:
        return
    store.pack()
    needed = {unit.key for unit in PLAN.trajectories}
    remove_garbage(root, [OLD_PLAN.digest], [u.key for u in OLD_PLAN.trajectories if u.key not in needed])


def completed(store: Store, plan: Plan = PLAN) -> dict[str, tuple[int, int]]:
    """Unit -> updates that readers see of it, and measurements."""
    seen = {}
    for key, contents in StoreReader(store.root).read_all([unit.key for unit in plan.trajectories]):
        if contents.records:
            seen[key] = coverage_of(contents.records).covered, len(contents.first_holders())
    return seen


def heal(root: Path, expected: str, promised: dict[str, int], plan: Plan = PLAN) -> list[str]:
    """Open a store after a fault and run its plan again; a sentence for each promise that is not kept.

    Args:
        root: the store.
        expected: the digest of an undisturbed run.
        promised: unit -> updates that were committed before the fault.
        plan: what is run.
    """
    store, losses, log = Store(root), [], []
    try:
        losses += _partial(store, plan)
        seen = completed(store, plan)
        losses += [
            f"{key[:8]} was committed up to update {steps} and is not there"
            for key, steps in promised.items()
            if key not in seen or seen[key][0] < steps
        ]
        store.save_plan(plan, root.with_name("toy.yaml"))
        for unit in plan.trajectories:
            if rerun(store, unit, lambda what, key: log.append((what, key))) is None:
                losses.append(f"{unit.key[:8]} stays in other hands")
        losses += [
            f"{unit.key[:8]} was finished and computed again"
            for unit in plan.trajectories
            if seen.get(unit.key) == (unit.steps, len(unit.measurements))
            and any(what == "computes" and key.startswith(unit.key) for what, key in log)
        ]
        results = store.results(plan.digest)
        if results_digest(results) != expected:
            losses.append("the rows differ from those of an undisturbed run")
        if store.pending(plan):
            losses.append(f"{len(store.pending(plan))} units are missing after a rerun")
        store.pack()
        if results_digest(store.results(plan.digest)) != expected:
            losses.append("the rows differ once they are packed")
        leases = [trajectory_folder(root, unit.key) / LEASE_FILE for unit in plan.trajectories]
        losses += [f"the lease of {lease.parent.name[:8]} stays" for lease in leases if lease.exists()]
    except Exception as error:  # whatever it is, the store did not open or did not heal
        losses.append(f"{type(error).__name__}: {error}")
    return losses


def rerun(store: Store, unit: Trajectory, log: Log = unheard) -> bool | None:
    """Do what a unit lacks; who died with a lease has given no sign of life for a while by the time this runs."""
    done = compute(store, unit, log)
    if done is None:
        lease, past = trajectory_folder(store.root, unit.key) / LEASE_FILE, time.time() - 2 * LEASE_PERIOD
        if lease.exists():
            os.utime(lease, (past, past))
        done = compute(store, unit, log)
    return done


def _partial(store: Store, plan: Plan) -> list[str]:
    """A sentence for each run that readers see in part."""
    try:
        results = store.results(plan.digest)
    except StoreError as error:
        return [] if all("run the spec again" in problem.remedy for problem in error.issues) else [str(error)]
    return partial_runs(results)


def partial_runs(results: Results) -> list[str]:
    """A sentence for each finished run without all of its rows."""
    losses = []
    finished = results.runs.filter(status="finished").select("run", "steps").iter_rows()
    counts = {
        table: dict(results.tables[table].group_by("run").len().iter_rows()) if table in results.tables else {}
        for table in ("sites", "curves")
    }
    for run, steps in finished:
        if counts["sites"].get(run) != 6 or counts["curves"].get(run, 0) != steps:
            losses.append(f"run {run[:8]} is shown in part")
    return losses


def undisturbed_job(folder: str) -> tuple[str, list[str]]:
    """The digest of an undisturbed run, and the names of the changes that it makes."""
    root, recorder = Path(folder) / "store", Recorder()
    prepare(root)
    Interposer(root, recorder).install()
    live(root)
    changes = [call.name for call in recorder.calls]
    return results_digest(Store(root).results(PLAN.digest)), changes


def prepare(root: Path) -> None:
    """The spec beside a store that is not there yet."""
    root.parent.mkdir(parents=True, exist_ok=True)
    root.with_name("toy.yaml").write_text("title: toy\n")


def killed_job(folder: str, number: int, moment: str) -> None:
    """A session that kills itself."""
    root = Path(folder) / "store"
    prepare(root)
    progress = os.open(Path(folder) / "progress", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    Interposer(root, Killer(number, moment)).install()
    live(root, lambda what, unit: os.write(progress, f"{what} {unit}\n".encode()) and None)
    os.kill(os.getpid(), signal.SIGTERM)  # it should not have come so far


def refused_job(folder: str, number: int, code: int, lasting: bool, names: list[str]) -> tuple[str, int]:
    """A session in which calls are refused: what it says, and how many were."""
    root = Path(folder) / "store"
    prepare(root)
    progress = os.open(Path(folder) / "progress", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    refuser = Refuser(number, code, lasting, tuple(names))
    Interposer(root, refuser).install()
    try:
        live(root, lambda what, unit: os.write(progress, f"{what} {unit}\n".encode()) and None)
    except StoreError as error:
        (problem,) = error.issues
        return f"{problem.where}|{problem.what}|{problem.remedy}", refuser.refused
    return "", refuser.refused


def calls_job(folder: str, names: list[str]) -> int:
    """How many calls of these names a session makes."""
    counted = Refuser(0, 0, lasting=False, names=tuple(names))
    counted.number = 1 << 60
    root = Path(folder) / "store"
    prepare(root)
    Interposer(root, counted).install()
    live(root)
    return counted.done


def healed_job(folder: str, expected: str) -> list[str]:
    """What is lost of a session that came to a bad end."""
    progress = Path(folder) / "progress"
    promised: dict[str, int] = {}
    keys = {unit.key for unit in PLAN.trajectories}
    for line in progress.read_text().splitlines() if progress.exists() else ():
        what, key, step = line.split()
        if what == "commits" and key in keys:
            promised[key] = int(step)
    return heal(Path(folder) / "store", expected, promised)
