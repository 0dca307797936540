"""Many processes on one store, with readers beside them; two hosts, each with its own processes and its own folders."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lnlab.compile.plan import Plan
from lnlab.errors import StoreError
from lnlab.store.store import Store
from tests.support.forking import Pool, Server, begin, end, servers
from tests.support.results_digest import results_digest
from tests.torture.faults import Skipped, Tally, fault
from tests.torture.session import completed, compute, heal, partial_runs, prepare, trained_plan

GROUP = "Many processes"
PROMISE = "each unit is computed once, no reader sees a part, the rows are those of one process alone"
PERIOD = 1.0
"""Seconds after which the lease of another host is void, in the trials where a host is lost."""
NEW_HOST = ("unshare", "--pid", "--mount", "--uts", "--fork", "--kill-child", "--mount-proc")


def plan_named(name: str) -> Plan:
    """One of the plans that are raced: each overlaps with the others."""
    sizes = {
        "hundred": (4, 25, 25),
        "first": (2, 10, 5),
        "second": (2, 14, 5),
        "third": (3, 10, 5),
        "fourth": (1, 20, 5),
    }
    variants, seeds, trained = sizes[name]
    return trained_plan(variants, seeds, trained, name)


def alone_job(folder: str, names: Sequence[str]) -> dict[str, str]:
    """Plan -> the digest of its rows when one process computes it alone."""
    digests = {}
    for name in names:
        root, plan = Path(folder) / name / "store", plan_named(name)
        prepare(root)
        Store(root).save_plan(plan, root.with_name("toy.yaml"))
        for unit in plan.trajectories:
            compute(Store(root), unit)
        digests[name] = results_digest(Store(root).results(plan.digest))
    return digests


def race_job(folder: str, name: str, seed: int, period: float, pause: float) -> int:
    """One process of several: every unit of its plan, in an order of its own; then what all of them do at the end."""
    root, plan, rng = Path(folder) / "store", plan_named(name), random.Random(seed)
    store = Store(root, period)
    store.save_plan(plan, root.with_name("toy.yaml"))
    notes = os.open(Path(folder) / "notes", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def log(what: str, unit: str) -> None:
        os.write(notes, f"{what} {unit}\n".encode())
        time.sleep(pause)

    units = list(plan.trajectories)
    rng.shuffle(units)
    while units:
        unit = units.pop(0)
        if compute(store, unit, log) is None:
            units.append(unit)
            time.sleep(0.01)
    store.pack()
    return len(store.pending(plan))


def read_job(folder: str, name: str) -> tuple[int, list[str]]:
    """Read until the race is over: how often, and a sentence for each read that shows a part."""
    root, plan, reads, losses = Path(folder) / "store", plan_named(name), 0, []
    while not (Path(folder) / "over").exists():
        try:
            losses += partial_runs(Store(root).results(plan.digest))
        except StoreError as error:
            if "is missing" not in str(error):  # the plan is not there yet
                losses.append(str(error))
        except Exception as error:  # whatever it is, a reader saw something in part
            losses.append(f"{type(error).__name__}: {error}")
        reads += 1
    return reads, losses


def digest_job(folder: str, name: str) -> str:
    """The digest of the rows of a plan."""
    return results_digest(Store(Path(folder) / "store").results(plan_named(name).digest))


def raced_job(folder: str, names: Sequence[str], readers: int) -> list[list[tuple[int, Any]]]:
    """All processes of a race at once, and beside them readers: how each of both ended, and what it returned."""
    racing = [begin(f"{__name__}:race_job", folder, name, seed, 30.0, 0.0) for seed, name in enumerate(names)]
    reading = [begin(f"{__name__}:read_job", folder, names[0]) for _ in range(readers)]
    raced = [end(*each) for each in racing]
    (Path(folder) / "over").write_text("")
    return [raced, [end(*each) for each in reading]]


def race(folder: Path, names: Sequence[str], rounds: int, readers: int) -> Tally:
    """As many processes as names, and some readers."""
    tally, reads = Tally(), 0
    pool = servers()
    alone = pool.answer(f"{__name__}:alone_job", str(folder / "alone"), sorted(set(names)))
    for number in range(rounds):
        place = folder / str(number)
        prepare(place / "store")
        reads += _one_race(pool, place, names, readers, alone, tally)
    units = {unit.key for name in set(names) for unit in plan_named(name).trajectories}
    tally.notes.append(f"{rounds} races over {len(units)} units, {reads:,} reads beside them")
    return tally


def _one_race(pool: Pool, place: Path, names: Sequence[str], readers: int, alone: dict[str, str], tally: Tally) -> int:
    ended, answers = pool.answer(f"{__name__}:raced_job", str(place), names, readers)
    losses = [f"a process ended with {code}: {answer}" for code, answer in ended if code or answer]
    losses += [f"a reader ended with {code}: {answer}" for code, answer in answers if code]
    losses += [f"a reader saw: {loss}" for code, answer in answers if not code for loss in answer[1]]
    computed = Counter(line for line in (place / "notes").read_text().splitlines() if line.startswith("computes"))
    losses += [f"{line} {count} times" for line, count in computed.items() if count > 1]
    for name, expected in alone.items():
        if pool.call(f"{__name__}:digest_job", str(place), name) != (0, expected):
            losses.append(f"the rows of {name} differ")
    tally.injected += len(names)
    tally.lost += losses
    return sum(answer[0] for code, answer in answers if not code)


@fault(GROUP, "eight processes on one spec of 100 units", PROMISE)
def eight_on_one(folder: Path, full: bool) -> Tally:
    """The same plan, in eight orders."""
    return race(folder, ["hundred"] * (8 if full else 3), rounds=12 if full else 1, readers=2)


@fault(GROUP, "four processes on overlapping specs", PROMISE)
def four_overlapping(folder: Path, full: bool) -> Tally:
    """Four plans that share units."""
    return race(folder, ["first", "second", "third", "fourth"], rounds=25 if full else 1, readers=2)


class Host(Server):
    """A server with process numbers, mounts and a name of its own, as in a container or on another machine."""

    def __init__(self, name: str) -> None:
        super().__init__((*NEW_HOST, "sh", "-c", f'hostname {name} && exec "$@"', "sh"))

    def lose(self) -> None:
        """All its processes are killed at once."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def require_hosts() -> None:
    """Skip where a process may not have namespaces of its own."""
    if shutil.which("unshare") is None:
        raise Skipped("there is no unshare here")
    done = subprocess.run([*NEW_HOST, "sh", "-c", "hostname other && test $$ -lt 9"], capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"namespaces are not allowed here: {done.stderr.strip()}")


@fault(GROUP, "two hosts on one store, and one of them is lost", PROMISE)
def two_hosts(folder: Path, full: bool) -> Tally:
    """Both compute one plan; in every second trial one host is lost midway, and the other takes over what it held."""
    require_hosts()
    tally, lost = Tally(), 0
    pool = servers()
    alone = pool.answer(f"{__name__}:alone_job", str(folder / "alone"), ["first"])["first"]
    hosts = [Host("first-host"), Host("second-host")]
    try:
        for number in range(20 if full else 2):
            place = folder / str(number)
            prepare(place / "store")
            if hosts[1].process.poll() is not None:  # lost in the trial before
                hosts[1].close()
                hosts[1] = Host("second-host")
            losses = _two_hosts(pool, hosts, place, number, alone)
            tally.add([f"trial {number}: {loss}" for loss in losses])
            lost += number % 2
    finally:
        for host in hosts:
            host.close()
    tally.notes.append(f"in {lost} trials a host was lost; leases void after {PERIOD:g} s")
    return tally


def _two_hosts(pool: Pool, hosts: list[Host], place: Path, number: int, alone: str) -> list[str]:
    """One trial."""
    losing = number % 2 == 1
    period, plan = PERIOD if losing else 30.0, plan_named("first")
    with ThreadPoolExecutor(2) as threads:
        racing = [
            threads.submit(host.call, f"{__name__}:race_job", str(place), "first", seed, period, 0.02)
            for seed, host in enumerate(hosts)
        ]
        if losing:
            draw = random.Random(number)
            while not (place / "notes").exists() or draw.random() > 0.02:
                time.sleep(0.02)
            hosts[1].lose()
        losses = [] if racing[0].result() == (0, 0) else [f"the first host ended with {racing[0].result()}"]
        if not losing and racing[1].result() != (0, 0):
            losses.append(f"the second host ended with {racing[1].result()}")
    lines = Counter((place / "notes").read_text().splitlines())
    committed = {line.removeprefix("commits ") for line in lines if line.startswith("commits")}
    whole = {unit.key for unit in plan.trajectories if f"{unit.key} {unit.steps}" in committed}
    twice = [line for line, count in lines.items() if line.startswith("computes") and count > 1]
    if len(twice) > losing:  # what the lost host was at is computed again, and nothing else
        losses.append(f"computed twice: {twice}")
    missing = {unit.key for unit in plan.trajectories} - whole
    if len(missing) > losing:
        losses.append(f"{len(missing)} units were never committed")
    return losses + pool.answer(f"{__name__}:healed_job", str(place), alone)


def healed_job(folder: str, expected: str) -> list[str]:
    """What is lost of a store that two hosts wrote."""
    plan, root = plan_named("first"), Path(folder) / "store"
    promised = {key: steps for key, (steps, _) in completed(Store(root), plan).items()}
    return heal(root, expected, promised, plan)
