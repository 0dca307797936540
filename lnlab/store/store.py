"""The store as everybody else sees it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.compile.digests import unchanged
from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.store import files, packing, plans, verdicts
from lnlab.store.join import join_results, trajectory_requests
from lnlab.store.leases import LEASE_PERIOD
from lnlab.store.live import last_point
from lnlab.store.missing_work import MissingWork, TrajectoryRequest, find_missing_work
from lnlab.store.packs import Packs
from lnlab.store.plans import StoredPlan
from lnlab.store.records.checksummed import CorruptFile
from lnlab.store.records.layout import plan_folder, sizes_below, trajectory_folder
from lnlab.store.records.records import StoreReader
from lnlab.store.records.states import state_at
from lnlab.store.running_work import PlanWatch
from lnlab.store.unit import StoreUnit, open_unit
from lnlab.tables import LivePoint, Results

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan, Trajectory


@dataclass(frozen=True)
class Store:
    """A folder of results. It is created when something is first written.

    Attributes:
        root: the folder.
        period: seconds without a sign of life after which somebody else's lease is void.
        unsaved: by digest the plans that could not be stored.
    """

    root: Path
    period: float = LEASE_PERIOD
    unsaved: dict[str, plans.HeldPlan] = field(default_factory=dict, repr=False, compare=False)

    def open_unit(self, key: str) -> StoreUnit | None:
        """Open the trajectory ``key`` for writing its rows, or return None while another process works on it.

        Raises:
            StoreError: the store cannot be written.
        """
        return open_unit(self.root, key, self.period)

    def held(self) -> set[str]:
        """Every measurement that an intact record holds.

        Raises:
            StoreError: this user may not read the store.
        """
        reader = StoreReader(self.root)
        return {key for _, contents in reader.read_all(reader.known()) for key in contents.first_holders()}

    def pending(self, plan: "Plan") -> list[tuple["Trajectory", str]]:
        """The trajectories of a plan that lack something, with only what they lack, and why each miss is a miss.

        Raises:
            StoreError: this user may not read the store.
        """
        keys = {t.key: TrajectoryRequest(t.steps, {m.key: m.step for m in t.measurements}) for t in plan.trajectories}
        lacking = find_missing_work(self.root, keys)
        pending = []
        for trajectory in plan.trajectories:
            if miss := lacking.get(trajectory.key):
                missing = set(miss.measurements)
                measurements = tuple(each for each in trajectory.measurements if each.key in missing)
                pending.append((replace(trajectory, measurements=measurements), miss.reason))
        return pending

    def lacks(self, stored: StoredPlan) -> dict[str, MissingWork]:
        """Trajectory -> what it lacks of a remembered plan. Empty if there is nothing to do.

        Raises:
            StoreError: the store cannot be read, or the plan is damaged.
        """
        tables = self._tables(stored)
        return find_missing_work(self.root, trajectory_requests(tables["runs"], tables["needs"]))

    def watch(self, stored: StoredPlan) -> PlanWatch:
        """How far the runs of a plan are, for one look or many.

        Raises:
            StoreError: the plan is damaged.
        """
        return PlanWatch(self.root, self._tables(stored))

    def live(self, trajectory: str) -> LivePoint | None:
        """The last point that the worker of a trajectory wrote since its last commit, or None."""
        return last_point(self.root, trajectory)

    def _tables(self, stored: StoredPlan) -> Mapping[str, pl.DataFrame]:
        if held := self.unsaved.get(stored.digest):
            return held.tables
        try:
            return plans.plan_tables(self.root, stored)
        except CorruptFile as error:
            raise StoreError(
                Issue("unreadable", "", str(error), "run the spec again: what is finished is kept")
            ) from error

    def state(self, trajectory: str, step: int) -> bytes | None:
        """The saved state of a trajectory after ``step`` updates, if it is there and intact."""
        saved = state_at(trajectory_folder(self.root, trajectory), step)
        return None if saved is None else saved.content

    def pack(self) -> None:
        """Put finished trajectories into packs, and drop what lies there twice. Readers see the same rows as before.

        Raises:
            StoreError: the store cannot be written. Finished rows are kept.
        """
        packing.pack_store(self.root)

    def damage(self) -> list[str]:
        """One sentence for each plan and each pack that cannot be read at all.

        Raises:
            StoreError: this user may not read the store.
        """
        packs = Packs(self.root)
        packs.current()
        return [*plans.damaged_plans(self.root), *packs.damaged.values()]

    def size(self) -> tuple[int, int]:
        """Number of files, and bytes in them."""
        file_sizes = list(sizes_below(self.root))
        return len(file_sizes), sum(file_sizes)

    def save_plan(self, plan: "Plan", spec: Path, facts: Json = None, *, content: bytes | None = None) -> StoredPlan:
        """Store a plan, with its spec (``content`` where it is no file) and ``facts`` that are wanted again.

        Raises:
            StoreError: the store cannot be written.
        """
        return plans.save_plan(self.root, plan, spec, facts, content=content)

    def keep_plan(self, plan: "Plan", spec: Path, facts: Json = None, *, content: bytes | None = None) -> StoredPlan:
        """Store a plan, or hold it in this object if the store cannot be written.

        In this way the runs in somebody else's store can be judged and reported. ``require_stored`` raises the error
        before anything is computed for the plan.
        """
        try:
            return self.save_plan(plan, spec, facts, content=content)
        except StoreError as error:
            held = plans.hold_plan(plan, spec, facts, content, error)
            self.unsaved[plan.digest] = held
            return held.stored

    def require_stored(self, stored: StoredPlan) -> None:
        """Raise the error that kept a plan from being stored, if there was one. Computing needs a stored plan.

        Raises:
            StoreError: the store cannot be written.
        """
        if held := self.unsaved.get(stored.digest):
            raise held.error

    def remembered(self, quick: str) -> StoredPlan | None:
        """The plan that the same call made before, if it is intact and the files behind its keys are what they were."""
        same_call = (stored for stored in plans.plans_newest_first(self.root) if stored.quick == quick)
        usable = (stored for stored in same_call if unchanged(stored.inputs) and plans.is_intact(self.root, stored))
        return next(usable, None)

    def last(self) -> StoredPlan | None:
        """The plan that was used last."""
        return next(plans.plans_newest_first(self.root), None)

    def used(self, stored: StoredPlan) -> None:
        """Make this plan the one that was used last, if the store can be written."""
        with suppress(StoreError):
            files.touch(plan_folder(self.root, stored.digest) / plans.PLAN_FILE)

    def results(self, digest: str, *, rows: bool = True) -> Results:
        """The results of a stored plan so far. Without ``rows`` only the state of its runs, which is quicker to read.

        Raises:
            StoreError: the store cannot be read, or does not hold this plan intact.
        """
        if held := self.unsaved.get(digest):
            return join_results(self.root, held.tables, rows=rows)
        try:
            tables = plans.plan_tables(self.root, plans.load_plan(self.root, digest))
        except CorruptFile as error:
            raise StoreError(
                Issue("unreadable", "", str(error), "run the spec again: what is finished is kept")
            ) from error
        return join_results(self.root, tables, rows=rows)

    def found(self, plan: "Plan") -> Results:
        """The results of a plan so far, whether the plan is stored or not.

        Raises:
            StoreError: this user may not read the store.
        """
        return join_results(self.root, plans.plan_frames(plan))

    def verdicts(self, digest: str) -> pl.DataFrame:
        """The verdicts stored with a plan."""
        return verdicts.read_verdicts(self.root, digest)

    def keep_verdicts(self, digest: str, judged: pl.DataFrame) -> None:
        """Store verdicts with their plan. They replace older ones of the same claim on the same rows.

        Raises:
            StoreError: the store cannot be written.
        """
        verdicts.write_verdicts(self.root, digest, judged)
