"""The store of the driver for nodes that do not see its folder: rows, states and leases go through an actor beside it.

    worker process -> (socket) -> agent on its node -> (Ray) -> relay on the driver's node -> store

A worker's unit is a unit of that store all the same: the relay holds its lease, and what it keeps on the way lies where
a run at home would have put it. A worker that is lost therefore costs what it had not kept.
"""

import secrets
from collections.abc import Sequence
from multiprocessing.connection import Connection, Listener
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from lnlab.errors import LabError, StoreError
from lnlab.execute.cluster.package import ray
from lnlab.execute.cluster.remote_unit import Doorway
from lnlab.issues import Issue

if TYPE_CHECKING:  # what it imports takes longer than all that an agent does to begin
    from lnlab.execute.unit import OpenUnit, WorkUnit


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
        with self._lock:
            known, unit = self._units.get(key, ("", None))
        if unit is None or known != ticket:
            raise StoreError(
                Issue("unreachable", "", "this worker was taken for lost, and its unit was handed to another one")
            )
        if method in ("commit", "go_on"):
            tables, printed, *own_arguments = arguments
            for table, rows in tables.items():
                unit.write(table, rows)
            if printed:
                with unit.output.open("ab") as file:
                    file.write(printed)
            arguments = own_arguments
        if method in ("commit", "abandon"):
            with self._lock:
                self._units.pop(key, None)
        return getattr(unit, method)(*arguments)

    def answer(self, method: str, *arguments: Any) -> tuple[bool, Any]:
        """Whether a method of this object answered, and what: an error of the store is a value, not one of Ray's."""
        try:
            return True, getattr(self, method)(*arguments)
        except LabError as error:
            return False, error


def open_door(relay: Any) -> Doorway:
    """A socket of this process whose callers talk to the relay."""
    secret = secrets.token_bytes(16)
    listener = Listener(family="AF_UNIX", authkey=secret)

    def serve(connection: "Connection[Any, Any]") -> None:  # until the worker is done or gone
        try:
            while True:
                connection.send(ray.get(relay.answer.remote(*connection.recv())))
        except (EOFError, OSError):
            connection.close()

    def accept() -> None:
        while True:
            Thread(target=serve, args=(listener.accept(),), name="lnlab door", daemon=True).start()

    Thread(target=accept, name="lnlab door", daemon=True).start()
    return Doorway(str(listener.address), secret)
