"""The disk and the power: a session that dies, or is refused, at each call that changes the disk in turn."""

import errno
import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.support.forking import Pool, servers
from tests.support.interposer import CHANGES, READS
from tests.torture.faults import Tally, fault, sample
from tests.torture.power import crashes

GROUP = "The process and the disk"
PROMISE = "the store opens, nothing committed is lost or computed again, a rerun has the rows of an undisturbed run"
OF_THE_SUITE = 6
"""Points of a session at which the suite tries what the full size tries at all."""


def expectation(pool: Pool, folder: Path) -> tuple[str, list[str]]:
    """The digest of an undisturbed session, and the names of its changes."""
    expected, changes = pool.answer("tests.torture.session:undisturbed_job", str(folder / "undisturbed"))
    return expected, changes


def killed(folder: Path, full: bool, moment: str) -> Tally:
    """A session killed at each change in turn, healed each time."""
    tally = Tally()
    pool = servers()
    expected, changes = expectation(pool, folder)

    def at(number: int) -> list[str] | None:
        place = str(folder / str(number))
        code, _ = pool.call("tests.torture.session:killed_job", place, number, moment)
        if code != -9:
            return [f"change {number}: ended with {code} instead of being killed"]
        losses = pool.answer("tests.torture.session:healed_job", place, expected)
        shutil.rmtree(place)
        return [f"change {number}: {loss}" for loss in losses]

    points = [n for n, name in enumerate(changes, 1) if moment != "halfway" or name == "write"]
    for losses in pool.map(at, sample(points, len(points) if full else OF_THE_SUITE)):
        tally.add(losses)
    tally.notes.append(f"a session makes {len(changes):,} changes, {changes.count('write'):,} of them writes")
    return tally


for name, moment in (
    ("killed before a write, sync, rename or other change", "before"),
    ("killed after it", "after"),
    ("killed halfway through it", "halfway"),  # when half of a write is done; what is no write has no half
):
    fault(GROUP, name, PROMISE)(partial(killed, moment=moment))


@fault(GROUP, "power lost: what was not synced is dropped, kept in part, or kept in another order", PROMISE)
def power_lost(folder: Path, full: bool) -> Tally:
    """Every prefix of a recorded session, as a disk may hold it afterwards."""
    tally = Tally()
    pool = servers()
    expected, _ = expectation(pool, folder)
    recording = folder / "calls.json"
    calls = pool.answer("tests.torture.power:recorded_job", str(folder / "recorded"), str(recording))
    prefixes = sample(range(1, calls + 1), calls if full else OF_THE_SUITE)
    images = crashes(recording, prefixes, draws=2 if full else 1)

    def survive(image: tuple[str, dict[str, str | None], dict[str, int]]) -> list[str]:
        name, tree, promised = image
        place = folder / name
        losses = pool.answer("tests.torture.power:survived_job", str(place), tree, promised, expected)
        shutil.rmtree(place)
        return [f"{name}: {loss}" for loss in losses]

    for losses in pool.map(survive, list(images)):
        tally.add(losses)
    tally.notes.append(f"different disks after {len(prefixes):,} prefixes of a session of {calls:,} calls")
    return tally


def refused(folder: Path, full: bool, code: int, names: Sequence[str]) -> Tally:
    """A session refused at each call in turn, once and from then on."""
    tally, silent = Tally(), 0
    pool = servers()
    expected, _ = expectation(pool, folder)
    calls = pool.answer("tests.torture.session:calls_job", str(folder / "counted"), list(names))

    def at(point: tuple[int, bool]) -> tuple[list[str], bool] | None:
        number, lasting = point
        place = folder / f"{number} {lasting}"
        ended, answer = pool.call("tests.torture.session:refused_job", str(place), number, code, lasting, list(names))
        if ended:
            return [f"call {number}: {answer}"], False
        message, count = answer
        if not count:
            return None
        losses = [] if not message or _names_cause(message, str(place), code) else [f"it says only: {message}"]
        losses += pool.answer("tests.torture.session:healed_job", str(place), expected)
        shutil.rmtree(place)
        return [f"call {number}: {loss}" for loss in losses], not message

    once = [(number, False) for number in range(1, calls + 1)]
    points = [*once, *((number, True) for number, _ in once[:: 1 + 2 * full])]
    for answer in pool.map(at, sample(points, len(points) if full else OF_THE_SUITE)):
        if answer is not None:
            tally.add(answer[0])
            silent += answer[1]
    tally.notes.append(f"at {calls:,} calls, once and lasting; {silent:,} were done without")
    return tally


def _names_cause(message: str, place: str, code: int) -> bool:
    """Whether an error names a path in the store, the cause, and a remedy."""
    where, what, remedy = message.split("|")
    return place in where + what and os.strerror(code).lower() in what and bool(remedy)


for name, code, calls in (
    ("disk full (ENOSPC), after half a write", errno.ENOSPC, CHANGES),
    ("input or output error (EIO), after half a write", errno.EIO, CHANGES),
    ("permission denied (EACCES)", errno.EACCES, CHANGES + READS),
):
    fault(GROUP, name, PROMISE)(partial(refused, code=code, names=calls))


@fault(GROUP, "quota exceeded (EDQUOT)", PROMISE)
def over_quota(folder: Path, full: bool) -> Tally:
    """Every call that changes the disk, at the suite's size: the code goes the way of ENOSPC."""
    return refused(folder, False, errno.EDQUOT, CHANGES)
