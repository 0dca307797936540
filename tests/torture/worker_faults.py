"""Workers that die, hang, or print what nobody should have to keep: they take their own unit with them, no other."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
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


KINDS = {
    "a worker that dies of its unit": [
        Misbehaviour(name, {"kind": "die", "how": how}, "failed", f"3 times its worker died ({told})")
        for name, how, told in (
            ("segfault", "segfault", "SIGSEGV"),
            ("killed for memory", "SIGKILL", "SIGKILL"),
            ("abort", "SIGABRT", "SIGABRT"),
            ("exit", "exit", "exit code 3"),
        )
    ],
    "a worker without memory": [
        Misbehaviour("more memory than the process may have", {"kind": "allocate"}, "out_of_memory", "memory"),
        Misbehaviour("MemoryError", {"kind": "fail", "how": "memory"}, "out_of_memory", "MemoryError"),
    ],
    "a worker that floods its output, or prints what is no text": [
        Misbehaviour(name, {"kind": "flood", **how}, "finished", "")
        for name, how in (
            ("lines without end", {"megabytes": 300}),
            ("one endless line", {"how": "one line", "megabytes": 100}),
            ("binary", {"how": "binary", "megabytes": 20}),
            ("half characters and bytes", {"how": "text"}),
            ("output closed", {"how": "closed"}),
        )
    ],
}
for name, kinds in KINDS.items():
    fault(GROUP, name, PROMISE)(partial(misbehave, kinds=kinds))
