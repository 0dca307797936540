"""What a worker promises: one task after the other, and that a dead process takes only the task that it was at."""

import os
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import Pipe
from multiprocessing.reduction import ForkingPickler

import pytest

from lnlab.execute import pool
from lnlab.execute.executor import WorkerDied
from lnlab.execute.interrupts import listen
from lnlab.execute.pool import Workers
from lnlab.execute.process_worker import serve


@pytest.fixture
def workers():
    opened = Workers(2)
    yield opened
    opened.stop()


def own_pid(_):
    return os.getpid()


def end(how):
    if how < 0:
        os.kill(os.getpid(), -how)
        time.sleep(30)
    os._exit(how)


def unreadable(_):
    class Local(Exception):
        pass

    raise Local("of no module")


def unsendable(_):
    return threading.Lock()


def close_everything(_):
    os.closerange(3, 1000)
    time.sleep(60)


def listen_late(_gpu=None):
    time.sleep(1.0)
    listen()


def slept(seconds):
    time.sleep(seconds)
    return seconds


def test_each_task_is_done_by_the_worker_that_it_names_and_ctrl_c_is_not_for_it(workers):
    pids = {n: [workers.submit(own_pid, None, worker=n).result(60) for _ in range(3)] for n in (1, 2)}
    assert len(set(pids[1])) == len(set(pids[2])) == 1
    assert pids[1] != pids[2]
    ends, futures = [], [workers.submit(slept, seconds) for seconds in (0.3, 0.0, 0.1)]
    for seconds, future in zip((0.3, 0.0, 0.1), futures, strict=True):
        future.add_done_callback(lambda _, seconds=seconds: ends.append(seconds))
    [future.result(60) for future in futures]
    assert ends == [0.3, 0.0, 0.1]
    pid = workers.submit(own_pid, None).result(60)
    waiting = workers.submit(slept, 0.5)
    time.sleep(0.1)
    os.kill(pid, signal.SIGINT)
    assert waiting.result(60) == 0.5


@pytest.mark.parametrize("how", [3, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGTERM])
def test_a_process_that_dies_takes_its_task_and_no_other(workers, how):
    died, waiting = workers.submit(end, how), workers.submit(abs, -4)
    other = workers.submit(abs, -5, worker=2)
    with pytest.raises(WorkerDied) as caught:
        died.result(60)
    assert caught.value.exitcode == how
    assert (waiting.result(60), other.result(60)) == (4, 5)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_dies_of_nothing_to_do_concerns_no_task(workers, number):
    for _ in range(5):
        os.kill(workers.submit(own_pid, None).result(60), number)
        assert workers.submit(abs, -3).result(60) == 3


def test_what_a_task_raises_is_raised_and_the_process_goes_on(workers):
    pid = workers.submit(own_pid, None).result(60)
    with pytest.raises(TypeError, match="bad operand") as caught:
        workers.submit(abs, "text").result(60)
    assert "in a worker:" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="of no module"):
        workers.submit(unreadable, None).result(60)
    with pytest.raises((TypeError, RuntimeError), match="pickle"):
        workers.submit(unsendable, None).result(60)
    with pytest.raises(SystemExit):
        workers.submit(exit, 5).result(60)
    with pytest.raises((AttributeError, TypeError), match=r"pickle|local object"):
        workers.submit(lambda _: 1, None).result(60)
    assert workers.submit(own_pid, None).result(60) == pid


def test_a_task_that_closes_the_channel_is_a_death_and_an_answer_of_any_size_comes_whole(workers, promptly):
    with pytest.raises(WorkerDied):
        workers.submit(close_everything, None).result(60)
    assert workers.submit(abs, -1).result(60) == 1
    assert workers.submit(bytes, 50_000_000).result(60) == bytes(50_000_000)


def test_stopping_kills_what_is_at_work_and_fails_what_waits(workers):
    pid = workers.submit(own_pid, None).result(60)
    busy, waiting = workers.submit(slept, 60), workers.submit(abs, -1)
    time.sleep(0.2)
    begun = time.monotonic()
    workers.stop()
    assert time.monotonic() - begun < 10
    with pytest.raises(WorkerDied):
        busy.result(1)
    with pytest.raises(BrokenProcessPool, match="were stopped"):
        waiting.result(1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    workers.stop()


def test_processes_of_somebody_else_are_left_alone():
    from multiprocessing import get_context

    theirs = get_context("spawn").Process(target=time.sleep, args=(60,))
    theirs.start()
    try:
        workers = Workers(1)
        workers.submit(abs, -1).result(60)
        workers.terminate()
        workers.stop()
        assert theirs.is_alive()
    finally:
        theirs.kill()
        theirs.join()


def test_processes_that_never_begin_have_died_of_the_task(monkeypatch):
    # Workers pickle it by its name, so that their process calls it too.
    monkeypatch.setattr("lnlab.execute.pool._begin", os.getpid)  # which takes no argument
    workers = Workers(1)
    try:
        with pytest.raises(WorkerDied) as caught:
            workers.submit(abs, -1).result(120)
        assert caught.value.exitcode == 1
    finally:
        workers.stop()


def test_a_task_that_was_not_begun_before_sigterm_is_not_begun_in_another_process(monkeypatch):
    monkeypatch.setattr("lnlab.execute.pool._begin", listen_late)
    workers = Workers(1)
    try:
        future = workers.submit(abs, -1)
        while workers._workers[0]._process is None:
            time.sleep(0.01)
        workers.terminate()
        with pytest.raises(BrokenProcessPool, match="were stopped"):
            future.result(60)
    finally:
        workers.stop()


@pytest.mark.parametrize("error", [OSError(11, "Resource temporarily unavailable"), EOFError("unexpected EOF")])
def test_where_no_process_can_be_started_the_pool_is_broken(workers, monkeypatch, error):
    """The second error is that of a forkserver which ended because it could not fork."""

    def start(process):
        raise error

    monkeypatch.setattr(pool.worker_context().Process, "start", start)
    with pytest.raises(BrokenProcessPool, match=r"no process can be started: .*(unavailable|unexpected EOF)"):
        workers.submit(abs, -1).result(60)
    monkeypatch.undo()
    assert workers.submit(abs, -1).result(60) == 1


def test_where_no_file_can_be_opened_the_pool_is_broken(workers, monkeypatch):
    def pipe(self):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(type(pool.worker_context()), "Pipe", pipe)
    with pytest.raises(BrokenProcessPool, match=r"no process can be started: .*Too many open files"):
        workers.submit(abs, -1).result(60)


@pytest.mark.parametrize("task", [(abs, -1), (abs, "text")])
def test_an_answer_that_nobody_waits_for_any_more_is_no_error(monkeypatch, task):
    monkeypatch.setattr("lnlab.execute.process_worker.signal.signal", lambda *_: None)
    parent, channel = Pipe()
    parent.send_bytes(ForkingPickler.dumps(task))
    parent.close()
    serve(channel, lambda: None)
