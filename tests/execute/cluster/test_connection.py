"""What keeps a run from its cluster is said in one line, with or without Ray."""

import sys

import pytest

from lnlab.errors import LabError
from lnlab.execute.cluster.connection import ClusterSize, connected
from lnlab.execute.cluster.machines import RayCluster, ThisMachine, machines
from lnlab.execute.executor import ExecutorKind


def test_without_ray_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LabError) as caught, connected(None, None):
        pass
    assert str(caught.value) == (
        "--executor ray: the package ray is not installed; install it with pip install 'lnlab[ray]', "
        "or leave the option out"
    )


@pytest.mark.usefixtures("promptly")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1:1", "there is no Ray cluster that can be reached: "),
        ("127.0.0.1:99999999", "there is no Ray cluster that can be reached: "),
        ("somewhere", "is no host:port; write --address HOST:6379, or auto"),
        ("ray://127.0.0.1:10001", "is for Ray Client, through which no worker can be had; run lnlab on a node"),
    ],
)
def test_an_address_where_no_cluster_is_found_is_refused_at_once(monkeypatch, address, what):
    monkeypatch.setitem(sys.modules, "ray", type("Ray", (), {"is_initialized": staticmethod(lambda: False)}))
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


def test_a_gpu_that_no_node_has_and_a_cluster_without_cores_are_refused(monkeypatch):
    def size():
        return ClusterSize(0, 0, 0, 0)

    monkeypatch.setattr("lnlab.execute.cluster.connection.cluster_size", size)
    cluster = RayCluster(None, print)
    with pytest.raises(LabError, match=r"^train.device: no node of the cluster has a GPU; "):
        cluster.require({"cuda"})
    with pytest.raises(LabError, match="no node of the cluster has a core now; say how many are wanted with --workers"):
        _ = cluster.workers
    assert RayCluster(3, print).workers == 3


def test_this_machine_needs_no_cluster(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with machines(ExecutorKind.local, None, 3, print) as where:
        assert where == ThisMachine(3)
        assert where.workers == 3
