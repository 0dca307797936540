"""Workers that die, hang, or print what nobody should have to keep: they take their own unit with them, no other."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnlab.compile.work import Measurement, Trajectory
from lnlab.execute.scheduler import sweep
from lnlab.keys import digest
from lnlab.store.records.records import read_trajectory
from lnlab.store.store import Store
from tests.support import toy_pieces
from tests.torture.faults import Tally, fault

GROUP = "Workers"
PROMISE = "the unit ends as it should, all others have the rows of an undisturbed run, and little is kept of output"
MOST_OUTPUT = 70_000
"""Bytes that are stored of what a worker prints."""


def unit_of(seed: int, probe: Any) -> Trajectory:
    """A trajectory of the toy pieces with one measurement."""
    defaults = {"task": {"kind": "toy"}, "model": {"kind": "linear"}, "init": {"kind": "normal"}}
    setting = {key: toy_pieces.REGISTRIES[key].resolve(value) for key, value in defaults.items()}
    setting |= {"train": {"steps": 0}, "optimizer": None, "interventions": []}
    chosen = toy_pieces.PROBES.resolve(probe)
    key = digest(["toy", seed, setting, chosen])
    return Trajectory(key, seed, setting, 0, (Measurement(digest([key, 0, chosen]), 0, chosen),))


@dataclass(frozen=True)
class Misbehaviour:
    """What a worker does, and how its unit ends."""

    name: str
    probe: Mapping[str, Any]
    status: str
    reason: str


def misbehave(folder: Path, full: bool, kinds: list[Misbehaviour]) -> Tally:
    """Sweeps of four units beside one that misbehaves."""
    tally, rng = Tally(), random.Random(4)
    good = [unit_of(seed, "norm") for seed in range(4)]
    undisturbed = Store(folder / "undisturbed")
    sweep(good, undisturbed.open_unit, toy_pieces.load, workers=2)
    expected = {unit.key: _bytes(undisturbed, unit) for unit in good}
    for number in range(5 if full else 1):
        for kind in kinds:
            store = Store(folder / f"{kind.name} {number}")
            bad = unit_of(100 + number, kind.probe)
            units = [*good, bad]
            rng.shuffle(units)
            ended = sweep(units, store.open_unit, toy_pieces.load, workers=2)
            tally.add([f"{kind.name}: {loss}" for loss in _losses(store, kind, bad, expected, ended.ended)])
    tally.notes.append("; ".join(kind.name for kind in kinds))
    return tally


def _bytes(store: Store, unit: Trajectory) -> list[str]:
    return [record.files["sites.parquet"] for record in read_trajectory(store.root, unit.key).records]


def _losses(
    store: Store, kind: Misbehaviour, bad: Trajectory, expected: Mapping[str, list[str]], ended: Mapping[str, int]
) -> list[str]:
    losses = []
    if sum(ended.values()) != len(expected) + 1:
        losses.append(f"ended: {dict(ended)}")
    for key, files in expected.items():
        digests = [record.files.get("sites.parquet") for record in read_trajectory(store.root, key).records]
        if digests != files:
            losses.append(f"the rows of {key[:8]} differ")
    records = read_trajectory(store.root, bad.key).records
    outcomes = [(record.outcome["status"], record.outcome["reason"] or "") for record in records]
    if len(outcomes) != 1 or outcomes[0][0] != kind.status or kind.reason not in outcomes[0][1]:
        losses.append(f"its unit ended with {outcomes}")
    kept = sum(path.stat().st_size for path in store.root.rglob("output.txt"))
    if kept > MOST_OUTPUT:
        losses.append(f"{kept:,} bytes of output are kept")
    if list(store.root.glob("trajectories/*/*/lease")):
        losses.append("a lease stays")
    return losses


def register(name: str, kinds: list[Misbehaviour]) -> Callable[[Path, bool], Tally]:
    """Register some kinds of misbehaviour as a fault."""

    @fault(GROUP, name, PROMISE)
    def inject(folder: Path, full: bool) -> Tally:
        return misbehave(folder, full, kinds)

    return inject


register(
    "a worker that dies of its unit",
    [
        Misbehaviour("segfault", {"kind": "die", "how": "segfault"}, "failed", "3 times its worker died (SIGSEGV)"),
        Misbehaviour(
            "killed for memory", {"kind": "die", "how": "SIGKILL"}, "failed", "3 times its worker died (SIGKILL)"
        ),
        Misbehaviour("abort", {"kind": "die", "how": "SIGABRT"}, "failed", "3 times its worker died (SIGABRT)"),
        Misbehaviour("exit", {"kind": "die", "how": "exit"}, "failed", "3 times its worker died (exit code 3)"),
    ],
)
register(
    "a worker without memory",
    [
        Misbehaviour("more memory than the process may have", {"kind": "allocate"}, "out_of_memory", "memory"),
        Misbehaviour("MemoryError", {"kind": "fail", "how": "memory"}, "out_of_memory", "MemoryError"),
    ],
)
register(
    "a worker that floods its output, or prints what is no text",
    [
        Misbehaviour("lines without end", {"kind": "flood", "megabytes": 300}, "finished", ""),
        Misbehaviour("one endless line", {"kind": "flood", "how": "one line", "megabytes": 100}, "finished", ""),
        Misbehaviour("binary", {"kind": "flood", "how": "binary", "megabytes": 20}, "finished", ""),
        Misbehaviour("half characters and bytes", {"kind": "flood", "how": "text"}, "finished", ""),
        Misbehaviour("output closed", {"kind": "flood", "how": "closed"}, "finished", ""),
    ],
)
