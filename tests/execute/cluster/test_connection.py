"""What keeps a run from its cluster is said in one line, with or without Ray."""

import math
import subprocess
import sys
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from lnlab.errors import LabError
from lnlab.execute.cluster import connection, machines, ray_executor
from lnlab.execute.cluster.agent import Introduction, software
from lnlab.execute.cluster.connection import ClusterSize, connected
from lnlab.execute.cluster.machines import RayCluster
from lnlab.execute.cluster.ray_executor import RayExecutor, WorkerResources, _AgentState


def test_without_ray_the_message_says_how_to_get_it(monkeypatch, golden):
    monkeypatch.setattr(connection, "ray", None)
    with pytest.raises(LabError) as caught, connected(None, None):
        pass
    golden(str(caught.value))


@pytest.mark.usefixtures("promptly")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1:1", "there is no Ray cluster that can be reached: "),
        ("127.0.0.1:99999999", "there is no Ray cluster that can be reached: "),
        ("somewhere", "is no host:port; write --address HOST:6379, or auto"),
        ("ray://127.0.0.1:10001", "is for Ray Client, which cannot start workers; run lnlab on a node"),
    ],
)
def test_an_address_where_no_cluster_is_found_is_refused_at_once(monkeypatch, address, what):
    monkeypatch.setattr(connection, "ray", SimpleNamespace(is_initialized=lambda: False))
    with pytest.raises(LabError) as caught, connected(address, None):
        pass
    assert str(caught.value).startswith(f"--address {address}: {what}")
    assert "\n" not in str(caught.value)


def test_the_size_of_a_cluster_is_that_of_its_living_nodes():
    nodes = [
        {"Alive": True, "Resources": {"CPU": 4.0, "memory": 8e9, "GPU": 2.0}},
        {"Alive": True, "Resources": {"CPU": 2.0, "memory": 3e9}},
        {"Alive": True, "Resources": {"memory": 64e9}},  # a head on which nothing is computed
        {"Alive": False, "Resources": {"CPU": 64.0, "memory": 9e12}},
    ]
    assert ClusterSize.of(nodes) == ClusterSize(cores=6, gpus=2, memory=11_000_000_000, largest=8_000_000_000)


def test_a_gpu_that_no_node_has_and_a_cluster_without_cores_are_refused(monkeypatch, golden):
    def size():
        return ClusterSize(0, 0, 0, 0)

    monkeypatch.setattr(machines, "cluster_size", size)
    cluster = RayCluster(None, print)
    with golden.raises(LabError):
        cluster.require({"cuda"})
    with golden.raises(LabError):
        _ = cluster.workers
    assert RayCluster(3, print).workers == 3


@pytest.mark.parametrize("shares", [True, False])
def test_a_node_that_does_not_see_the_store_is_refused_in_one_line(monkeypatch, tmp_path, shares, golden):
    monkeypatch.setattr(ray_executor, "ray", SimpleNamespace(exceptions=SimpleNamespace(RayError=OSError)))
    executor = RayExecutor(1, tmp_path, WorkerResources(1))
    executor._next_look = math.inf
    introduced = Future()
    introduced.set_result(Introduction("n7", software(), shares))
    executor._agents[1] = agent = _AgentState(handle=None, message=introduced)
    if shares:
        assert executor.ready() == [1]
        return
    with pytest.raises(LabError) as caught:
        executor.ready()
    golden(str(caught.value))
    assert not agent.ready


@pytest.mark.nightly
def test_a_run_on_this_machine_imports_no_ray():
    modules = "lnlab.app.compute, lnlab.execute.worker, lnlab.execute.cluster.agent"
    probe = f"import sys, {modules}; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout.strip() == "False"
