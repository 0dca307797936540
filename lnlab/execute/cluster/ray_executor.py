"""Units on a Ray cluster: an agent for each worker, on whatever node has room for it.

Nodes come and go: what a lost one was at is handed out again, and a new one gets workers as soon as Ray counts it.
"""

import secrets
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from lnlab.errors import LabError
from lnlab.execute.cluster.agent import ANSWERED, DIED, TIMED_OUT, Agent, Introduction, differences, pack
from lnlab.execute.cluster.connection import cluster_size
from lnlab.execute.cluster.package import ray
from lnlab.execute.executor import WorkerDied, WorkerLost
from lnlab.execute.pool import threads
from lnlab.execute.unit import CORPUS, Answer
from lnlab.issues import Issue

AHEAD = 1.0
"""Seconds of work that a worker holds: messages take milliseconds, so that it never waits for one."""
_LOOK_EVERY = 1.0
"""Seconds between two looks at what nodes there are."""
QUIET = 10.0
"""Seconds without any worker after which that is said."""
_MAX_FALSE_STARTS = 3
"""Agents in a row that fail to begin, after which none is expected to."""


@dataclass(frozen=True)
class WorkerResources:
    """What one worker takes of its node.

    Attributes:
        memory: bytes.
        gpus: how many.
    """

    memory: int
    gpus: int = 0


@dataclass(eq=False)
class _AgentState:
    """What is known of an agent.

    Attributes:
        handle: of the actor.
        message: the answer to its introduction.
        known: who it is, once it has introduced itself.
        ready: whether it takes tasks.
        lost: whether it is gone.
        tasks: those that it has, in the order in which it does them.
        lost_at: the task that it did when it was lost.
    """

    handle: Any
    message: "Future[Introduction]"
    known: Introduction | None = None
    ready: bool = False
    tasks: list["Future[Any]"] = field(default_factory=list)
    lost: bool = False
    lost_at: "Future[Any] | None" = None


@dataclass
class RayExecutor:
    """Workers of the cluster that this process is connected to.

    Attributes:
        count: the number of workers wanted.
        folder: the absolute path of the store, which every node has to see.
        resources: what each worker takes of its node.
        limit: the most workers if ``count`` follows the cores of the cluster. None means that ``count`` is fixed.
        say: tells the user a line.
    """

    count: int
    folder: Path
    resources: WorkerResources
    limit: int | None = None
    say: Callable[[str], None] = print
    ahead: float = AHEAD
    _agents: dict[int, _AgentState] = field(default_factory=dict)
    _started: int = 0
    _false_starts: int = 0
    _next_look: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._token = self.folder / f"cluster-{secrets.token_hex(8)}.part"
        self._content = secrets.token_bytes(16)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._token.write_bytes(self._content)
        self._begun: float | None = time.monotonic()

    def ready(self) -> Collection[int]:
        """The numbers of the agents that have introduced themselves."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY
            for number, agent in list(self._agents.items()):
                if agent.lost and not agent.tasks:
                    ray.kill(agent.handle)
                    del self._agents[number]
            # As many agents as are wanted: Ray starts each once a node has room for it.
            if self.limit is not None:
                self.count = max(self.count, min(self.limit, cluster_size().cores // threads()))
            needs = {"num_cpus": threads(), "num_gpus": self.resources.gpus, "memory": self.resources.memory}
            while len(self._agents) < self.count:
                self._started += 1
                handle: Any = ray.remote(Agent).options(**needs).remote(threads())
                greeting = handle.introduce.remote(self._token, self._content).future()
                self._agents[self._started] = _AgentState(handle, greeting)
        for agent in self._agents.values():
            if not (agent.ready or agent.lost) and agent.message.done():
                self._first_contact(agent)
        ready = [number for number, agent in self._agents.items() if agent.ready and not agent.lost]
        if ready:
            self._begun = None
        elif self._begun and time.monotonic() - self._begun > QUIET:
            self._begun = None
            self.say("waiting for the cluster: none of its nodes has room for a worker yet")
        return ready

    def _first_contact(self, agent: _AgentState) -> None:
        """Take in who an agent is, or that it could not begin.

        Raises:
            LabError: no worker can begin, its software is not that of this machine, or it does not see the store.
        """
        try:
            message = agent.message.result()
        except ray.exceptions.RayError as error:
            agent.lost = True
            self._false_starts += 1
            if self._false_starts >= _MAX_FALSE_STARTS or "creation task" in str(error):
                lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
                remedy = "install the same lnlab on every node"
                raise LabError(
                    Issue("failed", "--executor ray", f"no worker can begin: {lines[-1]}", remedy)
                ) from error
            return
        agent.known = message
        self._false_starts = 0
        if others := differences(message.versions):
            what = f"has {', '.join(others)}, and other software gives other numbers"
            raise LabError(Issue("differs", f"node {message.host}", what, "install the same versions on every node"))
        if not message.shares:
            what = f"does not see the store {self.folder}"
            remedy = (
                "give --store a folder that all nodes reach, or let each node run a part and hand it on with lnlab push"
            )
            raise LabError(Issue("unreachable", f"node {message.host}", what, remedy))
        agent.ready = True

    def submit(
        self, task: Callable[[Any], Any], argument: Any, timeout: float | None = None, *, worker: int = 1
    ) -> Any:
        """Queue ``task(argument)`` at an agent and return the future of its answer."""
        agent = self._agents[worker]
        future = Future[Any]()
        with self._lock:
            agent.tasks.append(future)
        answer = agent.handle.perform.remote(pack(task, argument), timeout).future()
        answer.add_done_callback(partial(self._deliver, agent, future))
        return future

    def _deliver(self, agent: _AgentState, future: "Future[Any]", answer: "Future[Any]") -> None:
        """Pass on how a task ended. Runs in one of Ray's threads."""
        error = answer.exception()
        with self._lock:
            if isinstance(error, ray.exceptions.RayError) and not agent.lost:
                agent.lost = True
                agent.lost_at = agent.tasks[0]
            agent.tasks.remove(future)
        end, value = answer.result() if error is None else (None, None)
        if end == ANSWERED and agent.known is not None:
            if isinstance(value, Answer) and value.status == CORPUS:  # another node may have the corpus
                where = f"node {agent.known.host}"
                problems = tuple(replace(p, place=f"{where}: {p.where}") for p in value.problems)
                value = replace(value, problems=problems)
            future.set_result(value)
        elif end == TIMED_OUT:
            future.set_exception(TimeoutError())
        elif end == DIED:
            future.set_exception(WorkerDied(value))
        elif end is not None:
            future.set_exception(BrokenProcessPool(value))
        else:
            future.set_exception(WorkerLost(first=agent.lost_at is future))

    def terminate(self) -> None:
        """SIGTERM to every worker: those that work save their states and end."""
        for agent in self._agents.values():
            agent.handle.terminate.remote()

    def stop(self) -> None:
        """Kill them, whatever they do."""
        for agent in self._agents.values():
            ray.kill(agent.handle)
        self._token.unlink(missing_ok=True)
