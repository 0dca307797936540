"""The store of the driver for nodes that do not see its folder: rows, states and leases go through an actor beside it.

    worker process -> (socket) -> agent on its node -> (Ray) -> relay on the driver's node -> store

A worker's unit is a unit of that store all the same: the relay holds its lease, and what it keeps on the way lies where
a run at home would have put it. A worker that is lost therefore costs what it had not kept.
"""

import secrets
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from lnlab.errors import LabError, Problem, StoreError
from lnlab.keys import Json

if TYPE_CHECKING:  # what these import takes longer than all that an agent does to begin
    from lnlab.execute.unit import OpenUnit, WorkUnit
    from lnlab.tables import Resumed, Row


class Relay:
    """The actor beside the store: keeps open units by the key of their trajectory; many calls at once."""

    def __init__(self, open_unit: "OpenUnit") -> None:
        self._open_unit = open_unit
        self._units: dict[str, tuple[str, WorkUnit]] = {}
        self._lock = Lock()

    def open(self, key: str) -> str | None:
        """Open the unit of a trajectory; its ticket, or None while another process works on it.

        A unit is handed to one worker at a time: whoever had it open before is gone.
        """
        self.drop(key)
        unit = self._open_unit(key)
        if unit is None:
            return None
        ticket = secrets.token_hex(8)
        with self._lock:
            self._units[key] = ticket, unit
        return ticket

    def drop(self, key: str) -> None:
        """Give up a unit whose worker is gone; what it kept stays."""
        with self._lock:
            _, unit = self._units.pop(key, ("", None))
        if unit is not None:
            unit.abandon()

    def call(self, key: str, ticket: str, method: str, arguments: Sequence[Any]) -> Any:
        """Call a method of an open unit."""
        unit = self._unit(key, ticket)
        if method in ("commit", "go_on"):
            tables, printed, *rest = arguments
            for table, rows in tables.items():
                unit.write(table, rows)
            if printed:
                with unit.output.open("ab") as file:
                    file.write(printed)
            arguments = rest
        if method in ("commit", "abandon"):
            with self._lock:
                self._units.pop(key, None)
        return getattr(unit, method)(*arguments)

    def _unit(self, key: str, ticket: str) -> "WorkUnit":
        with self._lock:
            known, unit = self._units.get(key, ("", None))
        if unit is None or known != ticket:
            raise StoreError(Problem("", "this worker was taken for lost, and its unit was handed to another one"))
        return unit

    def answer(self, method: str, *arguments: Any) -> tuple[bool, Any]:
        """Whether a method of this object answered, and what: an error of the store is a value, not one of Ray's."""
        try:
            return True, getattr(self, method)(*arguments)
        except LabError as error:
            return False, error


@dataclass(frozen=True)
class Doorway:
    """Where the worker processes of a node reach its agent.

    Attributes:
        address: of a socket.
        secret: that both ends know.
    """

    address: str
    secret: bytes

    @classmethod
    def open(cls, relay: Any) -> "Doorway":
        """A socket of this process whose callers talk to the relay."""
        secret = secrets.token_bytes(16)
        listener = Listener(family="AF_UNIX", authkey=secret)
        Thread(target=_accept, args=(listener, relay), name="lnlab door", daemon=True).start()
        return cls(str(listener.address), secret)

    def __call__(self, key: str) -> "RemoteUnit | None":
        """The unit of a trajectory in the store of the driver, or None while another process works on it.

        Raises:
            StoreError: the store cannot be written.
        """
        connection = Client(self.address, authkey=self.secret)
        ticket = _ask(connection, "open", key)
        if ticket is None:
            connection.close()
            return None
        return RemoteUnit(connection, key, ticket)


def _accept(listener: Listener, relay: Any) -> None:
    while True:
        Thread(target=_serve, args=(listener.accept(), relay), name="lnlab door", daemon=True).start()


def _serve(connection: "Connection[Any, Any]", relay: Any) -> None:
    """Pass on what a worker asks until it is done or gone."""
    import ray

    try:
        while True:
            connection.send(ray.get(relay.answer.remote(*connection.recv())))
    except (EOFError, OSError):
        connection.close()


def _ask(connection: "Connection[Any, Any]", method: str, *arguments: Any) -> Any:
    connection.send((method, *arguments))
    answered, value = connection.recv()
    if not answered:
        raise value
    return value


@dataclass
class RemoteUnit:
    """A unit of a store on another machine, see ``WorkUnit``; rows travel when they are committed."""

    connection: "Connection[Any, Any]"
    key: str
    ticket: str
    output: Path = field(init=False)
    _tables: "dict[str, list[Row]]" = field(default_factory=dict)
    _folder: Any = field(default_factory=tempfile.TemporaryDirectory)

    def __post_init__(self) -> None:
        self.output = Path(self._folder.name) / "output.txt"

    def _call(self, method: str, *arguments: Any) -> Any:
        return _ask(self.connection, "call", self.key, self.ticket, method, arguments)

    def missing(self, measurements: Sequence[str]) -> list[str]:
        """Which of these measurements nobody has made yet."""
        return list(self._call("missing", measurements))

    def settled(self, steps: int = 0) -> bool:
        """Whether the trajectory finished so many updates before, or came to its own end."""
        return bool(self._call("settled", steps))

    def resume(self, limit: int) -> "Resumed | None":
        """The last saved state of at most ``limit`` updates that recorded rows lead to."""
        resumed: Resumed | None = self._call("resume", limit)
        return resumed

    def save(self, step: int, content: bytes, facts: Json) -> None:
        """Save a state."""
        self._call("save", step, content, facts)

    def write(self, table: str, rows: "Iterable[Row]") -> None:
        """Add rows to a table."""
        self._tables.setdefault(table, []).extend(rows)

    def go_on(self, measurements: Sequence[str], outcome: "Row") -> None:
        """Commit what was written so far as one segment, and go on with the next."""
        self._call("go_on", self._tables, b"", measurements, outcome)
        self._tables = {}

    def commit(self, measurements: Sequence[str], outcome: "Row") -> None:
        """Make everything written visible at once, and end."""
        printed = self.output.read_bytes() if self.output.exists() else b""
        self._end(lambda: self._call("commit", self._tables, printed, measurements, outcome))

    def abandon(self) -> None:
        """End without a trace."""
        self._end(lambda: self._call("abandon"))

    def _end(self, last: Callable[[], Any]) -> None:
        try:
            last()
        finally:
            self.connection.close()
            self._folder.cleanup()
