"""``lnlab ls``: the experiments of a store with their age, size and runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.keys import digest_bytes
from lnlab.store.plans import PLAN_FILE, StoredPlan, plans_newest_first
from lnlab.store.records.layout import plan_folder
from lnlab.store.usage import trajectory_sizes
from lnlab.tables import ENDED_STATUSES
from lnlab.userfiles import LARGEST_SPEC, read_user_file

if TYPE_CHECKING:
    from lnlab.store.store import Store

COMPLETE, FAILED_RUNS, PARTIAL, MISSING_RUNS = "complete", "failed", "partial", "missing"
"""How a run stands: it came to its own end; it failed; something of it is there; nothing is."""


@dataclass(frozen=True)
class StoredExperiment:
    """A plan of a store.

    Attributes:
        name: of the spec.
        spec: its file, as it was run.
        profile: the profile, or None for the default.
        overrides: what ``-s`` gave.
        plan: its digest.
        used: when it was run or made last, in seconds since 1970.
        size: bytes of its trajectories, which other experiments may share, and of its own tables.
        runs: how many runs are complete, failed, partial or missing.
        spec_now: what became of the text of the spec: ``as it is``, ``changed since``, or ``gone``.
        tuning: whether its runs only choose.
    """

    name: str
    spec: str
    profile: str | None
    overrides: tuple[str, ...]
    plan: str
    used: float
    size: int
    runs: Mapping[str, int]
    spec_now: str
    tuning: bool

    @property
    def command(self) -> str:
        """The experiment in words: ``tiny --profile one -s seeds=4``."""
        profile = [f"--profile {self.profile}"] if self.profile else []
        return " ".join([self.name, *profile, *(f"-s {override}" for override in self.overrides)])


def stored_experiments(store: "Store") -> list[StoredExperiment]:
    """Every plan of a store, the one used last first.

    Raises:
        StoreError: this user may not read the store.
    """
    sizes = trajectory_sizes(store.root)
    return [_experiment(store, plan, sizes) for plan in plans_newest_first(store.root)]


def _experiment(store: "Store", plan: StoredPlan, sizes: Mapping[str, int]) -> StoredExperiment:
    runs = store.results(plan.digest, rows=False).runs
    counts = Counter(
        _standing(status, in_store=trajectory in sizes)
        for status, trajectory in runs.select("status", "trajectory").iter_rows()
    )
    folder = plan_folder(store.root, plan.digest)
    size = sum(sizes.get(trajectory, 0) for trajectory in runs["trajectory"].unique())
    return StoredExperiment(
        name=plan.name,
        spec=plan.spec,
        profile=plan.profile,
        overrides=plan.overrides,
        plan=plan.digest,
        used=(folder / PLAN_FILE).stat().st_mtime,
        size=size + sum(path.stat().st_size for path in folder.glob("*") if path.is_file()),
        runs={name: counts[name] for name in (COMPLETE, FAILED_RUNS, PARTIAL, MISSING_RUNS) if counts[name]},
        spec_now=spec_now(plan),
        tuning=plan.undecided,
    )


def _standing(status: str | None, *, in_store: bool) -> str:
    if status in ENDED_STATUSES:
        return COMPLETE
    if status == "interrupted" or (status is None and in_store):
        return PARTIAL
    return MISSING_RUNS if status is None else FAILED_RUNS


def spec_now(plan: StoredPlan) -> str:
    """What became of the file that a plan was made of."""
    path = Path(plan.spec)
    if not path.is_file():
        return "gone"
    return "as it is" if digest_bytes(read_user_file(path, "spec", LARGEST_SPEC)) == plan.text else "changed since"
