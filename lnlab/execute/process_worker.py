"""A process that does one task after the other, and the thread of this process that waits for it.

The process is started with the first task, and again with the next one after it has died, by a signal or for memory.
The task that it was at fails. Tasks that wait for it do not.
"""

import signal
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from lnlab.execute.executor import WorkerDied

WaitingTask = tuple["Future[Any]", Callable[[Any], Any], Any]
MOST_STARTS = 3
"""Processes in a row that end before they begin a task, after which the task is held to be the cause."""
SECONDS_TO_END = 5.0
"""Seconds in which a process that has lost its channel ends by itself."""
_BEGUN, _ANSWERED, _RAISED = "begun", "answered", "raised"
_STARTING = Lock()
"""Held while a process starts: what its start takes away from the main module and the environment is one for all."""


def serve(channel: Connection, initialize: Callable[[], None]) -> None:
    """Do tasks in the worker process until the channel is closed. Ctrl-C is for the process that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # an idle worker just ends
    initialize()
    with suppress(EOFError, OSError):  # the channel is closed: nobody waits for an answer any more
        while True:
            content = channel.recv_bytes()
            channel.send((_BEGUN, None))
            channel.send_bytes(_answer(content))


def _answer(content: bytes) -> memoryview:
    """Do a task and return how it ended, pickled: with its answer, or with the error that it raised."""
    try:
        task, argument = ForkingPickler.loads(content)
        return ForkingPickler.dumps((_ANSWERED, task(argument)))
    except BaseException as error:
        error.add_note(f"in a worker:\n{traceback.format_exc()}")
        try:
            answer = ForkingPickler.dumps((_RAISED, error))
            ForkingPickler.loads(answer)  # some errors can be pickled and not be read
        except Exception:
            # No such error may end the worker, which would be taken for a death by the task.
            answer = ForkingPickler.dumps((_RAISED, RuntimeError(repr(error))))
        return answer


class ProcessWorker:
    """One worker. Its tasks are done in the order in which they come."""

    def __init__(self, context: BaseContext, initialize: Callable[[], None]) -> None:
        self._context, self._initialize = context, initialize
        self._tasks: SimpleQueue[WaitingTask | None] = SimpleQueue()
        self._process: BaseProcess | None = None
        self._channel: Connection | None = None
        self._lock, self._stopped = Lock(), False
        self._thread = Thread(target=self._do_tasks, name="lnlab worker", daemon=True)
        self._thread.start()

    def submit(self, task: Callable[[Any], Any], argument: Any) -> "Future[Any]":
        """The future of ``task(argument)``.

        It raises what the task raises, ``WorkerDied`` where its process ended, and ``BrokenProcessPool`` where none can
        be started any more.
        """
        future = Future[Any]()
        self._tasks.put((future, task, argument))
        return future

    def terminate(self) -> None:
        """Send SIGTERM to the process, if there is one. No other is started."""
        with self._lock:
            self._stopped = True  # else a task that its process had not begun would begin in the next one
            if self._process is not None:
                self._process.terminate()

    def stop(self) -> None:
        """Kill the process, whatever it does. Waiting tasks fail."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
        self._tasks.put(None)  # wakes the thread that waits for a task, which then ends
        if self._thread.is_alive():
            self._thread.join()

    def _do_tasks(self) -> None:
        while (item := self._tasks.get()) is not None:
            future, task, argument = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._call(task, argument))
            except BaseException as error:
                future.set_exception(error)
        self._end()

    def _call(self, task: Callable[[Any], Any], argument: Any) -> Any:
        """Have the process do a task and return its answer. A process that dies before the task begins is restarted."""
        content = bytes(ForkingPickler.dumps((task, argument)))
        code: int | None = None
        for _ in range(MOST_STARTS):
            process, channel = self._running()
            with suppress(OSError):  # it died while it had nothing to do, which concerns no task
                channel.send_bytes(content)
            begun = False
            while True:
                wait([channel, process.sentinel])
                try:
                    if not channel.poll():  # the process ended and has sent nothing before
                        raise EOFError
                    kind, value = ForkingPickler.loads(channel.recv_bytes())
                except (EOFError, OSError):
                    code = self._end()
                    if begun:
                        raise WorkerDied(code) from None
                    break  # the task had not begun: try it in another process
                if kind == _ANSWERED:
                    return value
                if kind == _RAISED:
                    raise value
                begun = True  # _BEGUN is the one kind that is left
        raise WorkerDied(code)

    def _running(self) -> tuple[BaseProcess, Connection]:
        """Return the process and the channel to it, once one is started where there was none."""
        with self._lock:
            if self._stopped:
                raise BrokenProcessPool("the workers were stopped")
            if self._process is not None and self._channel is not None:
                return self._process, self._channel
            try:
                channel, theirs = self._context.Pipe()
            except OSError as error:  # no file can be opened any more
                raise BrokenProcessPool(f"no process can be started: {error}") from error
            try:
                process: BaseProcess = self._context.Process(  # type: ignore[attr-defined]
                    target=serve, args=(theirs, self._initialize), daemon=True
                )
                with _STARTING:
                    process.start()
            except (OSError, EOFError) as error:  # or what forks them ended over it, as where no process is left
                channel.close()
                raise BrokenProcessPool(f"no process can be started: {error}") from error
            finally:
                theirs.close()
            self._process, self._channel = process, channel
            return process, channel

    def _end(self) -> int | None:
        """Close the channel, which ends an idle process, wait for its end, and return its exit code.

        A process that does not end in time is killed. Returns None if there was no process.
        """
        with self._lock:
            process, channel, self._process, self._channel = self._process, self._channel, None, None
        if channel is not None:
            channel.close()
        if process is None:
            return None
        process.join(SECONDS_TO_END)
        if process.exitcode is None:  # it has closed its channel and goes on
            process.kill()
            process.join()
        return process.exitcode
