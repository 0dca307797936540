"""The store as everybody else sees it."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.compile.digests import unchanged
from lnlab.errors import Problem, StoreError
from lnlab.keys import Json
from lnlab.store import compact, files, packing, plans, verdicts
from lnlab.store.join import join, wanted
from lnlab.store.leases import PERIOD
from lnlab.store.missing_work import Miss, Wanted, misses
from lnlab.store.packs import Packs
from lnlab.store.plans import Stored
from lnlab.store.records.checksummed import Damaged
from lnlab.store.records.layout import plan_folder, sizes
from lnlab.store.records.records import Reader
from lnlab.store.unit import Opener, Unit
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.plan import Measurement, Plan, Trajectory


@dataclass(frozen=True)
class Store:
    """A folder of results; it is created when something is first written.

    Attributes:
        root: the folder.
        period: seconds without a sign of life after which somebody else's lease is void.
    """

    root: Path
    period: float = PERIOD

    def open_unit(self, key: str) -> Unit | None:
        """Where to put the rows of the trajectory ``key``; None while another process works on it.

        Raises:
            StoreError: the store cannot be written.
        """
        return Opener(self.root, self.period)(key)

    def held(self) -> set[str]:
        """Every measurement that an intact record holds.

        Raises:
            StoreError: this user may not read the store.
        """
        reader = Reader(self.root)
        keys = {folder.name for folder in (self.root / "trajectories").glob("??/*")} | reader.packs.trajectories()
        return {key for _, contents in reader.read_all(keys) for key in contents.first_holders()}

    def pending(self, plan: "Plan") -> list[tuple["Trajectory", str]]:
        """The trajectories of a plan that lack something, with only what they lack, and why each miss is a miss.

        Raises:
            StoreError: this user may not read the store.
        """
        if compact.read_whole(self.root, plan.digest):
            return []
        keys = {t.key: Wanted(t.steps, {m.key: m.step for m in t.measurements}) for t in plan.trajectories}
        lacking = misses(self.root, keys)
        pending = []
        for trajectory in plan.trajectories:
            if miss := lacking.get(trajectory.key):
                measurements = _missing_measurements(trajectory, miss)
                pending.append((replace(trajectory, measurements=measurements), miss.reason))
        return pending

    def lacks(self, stored: Stored) -> dict[str, Miss]:
        """Trajectory -> what it lacks of a remembered plan: empty where there is nothing to do.

        Raises:
            StoreError: the store cannot be read, or the plan is damaged.
        """
        if compact.read_whole(self.root, stored.digest):
            return {}
        tables = self._tables(stored)
        return misses(self.root, wanted(tables["runs"], tables["needs"]))

    def pack(self) -> None:
        """Put finished trajectories into packs, and drop what lies there twice; readers see the same before and after.

        Raises:
            StoreError: the store cannot be written; what was finished is kept.
        """
        packing.pack(self.root)

    def damage(self) -> list[str]:
        """One sentence for each plan and each pack that cannot be read at all.

        Raises:
            StoreError: this user may not read the store.
        """
        packs = Packs(self.root)
        packs.current()
        return [*plans.damaged(self.root), *packs.damaged.values()]

    def size(self) -> tuple[int, int]:
        """Number of files, and bytes in them."""
        file_sizes = list(sizes(self.root))
        return len(file_sizes), sum(file_sizes)

    def save_plan(self, plan: "Plan", spec: Path, facts: Json = None) -> Stored:
        """Store a plan, with the path of its spec and ``facts`` that the command line wants to find again.

        Raises:
            StoreError: the store cannot be written.
        """
        return plans.save(self.root, plan, spec, facts)

    def remembered(self, quick: str) -> Stored | None:
        """The plan that the same call made before, if it is intact and the files behind its keys are what they were."""
        same_call = (stored for stored in plans.newest_first(self.root) if stored.quick == quick)
        usable = (stored for stored in same_call if unchanged(stored.inputs) and plans.intact(self.root, stored))
        return next(usable, None)

    def last(self) -> Stored | None:
        """The plan that was used last."""
        return next(plans.newest_first(self.root), None)

    def used(self, stored: Stored) -> None:
        """Make this plan the one that was used last; on a store that cannot be written, do nothing."""
        with suppress(StoreError):
            files.touch(plan_folder(self.root, stored.digest) / plans.PLAN)

    def results(self, digest: str) -> Results:
        """The results of a stored plan so far. A large plan that is complete is compacted on the way.

        Raises:
            StoreError: the store cannot be read, or does not hold this plan intact.
        """
        whole = compact.read_whole(self.root, digest)
        if whole is not None:
            return whole
        try:
            stored = plans.load(self.root, digest)
        except Damaged as error:
            raise StoreError(Problem("", str(error), "run the spec again: what is finished is kept")) from error
        joined = join(self.root, self._tables(stored))
        if joined.runs["trajectory"].n_unique() > compact.UNITS and joined.ended:
            with suppress(StoreError):  # a convenience: the records it would copy are there
                compact.write_whole(self.root, digest, joined)
        return joined

    def found(self, plan: "Plan") -> Results:
        """The results of a plan so far, whether the plan is stored or not.

        Raises:
            StoreError: this user may not read the store.
        """
        return join(self.root, plans.frames(plan))

    def verdicts(self, digest: str) -> pl.DataFrame:
        """The verdicts stored with a plan."""
        return verdicts.read(self.root, digest)

    def keep_verdicts(self, digest: str, judged: pl.DataFrame) -> None:
        """Store verdicts with their plan; the same claim on the same rows is replaced.

        Raises:
            StoreError: the store cannot be written.
        """
        verdicts.keep(self.root, digest, judged)

    def _tables(self, stored: Stored) -> dict[str, pl.DataFrame]:
        try:
            return plans.tables(self.root, stored)
        except Damaged as error:
            raise StoreError(Problem("", str(error), "run the spec again: what is finished is kept")) from error


def _missing_measurements(trajectory: "Trajectory", miss: Miss) -> "tuple[Measurement, ...]":
    missing = set(miss.measurements)
    return tuple(measurement for measurement in trajectory.measurements if measurement.key in missing)
