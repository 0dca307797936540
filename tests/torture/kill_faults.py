"""SIGKILL at random, to workers and to their parents: while units are measured, and while they train."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lnlab.compile.work import Trajectory
from lnlab.execute.scheduler import sweep
from lnlab.store.records.records import read_trajectory
from lnlab.store.store import Store
from tests.support import toy_pieces
from tests.support.forking import servers
from tests.support.results_digest import results_digest
from tests.support.toy_specs import TRAINED, toy_spec
from tests.torture.faults import Tally, fault
from tests.torture.worker_faults import unit_of

GROUP = "Killed at random"
PROMISE = (
    "nothing finished is lost or recorded twice, workers end with their parent, rows are those of an undisturbed run"
)
ROOT = Path(__file__).parents[2]
PARENT = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from lnlab.compile.work import Measurement, Trajectory
from lnlab.execute import pool
from lnlab.execute.scheduler import sweep
from lnlab.store.store import Store
from tests.support.toy_pieces import load

pool.PRELOADED.extend(["lnlab.execute.worker", "lnlab.execute.registry_loader"])
if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    units = [
        Trajectory(key, seed, setting, 0, tuple(Measurement(*each) for each in due))
        for key, seed, setting, due in json.loads(Path(sys.argv[2]).read_text())
    ]
    sweep(units, store.open_unit, load, workers=2)
"""


def command(pid: int) -> bytes:
    """The command line of a process; nothing once it is gone."""
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    return b""


def outliving(pids: list[int]) -> list[int]:
    """Workers that are still there five seconds after their parent: their units would go on for longer."""
    until = time.monotonic() + 5
    while (left := [pid for pid in pids if command(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def recorded(store: Store, units: list[Trajectory]) -> set[str]:
    """The units that have a record."""
    return {unit.key for unit in units if read_trajectory(store.root, unit.key).records}


@fault(GROUP, "SIGKILL to workers and parents that measure", PROMISE)
def measuring(folder: Path, full: bool) -> Tally:
    """One of the units in flight, or the parent of all, again and again until all are done."""
    tally, draw = Tally(), random.Random(7)
    rounds, count, workers, parents = (4, 120, 95, 5) if full else (1, 20, 10, 1)
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        notes, described, store = place / "notes", place / "units.json", Store(place / "a störe with spaces")
        units = [unit_of(n, {"kind": "note", "file": str(notes), "spin": 0.08}) for n in range(count)]
        described.write_text(
            json.dumps([[u.key, u.seed, u.setting, [[m.key, m.step, m.probe] for m in u.measurements]] for u in units])
        )
        kills = parent_kills = 0
        while True:
            script = [sys.executable, "-c", PARENT, str(store.root), str(described)]
            parent = subprocess.Popen(script, stderr=subprocess.DEVNULL)
            begun, limit = None, draw.uniform(0.5, 2.0)
            while parent.poll() is None:
                time.sleep(draw.uniform(0.02, 0.15))
                seen = {int(line.split()[0]) for line in notes.read_text().splitlines()} if notes.exists() else set()
                living = [pid for pid in seen if b"forkserver" in command(pid)]
                if living and begun is None:
                    begun = time.monotonic()
                if living and kills < workers:
                    with suppress(ProcessLookupError):
                        os.kill(draw.choice(living), signal.SIGKILL)
                        kills += 1
                if begun and time.monotonic() - begun > limit and parent_kills < parents:
                    before = recorded(store, units)
                    parent.kill()
                    parent_kills += 1
                    parent.wait()
                    tally.lost += [f"worker {pid} outlives its parent" for pid in outliving(living)]
                    tally.lost += [f"{key[:8]} was finished, and is not" for key in before - recorded(store, units)]
            finished = [[r for r in read_trajectory(store.root, unit.key).records if r.finished] for unit in units]
            if all(finished):
                break
        tally.injected += kills + parent_kills
        tally.lost += list(_differences(units, finished, Store(place / "whole")))
    tally.notes.append(f"{rounds * parents} of parents; {rounds * count} units")
    return tally


def _differences(units: list[Trajectory], finished: list[list], whole: Store) -> Iterator[str]:
    """A sentence for each unit that is not as a sweep leaves it that is left alone."""
    sweep(units, whole.open_unit, toy_pieces.load, workers=2)
    for unit, records in zip(units, finished, strict=True):
        (expected,) = read_trajectory(whole.root, unit.key).records
        if len(records) != 1:
            yield f"{unit.key[:8]} finished {len(records)} times"
        if records[0].files["sites.parquet"] != expected.files["sites.parquet"]:
            yield f"the rows of {unit.key[:8]} differ"


REST = """\
sweep:
  - {placement: [post, admin], train.steps: [30, 60]}
  - {optimizer: [{kind: sgd, lr: 1.0e+30}], norm: [none]}
probes:
  - {kind: gradient_norm, at: {every: 9}, batches: step}
  - {kind: update_size, at: [7, 20]}
"""
TRAIN = {"steps": 60, "accumulate": 2, "clip": 1.0, "evaluate": {"every": 10}}
KILLS, OF_THE_SUITE, OF_A_UNIT, APART = 25, 5, 2, 8
"""Of workers and parents, at full size and else; of one unit's workers by one parent (a third fails the unit);
stretches between two."""


# Workers come from a process that has imported lnlab: after each kill it would be imported again.
RUN = """
import sys
from lnlab.cli import main
from lnlab.execute import pool
pool.PRELOADED.extend(["lnlab.execute.worker", "lnlab.execute.registry_loader"])
sys.exit(main(sys.argv[1:]))
"""


def lnlab(spec: Path, store: Path, *more: str) -> subprocess.Popen[str]:
    """``lnlab run`` in a process of its own; with two workers it is a tree of processes."""
    words = [sys.executable, "-c", RUN, "run", str(spec), "--store", str(store), "-w", "2", "-q", *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def alone(spec: Path, store: Path, *more: str) -> tuple[int, str]:
    """The same, left alone, in a process that has imported lnlab: how it ended, and what it printed."""
    words = ["run", str(spec), "--store", str(store), "-w", "2", "-q", *more]
    output = store.with_name(f"output of {store.name}")
    output.mkdir()
    given = (words, str(spec.parent), dict(os.environ), str(output), False)
    ended, code = servers().call("tests.support.forked_jobs:command", *given)
    printed = "".join((output / name).read_text() for name in ("stdout", "stderr"))
    shutil.rmtree(output)
    return ended or code, printed


def at_work(store: Path) -> Iterator[tuple[int, str]]:
    """Process and trajectory of every worker, by the leases."""
    for lease in store.glob("trajectories/*/*/lease"):
        with suppress(OSError, ValueError):
            yield json.loads(lease.read_text())["pid"], lease.parent.name


def committed(store: Path) -> int:
    """How many stretches are committed: what kills waits for work and not for the clock."""
    return sum(1 for _ in store.glob("trajectories/*/*/*/record.json"))


def kill_one(draw: random.Random, parent: subprocess.Popen[str], store: Path, spared: Counter[str]) -> str:
    """Kill a worker, or now and then the parent; whom.

    Args:
        draw: what is random.
        parent: the process.
        store: its store.
        spared: trajectory -> how many of its workers this parent lost; grows.
    """
    living = [(pid, unit) for pid, unit in at_work(store) if spared[unit] < OF_A_UNIT]
    if not living or draw.random() < 0.25:
        parent.kill()
        return "parent"
    pid, unit = draw.choice(living)
    spared[unit] += 1
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return "worker"


@fault(GROUP, "SIGKILL to workers and parents that train", PROMISE)
def training(folder: Path, full: bool) -> Tally:
    """Runs that keep a state after every update, each time until all are done."""
    tally, draw, spec = Tally(), random.Random(11), folder / "killed.yaml"
    spec.write_text(toy_spec(TRAINED, REST, train=TRAIN, seeds=2 if full else 1))
    ended, output = alone(spec, folder / "whole")
    if ended:
        tally.lost.append(output)
    killed = Counter[str]()
    kills = [KILLS] * 3 if full else [OF_THE_SUITE]
    for number, most in enumerate(kills):
        killed += _kill_training(draw, spec, folder / f"killed {number}", folder / "whole", tally, most)
    tally.injected = killed.total()
    tally.notes.append(f"{killed['parent']} of parents; no update is trained twice once it is committed")
    return tally


def _kill_training(draw: random.Random, spec: Path, store: Path, whole: Path, tally: Tally, most: int) -> Counter[str]:
    """Run a spec to its end, however often it is killed: so many times at the most."""
    killed, ended = Counter[str](), -1
    while ended != 0:
        parent, spared = lnlab(spec, store, "--save-every", "0"), Counter[str]()
        aim = committed(store) + draw.randrange(1, APART)
        while parent.poll() is None:
            time.sleep(draw.uniform(0.0, 0.02))
            if killed.total() < most and committed(store) >= aim:
                whom = kill_one(draw, parent, store, spared)
                killed[whom] += 1
                aim = committed(store) + draw.randrange(1, APART)
                if whom == "parent":
                    break
        output, ended = parent.communicate()[0], parent.returncode
        if ended not in (0, -signal.SIGKILL):
            tally.lost.append(f"ended with {ended}: {output}")
            return killed
    (plan,) = [path.name for path in (store / "plans").iterdir() if path.is_dir()]
    results, expected = Store(store).results(plan), Store(whole).results(plan)
    if results_digest(results) != results_digest(expected) or not results.runs["done"].equals(expected.runs["done"]):
        tally.lost.append("the rows differ")
    for trajectory, ends in results.runs.group_by("trajectory").agg("done").iter_rows():
        records = [record for record in read_trajectory(store, trajectory).records if record.steps > record.first_step]
        if [record.first_step for record in records] != [0, *(record.steps for record in records[:-1])]:
            tally.lost.append(f"{trajectory[:8]} has updates that were trained twice")
        if records[-1].steps != max(ends):
            tally.lost.append(f"{trajectory[:8]} ends at {records[-1].steps}")
    _, again = alone(spec, store, "--json")
    if json.loads(again)["computed"]:
        tally.lost.append("something was left to compute")
    return killed
