"""``lnlab ls``: the experiments of a store with their age, size and runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.keys import Json, digest_bytes
from lnlab.store.plans import PLAN_FILE, StoredPlan, plans_newest_first
from lnlab.store.records.layout import plan_folder
from lnlab.store.usage import trajectory_sizes
from lnlab.tables import ENDED_STATUSES
from lnlab.userfiles import LARGEST_SPEC, read_user_file

if TYPE_CHECKING:
    from lnlab.store.store import Store

COMPLETE, FAILED_RUNS, PARTIAL, MISSING_RUNS = "complete", "failed", "partial", "missing"
"""The state of a run: it ended by itself, it failed, a part of it is there, or nothing is."""


@dataclass(frozen=True)
class StoredExperiment:
    """A plan of a store.

    Attributes:
        stored: the plan.
        used: when it was run or made last, in seconds since 1970.
        size: bytes of its trajectories, which other experiments may share, and of its own tables.
        runs: how many runs are complete, failed, partial or missing.
        spec_now: what became of the text of the spec: ``as it is``, ``changed since``, or ``gone``.
    """

    stored: StoredPlan
    used: float
    size: int
    runs: Mapping[str, int]
    spec_now: str

    @property
    def command(self) -> str:
        """The experiment in words: ``tiny --profile one -s seeds=4``."""
        profile = [f"--profile {self.stored.profile}"] if self.stored.profile else []
        return " ".join([self.stored.name, *profile, *(f"-s {override}" for override in self.stored.overrides)])

    def to_json(self) -> dict[str, Json]:
        """As a JSON object."""
        return {
            "name": self.stored.name,
            "spec": self.stored.spec,
            "profile": self.stored.profile,
            "overrides": self.stored.overrides,
            "plan": self.stored.digest,
            "used": self.used,
            "size": self.size,
            "runs": self.runs,
            "spec_now": self.spec_now,
            "tuning": self.stored.undecided,
        }


def stored_experiments(store: "Store") -> list[StoredExperiment]:
    """Every plan of a store, the one used last first.

    Raises:
        StoreError: this user may not read the store.
    """
    sizes = trajectory_sizes(store.root)
    experiments = []
    for plan in plans_newest_first(store.root):
        runs = store.results(plan.digest, rows=False).runs
        counts: Counter[str] = Counter()
        for status, trajectory in runs.select("status", "trajectory").iter_rows():
            if status in ENDED_STATUSES:
                counts[COMPLETE] += 1
            elif status is None:  # no outcome was recorded, but work on it may be
                counts[PARTIAL if trajectory in sizes else MISSING_RUNS] += 1
            else:
                counts[PARTIAL if status == "interrupted" else FAILED_RUNS] += 1
        folder = plan_folder(store.root, plan.digest)
        rows = sum(sizes.get(trajectory, 0) for trajectory in runs["trajectory"].unique())
        experiments.append(
            StoredExperiment(
                plan,
                used=(folder / PLAN_FILE).stat().st_mtime,
                size=rows + sum(path.stat().st_size for path in folder.glob("*") if path.is_file()),
                runs={name: counts[name] for name in (COMPLETE, FAILED_RUNS, PARTIAL, MISSING_RUNS) if counts[name]},
                spec_now=spec_now(plan),
            )
        )
    return experiments


def spec_now(plan: StoredPlan) -> str:
    """What became of the file that a plan was made of."""
    path = Path(plan.spec)
    if not path.is_file():
        return "gone"
    return "as it is" if digest_bytes(read_user_file(path, "spec", LARGEST_SPEC)) == plan.text else "changed since"
