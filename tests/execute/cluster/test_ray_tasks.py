"""What keeps a run from its cluster is said in one line, with or without Ray."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from lnlab.errors import LabError
from lnlab.execute.cluster import ray_tasks
from lnlab.execute.cluster.command import Command
from lnlab.execute.cluster.ray_tasks import connected, submit_to_ray


@pytest.fixture
def ray(monkeypatch):
    """A stand-in for the package."""
    fake = SimpleNamespace(is_initialized=lambda: False, nodes=list)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(ray_tasks, "find_spec", lambda _: fake)
    return fake


def test_without_ray_the_message_says_how_to_get_it(monkeypatch, golden):
    monkeypatch.setattr(ray_tasks, "find_spec", lambda _: None)
    with pytest.raises(LabError) as caught, connected(None, None):
        pass
    golden(str(caught.value))


@pytest.mark.usefixtures("promptly", "ray")
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
def test_an_address_where_no_cluster_is_found_is_refused_at_once(address, what):
    with pytest.raises(LabError) as caught, connected(address, None):
        pass
    assert str(caught.value).startswith(f"--address {address}: {what}")
    assert "\n" not in str(caught.value)


def node(alive=True, **resources):
    return {"Alive": alive, "Resources": resources}


@pytest.mark.parametrize(
    ("nodes", "memory", "on_gpu"),
    [
        ([node(CPU=4.0, memory=8e9), node(memory=64e9), node(alive=False, CPU=64.0, memory=9e12)], 10**10, False),
        ([node(CPU=4.0, memory=8e9)], 10**9, True),
        ([node(memory=64e9)], 10**9, False),  # a head on which nothing is computed
    ],
)
def test_what_no_node_has_is_refused(ray, tmp_path, golden, nodes, memory, on_gpu):
    ray.nodes = lambda: nodes
    with golden.raises(LabError):
        submit_to_ray(Command((), tmp_path), None, 3, tmp_path / "logs", tmp_path / "plan", memory, on_gpu=on_gpu)


@pytest.mark.parametrize(("number", "tasks"), [(None, 6), (2, 2), (64, 20)])
def test_there_is_a_task_for_each_core_or_as_many_as_are_asked_for_and_none_without_a_unit(
    ray, tmp_path, number, tasks
):
    asked = []
    ray.nodes = lambda: [node(CPU=4.0, memory=8e9, GPU=1.0), node(CPU=2.0, memory=3e9), node(memory=64e9)]

    def options(**needs):
        asked.append(needs)
        return SimpleNamespace(remote=lambda *given: given)

    ray.remote = lambda _: SimpleNamespace(options=options)
    command = Command(("run",), tmp_path)
    submitted = submit_to_ray(command, number, 20, tmp_path / "logs", tmp_path / "plan", 10**9, on_gpu=True)
    assert len(submitted.references) == tasks
    assert len({log for _, _, log in submitted.references}) == tasks
    assert asked == [{"num_cpus": 1, "num_gpus": 1, "memory": 10**9, "max_retries": ray_tasks.LOSSES}]


def test_a_node_that_does_not_see_the_store_computes_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^node .* does not see the store .*; give --store a folder that all"):
        ray_tasks._run(Command(("run",), tmp_path), tmp_path / "plans/ab/plan.json", tmp_path / "0.log")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_a_run_on_this_machine_imports_no_ray():
    modules = "lnlab.app.compute, lnlab.execute.worker, lnlab.execute.cluster.ray_tasks"
    probe = f"import sys, {modules}; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout.strip() == "False"
