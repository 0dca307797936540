"""Jobs in processes of their own that cost a fork each: a server has imported everything, and computed nothing yet."""

import atexit
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).parents[2]


class Server:
    """Forks a child for each job: a function, by module and name, with arguments that JSON can hold."""

    def __init__(self, prefix: Sequence[str] = ()) -> None:
        environment = os.environ | {"POLARS_MAX_THREADS": "1"}
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [*prefix, sys.executable, "-m", __name__]
        self.process = subprocess.Popen(command, env=environment | {"PYTHONPATH": path}, **pipes)

    def call(self, function: str, *arguments: Any) -> tuple[int, Any]:
        """The exit status of the child (negative: the signal that ended it), and what the function returned."""
        self.process.stdin.write(json.dumps([function, arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return tuple(json.loads(line)) if line else (-9, "the server is gone")

    def close(self) -> None:
        """End the server."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@cache
def servers() -> "Pool":
    """The servers of this process: as many as its share of the cores and one more, as each waits for disks at times."""
    sharing = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    pool = Pool([Server() for _ in range(1 + max(1, (os.cpu_count() or 1) // sharing))])
    for server in pool.members:
        atexit.register(server.close)
    return pool


class Pool:
    """Servers of which each has one job at a time."""

    def __init__(self, members: list[Server]) -> None:
        self.members = members
        self.free: SimpleQueue[Server] = SimpleQueue()
        for server in members:
            self.free.put(server)

    def call(self, function: str, *arguments: Any) -> tuple[int, Any]:
        """As ``Server.call``, by whichever is free."""
        server = self.free.get()
        try:
            return server.call(function, *arguments)
        finally:
            self.free.put(server)

    def answer(self, function: str, *arguments: Any) -> Any:
        """What a function returns that is to end well."""
        code, answer = self.call(function, *arguments)
        assert code == 0, f"{function} ended with {code}: {answer}"
        return answer

    def map(self, work: Any, items: Sequence[Any]) -> Iterator[Any]:
        """``work`` of every item, in order, as many at once as there are servers."""
        with ThreadPoolExecutor(len(self.members)) as threads:
            yield from threads.map(work, items)


def begin(function: str, *arguments: Any) -> tuple[int, int]:
    """Fork a child for a job: its process, and the pipe on which it answers."""
    module, _, name = function.partition(":")
    job = getattr(importlib.import_module(module), name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 0
        try:
            answer = job(*arguments)
        except BaseException as error:  # whatever it is, the one who asked is to hear of it
            code, answer = 1, f"{type(error).__name__}: {error}"
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(code)
    os.close(writing)
    return child, reading


def end(child: int, reading: int) -> tuple[int, Any]:
    """Wait for a child: as ``Server.call``."""
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), json.loads(text) if text else None


def serve() -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin:
        function, arguments = json.loads(line)
        sys.stdout.write(json.dumps(end(*begin(function, *arguments))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
