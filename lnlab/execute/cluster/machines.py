"""Where the units of a run are computed: on this machine, or on a Ray cluster; how much room there is, and for what."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lnlab.compile.cost.cost import machine_memory
from lnlab.compile.cost.memory import LIBRARIES, MemoryPlan
from lnlab.errors import LabError, Problem
from lnlab.execute.devices import require_devices
from lnlab.execute.executor import Executor, ExecutorKind, OpenExecutor
from lnlab.execute.pool import cores
from lnlab.execute.unit import OpenUnit


class Machines(Protocol):
    """What units are computed on."""

    @property
    def workers(self) -> int:
        """How many workers there would be, were there memory for all."""
        ...

    @property
    def memory(self) -> int:
        """Bytes that they have together."""
        ...

    def require(self, devices: Collection[str]) -> None:
        """Refuse devices that are not there.

        Raises:
            LabError: which, and what there is.
        """
        ...

    def executor(
        self, folder: Path, open_unit: OpenUnit, plan: MemoryPlan, devices: Collection[str]
    ) -> OpenExecutor | None:
        """Opens the executor for these units; None: the one of this machine.

        Raises:
            LabError: one of them needs more memory than a machine has.
        """
        ...


@dataclass(frozen=True)
class ThisMachine:
    """Worker processes of this machine: ``wanted``, or as many as cores."""

    wanted: int | None

    @property
    def workers(self) -> int:
        """As many as are wanted."""
        return self.wanted or cores()

    @property
    def memory(self) -> int:
        """Of this machine."""
        return machine_memory()

    def require(self, devices: Collection[str]) -> None:
        """Those that torch sees."""
        require_devices(devices)

    def executor(self, folder: Path, open_unit: OpenUnit, plan: MemoryPlan, devices: Collection[str]) -> None:
        """The one of this machine."""


@dataclass(frozen=True)
class RayCluster:
    """Workers on the nodes of the Ray cluster that this process is connected to: ``wanted``, or one a core.

    Attributes:
        wanted: how many; None: as many as cores, those of nodes that come later included.
        say: tells the user what a run waits for.
    """

    wanted: int | None
    say: Callable[[str], None]

    @property
    def workers(self) -> int:
        """As many as are wanted, or as there are cores now.

        Raises:
            LabError: it has no core now, and nobody said how many workers are wanted.
        """
        from lnlab.execute.cluster.connection import cluster_size

        if count := self.wanted or cluster_size().cores:
            return count
        remedy = "say how many are wanted with --workers: a cluster that grows by itself starts nodes for them"
        raise LabError(Problem("--executor ray", "no node of the cluster has a core now", remedy))

    @property
    def memory(self) -> int:
        """What its nodes give to tasks now; without a node, of which nothing is known, as much as this machine's."""
        from lnlab.execute.cluster.connection import cluster_size

        return cluster_size().memory or machine_memory()

    def require(self, devices: Collection[str]) -> None:
        """A GPU where one is wanted; whether torch sees it is found out on its node."""
        from lnlab.execute.cluster.connection import cluster_size

        if "cuda" in devices and not cluster_size().gpus:
            remedy = "write train.device: cpu, or start a node with ray start --num-gpus"
            raise LabError(Problem("train.device", "no node of the cluster has a GPU", remedy))

    def executor(self, folder: Path, open_unit: OpenUnit, plan: MemoryPlan, devices: Collection[str]) -> OpenExecutor:
        """Workers that take a core each, the memory of the largest unit, and a GPU where one is wanted."""
        from lnlab.execute.cluster.connection import cluster_size
        from lnlab.execute.cluster.ray_executor import RayExecutor, WorkerResources

        needed, largest = plan.peak + LIBRARIES, cluster_size().largest
        if largest and needed > largest:
            what = f"one unit needs about {_gigabytes(needed)}, and no node gives more than "
            remedy = "start nodes with more memory (ray start --memory), or take a smaller model"
            raise LabError(Problem("--executor ray", what + _gigabytes(largest), remedy))
        resources = WorkerResources(needed, int("cuda" in devices))
        limit = None if self.wanted else len(plan.units)

        def opened(count: int) -> Executor:
            return RayExecutor(count, folder, open_unit, resources, limit, self.say)

        return opened


@contextmanager
def machines(
    kind: ExecutorKind, address: str | None, workers: int | None, say: Callable[[str], None]
) -> Iterator[Machines]:
    """What units are computed on, connected for as long as the block lasts.

    Raises:
        LabError: the cluster cannot be reached.
    """
    if kind == ExecutorKind.local:
        yield ThisMachine(workers)
        return
    from lnlab.execute.cluster.connection import connected

    with connected(address, workers):
        yield RayCluster(workers, say)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
