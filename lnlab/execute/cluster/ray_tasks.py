"""Tasks on a Ray cluster, each of which is ``lnlab run`` on one shared store. No other file imports Ray.

As in an array of SLURM, leases in the store share the units out. Ray starts a task where a node has room for it, and
again on another node where its own is lost.
"""

import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lnlab.errors import LabError
from lnlab.execute.cluster.command import Command, last_line
from lnlab.execute.pool import cores, threads
from lnlab.issues import Issue

PATIENCE = 5.0
"""Seconds in which a cluster has to take a connection."""
_LOOK = 0.2
"""Seconds between two looks of a task at its command."""
LOSSES = 10
"""How often a task is started again because its node was lost."""
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}
"""Ray's settings in a cluster started here: no usage report, GPUs left visible, workers with our priority."""


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[None]:
    """Connect this process to a Ray cluster while the context is open. An existing connection is kept.

    Args:
        address: ``host:port`` or ``auto``. The default is ``RAY_ADDRESS``, else a temporary cluster on this machine.
        workers: cores of a temporary cluster. The default is all cores of this machine.

    Raises:
        LabError: Ray is not installed, or the cluster cannot be reached.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if find_spec("ray") is None:
        remedy = "install it with pip install 'lnlab[ray]', or leave the option out"
        raise LabError(Issue("not-installed", "--executor ray", "the package ray is not installed", remedy))
    import ray  # late: an extra, which takes two seconds

    if ray.is_initialized():
        yield
        return
    named = address or os.environ.get("RAY_ADDRESS")
    _require_reachable(named)
    options: dict[str, Any] = {"address": named} if named else {"num_cpus": workers or cores(), "address": "local"}
    before = signal.getsignal(signal.SIGTERM)
    try:
        dashboard = None if named else False
        ray.init(**options, include_dashboard=dashboard, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, SystemExit) as error:
        raise LabError(_unreachable(named or "a cluster of this machine", " ".join(str(error).split()))) from error
    finally:
        if threading.current_thread() is threading.main_thread():  # Ray would have SIGTERM end this process at once
            signal.signal(signal.SIGTERM, before)
    try:
        yield
    finally:
        ray.shutdown()


def _require_reachable(address: str | None) -> None:
    """Refuse an address without a listener. Ray would try it for minutes."""
    if address in (None, "auto", "local"):
        return
    if "://" in address:
        remedy = "run lnlab on a node of the cluster, with --address auto"
        raise LabError(
            Issue("unreachable", f"--address {address}", "is for Ray Client, which cannot start workers", remedy)
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise LabError(
            Issue("unreachable", f"--address {address}", "is no host:port", "write --address HOST:6379, or auto")
        )
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise LabError(_unreachable(address, str(error))) from error


def _unreachable(address: str, cause: str) -> Issue:
    remedy = "start one with 'ray start --head' and run lnlab on one of its nodes"
    return Issue("unreachable", f"--address {address}", f"there is no Ray cluster that can be reached: {cause}", remedy)


@dataclass(frozen=True)
class RayTasks:
    """Tasks that were handed to Ray.

    Attributes:
        references: Ray's, to what each task will return.
        logs: the folder of what they print, a file each.
    """

    references: Sequence[Any]
    logs: Path

    def done(self) -> bool:
        """Whether every task has ended."""
        import ray  # late: an extra

        return not ray.wait(self.references, num_returns=len(self.references), timeout=0)[1]

    def cancel(self) -> None:
        """Cancel every task that has not ended. Each saves its training runs first."""
        import ray  # late: an extra

        for reference in self.references:
            ray.cancel(reference)

    def failures(self) -> list[tuple[str, Path]]:
        """One line on each task whose command failed, and the file with all that it printed."""
        import ray  # late: an extra

        failures = []
        for number, reference in enumerate(self.references):
            log = _log(self.logs, number)
            try:
                if ray.get(reference) not in (0, 1):  # 1: a run failed, which the store says better
                    failures.append((last_line(log), log))
            except ray.exceptions.RayError as error:
                failures.append((str(getattr(error, "cause", None) or error).strip().splitlines()[-1], log))
        return failures


def submit_to_ray(
    command: Command, number: int | None, most: int, logs: Path, plan: Path, memory: int, *, on_gpu: bool
) -> RayTasks:
    """Hand tasks to the cluster that this process is connected to.

    Args:
        command: what each of them does, with one worker.
        number: how many. None means one for each core that there is now.
        most: how many there are units.
        logs: a folder in the store.
        plan: a file of the store. A task whose node does not see it fails.
        memory: bytes that each takes of its node.
        on_gpu: whether each takes a GPU.

    Raises:
        LabError: no node has a core, so much memory or a GPU.
    """
    import ray  # late: an extra

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    largest = max((int(node.get("memory", 0)) for node in nodes), default=0)
    if largest and memory > largest:
        what = f"one unit needs about {memory / 1e9:.3g} GB, and no node gives more than {largest / 1e9:.3g} GB"
        remedy = "start nodes with more memory (ray start --memory), or take a smaller model"
        raise LabError(Issue("out-of-range", "--executor ray", what, remedy))
    if on_gpu and not any(node.get("GPU") for node in nodes):
        remedy = "write train.device: cpu, or start a node with ray start --num-gpus"
        raise LabError(Issue("unreachable", "train.device", "no node of the cluster has a GPU", remedy))
    count = number or sum(int(node["CPU"]) // threads() for node in nodes)
    if not count:
        remedy = "set the number with --workers: an autoscaling cluster starts nodes for them"
        raise LabError(Issue("unreachable", "--executor ray", "no node of the cluster has a core now", remedy))
    logs.mkdir(parents=True, exist_ok=True)
    needs = {"num_cpus": threads(), "num_gpus": int(on_gpu), "memory": memory, "max_retries": LOSSES}
    task: Callable[..., Any] = ray.remote(_run).options(**needs).remote
    return RayTasks([task(command, plan, _log(logs, n)) for n in range(min(count, most))], logs)


def _log(logs: Path, number: int) -> Path:
    return logs / f"{number}.log"


def _run(command: Command, plan: Path, log: Path) -> int:
    """What a task does on its node: the command in a process of its own, which is asked to save where it is cancelled.

    Raises:
        FileNotFoundError: the node does not see the store.
    """
    if not plan.is_file():
        what = f"node {socket.gethostname()} does not see the store {plan.parents[2]}"
        remedy = (
            "give --store a folder that all nodes reach, or let each node run a part and hand it on with lnlab push"
        )
        raise FileNotFoundError(f"{what}; {remedy}")
    with log.open("ab") as printed:
        process = command.start(stdout=printed, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None:
                time.sleep(_LOOK)
        except KeyboardInterrupt:  # by which Ray cancels: no signal, so that it is seen between two looks alone
            process.terminate()
        return process.wait()
