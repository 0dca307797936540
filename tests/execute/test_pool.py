"""Workers have one thread each; this process keeps its own environment."""

import os
import signal
import subprocess
import sys

import pytest

from lnlab.errors import LabError
from lnlab.execute.pool import Workers, cores, threads
from tests.support.toy_pieces import process_of


def test_there_is_a_core_and_a_worker_has_the_threads_that_the_environment_says():
    assert 1 <= cores() <= (os.cpu_count() or 1)
    environment = os.environ | {"LNLAB_THREADS": "2"}
    command = [sys.executable, "-c", THREADS_OF_A_WORKER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("2 cpu ("), done.stderr
    assert done.stdout.endswith(", 2 threads)\n")


THREADS_OF_A_WORKER = """
import torch
from operator import call
from lnlab.execute.machine import device_name
from lnlab.execute.pool import Workers
from lnlab.execute.worker_process import become_worker
workers = Workers(1)
workers.submit(call, become_worker).result()
print(workers.submit(call, torch.get_num_threads).result(), workers.submit(device_name, "cpu").result())
workers.stop()
"""


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "100000", "²"])
def test_threads_are_a_sensible_number(monkeypatch, text):
    monkeypatch.setenv("LNLAB_THREADS", text)
    with pytest.raises(LabError, match=r"LNLAB_THREADS: is '.*'; set it to a number from 1 to"):
        threads()
    monkeypatch.setenv("LNLAB_THREADS", "")
    assert threads() == 1


def test_each_worker_sees_the_gpu_that_it_was_given_also_once_it_was_replaced():
    workers = Workers(3, gpus=["2", "GPU-5f1", "2"])
    try:
        seen = lambda n: workers.submit(os.getenv, "CUDA_VISIBLE_DEVICES", worker=n).result(timeout=60)  # noqa: E731
        assert [seen(n) for n in (1, 2, 3)] == ["2", "GPU-5f1", "2"]
        os.kill(workers.submit(process_of, 0, worker=2).result(), signal.SIGKILL)
        assert seen(2) == "GPU-5f1"
    finally:
        workers.stop()
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
