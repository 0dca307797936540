"""A unit of a store on another machine, as a worker process sees it: its agent passes on what it asks and writes."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.keys import Json

if TYPE_CHECKING:  # what it imports takes longer than all that an agent does to begin
    from lnlab.tables import LivePoint, Resumed, Row


def pack(task: Callable[[Any], Any], argument: Any) -> bytes:
    """A task and its argument as one message, as processes send them to each other."""
    return bytes(ForkingPickler.dumps((task, argument)))


def call(message: bytes) -> Any:
    """Do a task in the worker; its agent never unpacks it, as that would import torch."""
    task, argument = ForkingPickler.loads(message)
    return task(argument)


@dataclass(frozen=True)
class Doorway:
    """Where the worker processes of a node reach its agent.

    Attributes:
        address: of a socket.
        secret: that both ends know.
    """

    address: str
    secret: bytes

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
        """Return the measurements that have not been made."""
        return list(self._call("missing", measurements))

    def settled(self, steps: int = 0) -> bool:
        """Whether the trajectory has finished ``steps`` updates before, or came to its own end."""
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

    def show(self, point: "LivePoint") -> None:
        """Let readers see where training is."""
        self._call("show", point)

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
