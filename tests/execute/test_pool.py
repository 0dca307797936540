"""Workers have one thread each; this process keeps its own environment."""

import os
import signal
import time

from toy_pieces import process_of

from lnlab.execute.pool import WORKER_ENVIRONMENT, Workers, cores


def test_a_broken_pool_is_replaced_and_the_environment_is_the_workers_alone(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    workers = Workers(1)
    try:
        name = next(iter(WORKER_ENVIRONMENT))
        assert workers.submit(os.getenv, name).result() == "1"
        os.kill(workers.submit(process_of, 0).result(), signal.SIGKILL)
        answers = []
        while not answers:
            try:
                answers.append(workers.submit(abs, -3).result(timeout=20))
            except Exception:
                time.sleep(0.05)
        assert answers == [3]
    finally:
        workers.stop()
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_there_is_a_core():
    assert 1 <= cores() <= (os.cpu_count() or 1)
