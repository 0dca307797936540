"""The way to a Ray cluster, and what it has. Nothing else of lnlab needs Ray to be installed."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lnlab.errors import LabError
from lnlab.execute.cluster.package import ray
from lnlab.execute.pool import cores
from lnlab.issues import Issue

PATIENCE = 5.0
"""Seconds in which a cluster has to take a connection."""
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}
"""Ray's settings in a cluster started here: no usage report, GPUs left visible, workers with our priority."""


@dataclass(frozen=True)
class ClusterSize:
    """What the nodes of a cluster have now.

    Attributes:
        cores: of all nodes.
        gpus: of all nodes.
        memory: bytes of all nodes that Ray gives to tasks.
        largest: the same of the node that has most.
    """

    cores: int
    gpus: int
    memory: int
    largest: int

    @classmethod
    def of(cls, nodes: Sequence[dict[str, Any]]) -> "ClusterSize":
        """The size of the nodes that Ray lists and that are alive."""
        resources = [node["Resources"] for node in nodes if node["Alive"]]
        memory = [int(has.get("memory", 0)) for has in resources if has.get("CPU", 0) >= 1]
        cores_of_all = sum(int(has.get("CPU", 0)) for has in resources)
        gpus = sum(int(has.get("GPU", 0)) for has in resources)
        return cls(cores_of_all, gpus, sum(memory), max(memory, default=0))


def cluster_size() -> ClusterSize:
    """The size of the cluster that this process is connected to."""
    return ClusterSize.of(ray.nodes())


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
    if ray is None:
        remedy = "install it with pip install 'lnlab[ray]', or leave the option out"
        raise LabError(Issue("not-installed", "--executor ray", "the package ray is not installed", remedy))
    if ray.is_initialized():
        yield
        return
    named = address or os.environ.get("RAY_ADDRESS")
    _require_reachable(named)
    options: dict[str, Any] = {"address": named} if named else {"num_cpus": workers or cores(), "address": "local"}
    try:
        with _handlers_kept():
            ray.init(
                **options, include_dashboard=None if named else False, log_to_driver=False, logging_level=logging.ERROR
            )
    except (ConnectionError, RuntimeError, ValueError, SystemExit) as error:
        raise LabError(_unreachable(named or "a cluster of this machine", " ".join(str(error).split()))) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """SIGTERM afterwards goes where it went before: Ray would have it end this process at once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


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
