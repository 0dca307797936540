"""The nodes of a Ray cluster as what units are computed on: how much room there is, and for what."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from lnlab.compile.cost.cost import machine_memory
from lnlab.compile.cost.memory import LIBRARIES, MemoryPlan
from lnlab.errors import LabError
from lnlab.execute.cluster.connection import cluster_size
from lnlab.execute.cluster.ray_executor import RayExecutor, WorkerResources
from lnlab.execute.executor import Executor, OpenExecutor
from lnlab.execute.pool import threads
from lnlab.issues import Issue


@dataclass(frozen=True)
class RayCluster:
    """Workers on the nodes of the Ray cluster that this process is connected to: ``requested``, or one a core.

    Attributes:
        requested: the number of workers. The default is one per core, including cores of nodes that join later.
        say: tells the user what a run waits for.
    """

    requested: int | None
    say: Callable[[str], None]

    @property
    def workers(self) -> int:
        """The number requested, or as many as there are cores now.

        Raises:
            LabError: it has no core now, and no number of workers was requested.
        """
        if count := self.requested or cluster_size().cores // threads():
            return count
        remedy = "set the number with --workers: an autoscaling cluster starts nodes for them"
        raise LabError(Issue("unreachable", "--executor ray", "no node of the cluster has a core now", remedy))

    @property
    def memory(self) -> int:
        """Bytes that the nodes offer to tasks now. Without a node, it is the memory of this machine."""
        return cluster_size().memory or machine_memory()

    def require(self, devices: Collection[str]) -> None:
        """Raise LabError if CUDA is wanted and no node has a GPU. Whether torch sees it is checked on the node."""
        if "cuda" in devices and not cluster_size().gpus:
            remedy = "write train.device: cpu, or start a node with ray start --num-gpus"
            raise LabError(Issue("unreachable", "train.device", "no node of the cluster has a GPU", remedy))

    def gpus(self, devices: Collection[str]) -> tuple[()]:  # noqa: ARG002
        """None that workers share: Ray gives each worker its own."""
        return ()

    def executor(self, folder: Path, plan: MemoryPlan, devices: Collection[str]) -> OpenExecutor:
        """Workers that take a core each, the memory of the largest unit, and a GPU where one is wanted."""
        needed = plan.peak + LIBRARIES
        largest = cluster_size().largest
        if largest and needed > largest:
            what = f"one unit needs about {_gigabytes(needed)}, and no node gives more than "
            remedy = "start nodes with more memory (ray start --memory), or take a smaller model"
            raise LabError(Issue("out-of-range", "--executor ray", what + _gigabytes(largest), remedy))
        resources = WorkerResources(needed, int("cuda" in devices))
        limit = None if self.requested else len(plan.units)

        def opened(count: int) -> Executor:
            return RayExecutor(count=count, folder=folder, resources=resources, limit=limit, say=self.say)

        return opened


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
