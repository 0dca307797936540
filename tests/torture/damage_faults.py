"""Files of a finished store that are cut short, changed in one bit, removed, exchanged or added to."""

import random
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from lnlab.errors import StoreError
from lnlab.store.records.layout import RECORD_FILE
from lnlab.store.store import Store
from lnlab.tables import Results
from tests.support.forking import servers
from tests.support.results_digest import results_digest
from tests.torture.faults import Tally, fault, sample
from tests.torture.session import PLAN, completed, heal, live, partial_runs, prepare

GROUP = "Files that are not what was stored"
PROMISE = "the damage is reported or without effect, every other row is shown as it was, a rerun has all rows again"
EVERY_BYTE_UP_TO = 2 * 1024
"""Longer files are cut at so many places as ``OF_LONGER``."""
OF_LONGER = 512
FLIPS = 10_000
OTHERS = 1_500
LOCKS = ("lock", ".lock")
OF_THE_SUITE = 16
HEALED = 40
"""One damage in so many is followed by a rerun; all are read."""

Change = tuple[str, str, int]
"""How a file is changed, its path in the store, and where: a length, a bit, or which other file."""


def finished_job(folder: str) -> tuple[str, dict[str, int]]:
    """A store with packed and loose trajectories: the digest of its rows, and the size of each file."""
    root = Path(folder) / "store"
    prepare(root)
    live(root, loose=True)
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name not in LOCKS]
    return results_digest(Store(root).results(PLAN.digest)), {str(p.relative_to(root)): p.stat().st_size for p in files}


def damage(root: Path, change: Change) -> None:
    """Change a file."""
    how, name, place = change
    path = root / name
    content = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(content[:place])
    elif how == "flip":
        content[place // 8] ^= 1 << place % 8
        path.write_bytes(content)
    elif how == "remove":
        path.unlink()
    elif how == "zero":
        path.write_bytes(bytes(len(content)))
    elif how == "append":
        path.write_bytes(bytes(content) + random.Random(place).randbytes(9))
    elif how == "exchange":
        others = [
            other for other in sorted(root.rglob("*")) if other.is_file() and other.name not in (*LOCKS, path.name)
        ]
        alike = [other for other in others if other.suffix == path.suffix] or others
        path.write_bytes(alike[place % len(alike)].read_bytes())


def damaged_job(folder: str, undamaged: str, expected: str, changes: Sequence[Sequence[Any]], healed: int) -> list[str]:
    """Each change on its own: what is read, and after one in ``healed`` a rerun; a sentence for each broken promise."""
    root, source = Path(folder) / "store", Path(undamaged) / "store"
    shutil.copytree(Path(undamaged), Path(folder))
    before = Store(source).results(PLAN.digest)
    losses = []
    for number, change in enumerate(changes):
        how, name, place = change
        damage(root, (how, name, place))
        losses_here = _read(root, before, committed=(root / name).exists() or not name.endswith(RECORD_FILE))
        if number % healed == 0:
            losses_here += heal(root, expected, {}) + heal(root, expected, dict(_whole(root)))
            shutil.rmtree(root)
            shutil.copytree(source, root)
        else:
            shutil.copy2(source / name, root / name)
        losses += [f"{how} {name} at {place}: {loss}" for loss in losses_here]
    return losses


def _whole(root: Path) -> Iterator[tuple[str, int]]:
    """Unit -> updates of the units that are complete."""
    for key, (steps, _) in completed(Store(root)).items():
        yield key, steps


def _read(root: Path, before: Results, *, committed: bool) -> list[str]:
    """What every reader of a store with damage shows that it should not.

    A stretch without its record was never committed: there ``committed`` is false, and no damage is reported.
    """
    store = Store(root)
    try:
        store.damage()
        store.remembered("quick")
        store.last()
        verdicts = store.verdicts(PLAN.digest)
        pending = store.pending(PLAN)
        results = store.results(PLAN.digest)
    except StoreError as error:
        return [] if all(problem.remedy for problem in error.issues) else [f"no remedy: {error}"]
    except Exception as error:  # whatever it is, it reached the user
        return [f"{type(error).__name__}: {error}"]
    losses = partial_runs(results)
    finished = results.runs.filter(pl.col("status") == "finished")["run"].to_list()
    shown, known = (results_digest(_only(each, finished)) for each in (results, before))
    if shown != known:
        losses.append("a wrong row is shown")
    reported = any("damaged" in reason for _, reason in pending)
    if len(finished) < before.runs.height and committed and not reported:
        losses.append("rows are missing, and no file is called damaged")
    if verdicts.height:
        assert_frame_equal(verdicts, Store(root).verdicts(PLAN.digest))
    return losses


def _only(results: Results, runs: Sequence[str]) -> Results:
    """The results of these runs, without the columns that say how a run ended."""
    kept = pl.col("run").is_in(list(runs))
    tables = {name: rows.filter(kept) for name, rows in results.tables.items() if "run" in rows.columns}
    return Results(results.runs.filter(kept), results.axes.filter(kept), tables)


def damaged(folder: Path, full: bool, draw: Any) -> Tally:
    """Every change that is drawn from the files of a store, in portions."""
    tally = Tally()
    pool = servers()
    undamaged = folder / "undamaged"
    expected, sizes = pool.answer(f"{__name__}:finished_job", str(undamaged))
    changes = draw(sizes, tally)
    changes = changes if full else sample(changes, OF_THE_SUITE)
    portions = [changes[n : n + 500] for n in range(0, len(changes), 500)]

    def read(portion: tuple[int, list[Change]]) -> list[str]:
        number, changes = portion
        place = folder / str(number)
        losses = pool.answer(
            f"{__name__}:damaged_job",
            str(place),
            str(undamaged),
            expected,
            changes,
            HEALED if full else 6,
        )
        shutil.rmtree(place)
        return losses

    for losses in pool.map(read, list(enumerate(portions))):
        tally.lost += losses
    tally.injected = len(changes)
    return tally


def _lengths(sizes: dict[str, int], tally: Tally) -> list[Change]:
    long = [name for name, size in sizes.items() if size > EVERY_BYTE_UP_TO]
    places = f"{OF_LONGER:,} places of {len(long)} longer ones" if long else "none is longer"
    tally.notes.append(f"every byte of {len(sizes) - len(long)} files of at most {EVERY_BYTE_UP_TO:,} bytes; {places}")
    return [
        ("cut", name, length)
        for name, size in sizes.items()
        for length in sample(range(size), size if size <= EVERY_BYTE_UP_TO else OF_LONGER)
    ]


def _bits(sizes: dict[str, int], tally: Tally) -> list[Change]:
    rng, ends, total = random.Random(9), [], 0
    for name, size in sizes.items():
        total += size
        ends.append((total, name, size))
    changes = []
    for _ in range(FLIPS):
        at = rng.randrange(total)
        end, name, size = next(each for each in ends if at < each[0])
        changes.append(("flip", name, 8 * (at - (end - size)) + rng.randrange(8)))
    tally.notes.append(f"of {8 * total:,} bits in {len(sizes)} files")
    return changes


def _others(sizes: dict[str, int], _tally: Tally) -> list[Change]:
    rng, names = random.Random(3), list(sizes)
    return [
        (rng.choice(["remove", "zero", "append", "exchange"]), rng.choice(names), rng.randrange(99))
        for _ in range(OTHERS)
    ]


fault(GROUP, "a file cut short", PROMISE)(partial(damaged, draw=_lengths))
fault(GROUP, "a flipped bit", PROMISE)(partial(damaged, draw=_bits))
fault(GROUP, "a file removed, zeroed, added to, or with the content of another", PROMISE)(
    partial(damaged, draw=_others)
)
