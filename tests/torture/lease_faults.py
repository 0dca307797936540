"""Leases of the dead, of strangers and of nobody; clocks that jump. Nobody alive is evicted, nobody waits for ever."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lnlab.store.leases import LEASE_PERIOD, UNSIGNED_LEASE_PERIOD
from lnlab.store.process_identity import this_process
from lnlab.store.records.layout import LEASE_FILE, trajectory_folder
from lnlab.store.store import Store
from tests.support.forking import servers
from tests.support.interposer import Call, Interposer, Perform
from tests.support.results_digest import results_digest
from tests.torture.faults import Tally, fault, sample
from tests.torture.session import PLAN, compute, heal, live, prepare

GROUP = "Leases and clocks"
PROMISE = "who lives keeps its lease, who is gone loses it, and a rerun has the rows of an undisturbed run"
HOUR, DAY, YEAR = 3600.0, 86400.0, 365 * 86400.0
AGES = (0.0, 1.0, 20.0, 60.0, HOUR, DAY, YEAR, -1.0, -20.0, -60.0, -HOUR, -DAY, -YEAR)
"""Seconds since a lease's last sign of life by the file system's clock; negative: it was set back since."""
PERIODS = (LEASE_PERIOD, 1e9, 1e300, float("inf"), float("nan"), 0.0, -5.0, "soon", None, True)
JUMPS = (-YEAR, -DAY, -HOUR, -40.0, 40.0, HOUR, DAY, YEAR, -(50 * YEAR))
OF_THE_SUITE = 16
UNIT = PLAN.trajectories[0]

Case = tuple[str, bytes, float, bool | None]
"""What lies in place of a lease, how old it is, and whether it may be taken: None, either."""


def cases(ended: int) -> Iterator[Case]:
    """Every lease that is tried; ``ended`` is the number of a process that is no more."""
    me = asdict(this_process())
    alive = me | {"period": LEASE_PERIOD, "nonce": "theirs"}
    text = json.dumps(alive).encode()
    for age in AGES:
        late = abs(age) > LEASE_PERIOD
        yield f"of a living process, aged {age:g} s", text, age, False
        yield f"of a process that ended, aged {age:g} s", _signed(alive, pid=ended), age, True
        yield f"of a reused number, aged {age:g} s", _signed(alive, start=me["start"] - 1), age, True
        yield f"of another host, aged {age:g} s", _signed(alive, host="elsewhere"), age, late
        yield f"of another start of this host, aged {age:g} s", _signed(alive, boot="yesterday"), age, late
        yield f"of process 1 of another container, aged {age:g} s", _signed(alive, host="me pid:[1]", pid=1), age, late
        yield f"empty, aged {age:g} s", b"", age, abs(age) > UNSIGNED_LEASE_PERIOD
        yield f"binary, aged {age:g} s", bytes(range(256)), age, abs(age) > UNSIGNED_LEASE_PERIOD
    for period in PERIODS:
        for age in (HOUR + 60, 2 * HOUR, DAY):  # an hour is the longest period; a file system's clock may lag behind
            yield (
                f"of another host with period {period}, aged {age:g} s",
                _signed(alive, host="b", period=period),
                age,
                True,
            )
    for wrong in ({"pid": "1"}, {"pid": -1}, {"pid": 2**70}, {"pid": None}, {"start": "x"}, {"host": 3}, {"boot": []}):
        yield f"with {wrong}", _signed(alive, **wrong), DAY, True
    for length in range(len(text)):
        yield f"cut after {length} bytes", text[:length], 60.0, True


def _signed(lease: dict[str, Any], **changed: Any) -> bytes:
    return json.dumps(lease | changed).encode()


def lease_job(folder: str, content: str, age: float, free: bool | None, expected: str) -> list[str]:
    """What comes of a lease that lies there before a run."""
    root = Path(folder) / "store"
    prepare(root)
    lease = trajectory_folder(root, UNIT.key) / LEASE_FILE
    lease.parent.mkdir(parents=True)
    lease.write_bytes(content.encode("latin-1"))
    then = time.time() - age
    os.utime(lease, (then, then))
    losses, done = [], compute(Store(root), UNIT)
    if free is not None and (done is not None) is not free:
        losses.append("is evicted" if not free else "is waited for")
    if done is None:
        if lease.read_bytes() != content.encode("latin-1"):
            losses.append("is changed")
        lease.unlink()  # its owner gives it back
    return losses + heal(root, expected, {})


@fault(GROUP, "a stale, foreign, reused, torn or absurd lease", PROMISE)
def strange_lease(folder: Path, full: bool) -> Tally:
    """Every case on its own."""
    tally = Tally()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    pool = servers()
    expected, _ = pool.answer("tests.torture.session:undisturbed_job", str(folder / "undisturbed"))
    tried = list(enumerate(cases(ended.pid)))

    def try_one(numbered: tuple[int, Case]) -> list[str]:
        number, (name, content, age, free) = numbered
        arguments = str(folder / str(number)), content.decode("latin-1"), age, free, expected
        return [f"{name}: {loss}" for loss in pool.answer(f"{__name__}:lease_job", *arguments)]

    for losses in pool.map(try_one, tried if full else sample(tried, OF_THE_SUITE)):
        tally.add(losses)
    tally.notes.append("ages of a second to a year, forwards and backwards; a torn one at every byte")
    return tally


class Clock:
    """The clock of a process and of its disk, which jumps at some of its calls."""

    def __init__(self, jumps: Sequence[tuple[int, float]]) -> None:
        self.jumps, self.calls, self.offset = dict(jumps), 0, 0.0
        self.real, self.real_ns, self.utime = time.time, time.time_ns, os.utime

    def install(self) -> None:
        """Set the clock of this process."""
        time.time = lambda: self.real() + self.offset
        time.time_ns = lambda: self.real_ns() + int(self.offset * 1e9)

    def __call__(self, call: Call, perform: Perform) -> Any:
        """Perform, then have the file say the time that it is now."""
        self.calls += 1
        self.offset += self.jumps.get(self.calls, 0.0)
        answer = perform()
        if call.name in ("create", "write", "utime") and Path(call.path).exists():
            self.utime(call.path, (self.real() + self.offset,) * 2)
        return answer


def clock_job(folder: str, jumps: Sequence[Sequence[float]], expected: str) -> list[str]:
    """What a session does whose clock jumps, and a rerun whose clock does not."""
    root = Path(folder) / "store"
    prepare(root)
    clock = Clock([(int(at), by) for at, by in jumps])
    clock.install()
    Interposer(root, clock).install()
    computed = []
    try:
        live(root, lambda what, unit: computed.append(unit) if what == "computes" else None)
        digest = results_digest(Store(root).results(PLAN.digest))
    except Exception as error:  # whatever it is, no clock may cause it
        return [f"{type(error).__name__}: {error}"]
    losses = [] if digest == expected else ["the rows differ"]
    if len(set(computed)) < len(computed):
        losses.append("something is computed twice")
    clock.offset = 0.0
    return losses + heal(root, expected, {unit.key: unit.steps for unit in PLAN.trajectories})


@fault(GROUP, "a clock that jumps, of the process and of the disk", PROMISE)
def jumping_clock(folder: Path, full: bool) -> Tally:
    """Sessions with three jumps each, anywhere."""
    tally, rng = Tally(), random.Random(2)
    pool = servers()
    expected, changes = pool.answer("tests.torture.session:undisturbed_job", str(folder / "undisturbed"))
    sessions = [
        [(rng.randrange(1, len(changes)), rng.choice(JUMPS)) for _ in range(3)] for _ in range(200 if full else 4)
    ]

    def live_through(numbered: tuple[int, list[tuple[int, float]]]) -> list[str]:
        number, jumps = numbered
        losses = pool.answer(f"{__name__}:clock_job", str(folder / str(number)), jumps, expected)
        return [f"jumps {jumps}: {loss}" for loss in losses]

    for losses in pool.map(live_through, list(enumerate(sessions))):
        tally.lost += losses
        tally.injected += len(sessions[0])
    tally.notes.append(f"in {len(sessions)} sessions, by 40 s to 50 years either way")
    return tally
