"""``lnlab gc``: what of a store is reached from specs and locks, and what is not."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.stores.usage import spec_now
from lnlab.committed.locks.lock_report import LOCK_SUFFIX, Lock, read_lock
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store.garbage import Removal, remove_garbage
from lnlab.store.plans import StoredPlan, damaged_plans, load_plan, plan_tables, plans_newest_first
from lnlab.store.records.checksummed import CorruptFile
from lnlab.store.usage import trajectory_sizes
from lnlab.userfiles import LARGEST_SPEC, read_user_file

if TYPE_CHECKING:
    from lnlab.store.store import Store

DEFAULT_PLACES = (Path(), Path("specs"))


@dataclass(frozen=True)
class Anchors:
    """What is wanted: specs by the digests of their texts, and locks."""

    texts: frozenset[str]
    locks: tuple[Lock, ...]


@dataclass(frozen=True)
class UnreachedPlan:
    """A plan that no spec and no lock leads to, and why."""

    plan: StoredPlan
    reason: str


@dataclass(frozen=True)
class Garbage:
    """What may go.

    Attributes:
        plans: those that are not reached.
        trajectories: key -> bytes of those that no other plan needs.
        remaining: how many plans stay.
        size: bytes of all trajectories of the store.
    """

    plans: tuple[UnreachedPlan, ...]
    trajectories: Mapping[str, int]
    remaining: int
    size: int

    @property
    def is_empty(self) -> bool:
        """Whether everything is wanted."""
        return not (self.plans or self.trajectories)


def read_anchors(places: Sequence[Path]) -> Anchors:
    """The specs and locks at these places: files, or folders with them.

    Raises:
        LabError: there is none, so that everything would be removed, or a file cannot be read.
    """
    paths: list[Path] = []
    for place in places or DEFAULT_PLACES:
        if place.is_dir():
            paths += sorted([*place.glob("*.yaml"), *place.glob("*.yml"), *place.glob(f"*{LOCK_SUFFIX}")])
        elif place.is_file() or place not in DEFAULT_PLACES:  # a named place that is not there is a mistake
            paths.append(place)
    if not paths:
        where = ", ".join(place.as_posix() for place in places or DEFAULT_PLACES)
        what = f"there is no spec and no lock in {where}, so that everything would be removed"
        raise LabError(Issue("not-found", "lnlab gc", what, "name the specs, the locks, or their folders"))
    locks = tuple(read_lock(path) for path in paths if path.suffix == LOCK_SUFFIX)
    specs = [path for path in paths if path.suffix != LOCK_SUFFIX]
    texts = {digest_bytes(read_user_file(path, "spec", LARGEST_SPEC)) for path in specs}
    return Anchors(frozenset(texts | {lock.tables["spec"] for lock in locks}), locks)


def find_garbage(store: "Store", anchors: Anchors) -> Garbage:
    """What the anchors do not lead to.

    A plan is reached in two ways. The text of its spec is that of a spec at hand, of the file that it was made of, or
    of a locked spec. A lock names the plan, or its report holds one of its variants.

    Raises:
        LabError: the store cannot be read, or a plan in it is damaged, so that what it needs is unknown.
    """
    if damaged := damaged_plans(store.root):
        raise LabError(*map(_damaged, damaged))
    locked = {variant for lock in anchors.locks for variant in _locked_variants(lock)}
    needed: set[str] = set()
    unreached: list[UnreachedPlan] = []
    remaining = 0
    for plan in plans_newest_first(store.root):
        try:
            runs = plan_tables(store.root, plan)["runs"]
        except CorruptFile as error:
            raise LabError(_damaged(str(error))) from error
        state = spec_now(plan)
        if (
            plan.text in anchors.texts
            or state == "as it is"
            or any(lock.tables["plan"] == plan.digest for lock in anchors.locks)
            or not locked.isdisjoint(runs["variant"].unique())
        ):
            remaining += 1
            needed.update(runs["trajectory"].unique())
        else:
            reason = f"its spec is {state}" if state == "gone" else "its spec was changed since"
            unreached.append(UnreachedPlan(plan, reason))
    sizes = trajectory_sizes(store.root)
    return Garbage(
        tuple(unreached),
        {key: size for key, size in sizes.items() if key not in needed},
        remaining,
        sum(sizes.values()),
    )


def _locked_variants(lock: Lock) -> list[str]:
    """The variants of the report of a lock, whose data are a store. None where the report is gone or damaged."""
    with suppress(CorruptFile):
        data = lock.folder / "data"
        return plan_tables(data, load_plan(data, lock.tables["plan"]))["runs"]["variant"].unique().to_list()
    return []


def _damaged(sentence: str) -> Issue:
    return Issue(
        "no-effect",
        "",
        f"{sentence}, so what it needs is not known",
        "run its spec again first, or remove its folder",
    )


def remove_unreached(store: "Store", garbage: Garbage) -> Removal:
    """Remove what is not reached.

    Raises:
        StoreError: another process works on the store, or it cannot be written. What is not removed is unchanged.
    """
    return remove_garbage(store.root, [entry.plan.digest for entry in garbage.plans], list(garbage.trajectories))
