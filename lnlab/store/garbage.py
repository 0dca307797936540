"""Remove from a store what is no longer wanted: plans, and trajectories that no remaining plan needs.

It may be killed at any point, and may happen while others read and work. Plans go first, so that nothing points to what
is gone. A trajectory is removed under its lease, its records before their rows. If another process has its lease, it
stays. A pack is replaced by one without what goes. As soon as a new plan appears, the removal ends, because the run of
that plan may count on what would go next.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.store import files
from lnlab.store.leases import acquire_lease
from lnlab.store.packing import PackWriter, packs_locked, remove_stretch, replace_packs
from lnlab.store.packs import HIDDEN_PREFIX, PACKS_FOLDER, Packs
from lnlab.store.records.layout import LEASE_FILE, LOCK_FILE, plan_folder, stretches
from lnlab.store.records.states import STATES_FOLDER


@dataclass(frozen=True)
class Removal:
    """What was removed.

    Attributes:
        plans: digests.
        trajectories: keys.
        leased: trajectories that stay, as another process works on them.
        damaged: packs that stay, as they cannot be read or written again, a sentence each.
    """

    plans: tuple[str, ...]
    trajectories: tuple[str, ...]
    leased: tuple[str, ...]
    damaged: tuple[str, ...]


def remove_garbage(root: Path, plans: Collection[str], trajectories: Collection[str]) -> Removal:
    """Remove these plans and these trajectories.

    Raises:
        StoreError: another process changes the packs, a run began meanwhile, or the store cannot be written. What is
            not removed yet stays as it was.
    """
    with packs_locked(root) as acquired:
        if not acquired:
            what = "another lnlab is changing the packs of this store"
            raise StoreError(Issue("busy", str(root), what, "wait until it is done, then do this again"))
        present = _plans(root) - set(plans)
        for digest in plans:
            if plan_folder(root, digest).is_dir():
                # at once, under a name that nobody reads and that whoever changes packs next removes for good
                hidden = root / PACKS_FOLDER / f"{HIDDEN_PREFIX}plan-{digest}"
                files.rename(plan_folder(root, digest), hidden)
                files.remove(hidden)
        unwanted = set(trajectories)
        leased = set[str]()
        for folder in sorted((root / "trajectories").glob("??/*"), key=lambda folder: folder.name):
            if folder.name not in unwanted:
                continue
            _refuse_new_plans(root, present)
            lease = acquire_lease(folder / LEASE_FILE, root / LOCK_FILE)
            if lease is None:  # another process works on it
                leased.add(folder.name)
                continue
            try:
                for stretch in stretches(folder):
                    remove_stretch(stretch)
                files.remove(folder / STATES_FOLDER)
            finally:
                # It lies in the folder, which is empty only without it.
                lease.release()
            files.remove_empty(folder)
            files.remove_empty(folder.parent)
        damaged = list(_remove_packed(root, unwanted - leased, present))
    return Removal(tuple(plans), tuple(sorted(unwanted - leased)), tuple(sorted(leased)), tuple(damaged))


def _plans(root: Path) -> set[str]:
    return {path.name for path in (root / "plans").glob("*")}


def _refuse_new_plans(root: Path, present: set[str]) -> None:
    if _plans(root) - present:
        what = "a run began while this store was cleaned, and may need what is left"
        raise StoreError(Issue("busy", str(root), what, "do this again: what it needs stays then"))


def _remove_packed(root: Path, unwanted: set[str], present: set[str]) -> Iterator[str]:
    """Replace the packs that hold something of these trajectories. Yield a sentence on each pack that stays."""
    packs = Packs(root)
    for pack in packs.current():
        if unwanted.isdisjoint(pack.holds):
            continue
        _refuse_new_plans(root, present)
        kept, damaged = pack.read(pack.holds.keys())
        if damaged:  # what else a damaged group holds cannot be told from what goes
            yield from dict.fromkeys(sentence for sentences in damaged.values() for sentence in sentences)
            continue
        if not all(stretch.is_known for stretch in kept):
            yield f"{pack.folder} holds columns of a newer lnlab, which would be lost"
            continue
        writer = PackWriter(root)
        for stretch in kept:
            if stretch.record.trajectory not in unwanted:
                writer.add(stretch, stretch.tables())
        replace_packs(writer, [pack])
    yield from packs.damaged.values()
