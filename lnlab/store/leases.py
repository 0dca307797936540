"""Leases: a file names the worker of a trajectory, so that two lnlabs on one store compute each unit once.

A worker refreshes its lease while it works. The lease of a dead process is taken over at once. A process on another
host, or from before a restart of this one, cannot be asked. Its lease is taken over once it has not been refreshed for
its period, by the clock of the file system that holds it. A lease lost to a mistake costs work and nothing else: a
measurement taken twice counts once.
"""

import json
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from lnlab.errors import StoreError
from lnlab.keys import Json, canonical
from lnlab.store import files
from lnlab.store.process_identity import ProcessIdentity, is_certainly_alive, is_certainly_dead, this_process

LEASE_PERIOD = 30.0
"""Seconds without a sign of life after which a lease is void."""

LONGEST_PERIOD = 3600.0
"""No lease is waited for longer, whatever its file says."""

UNSIGNED_LEASE_PERIOD = 2.0
"""The same for a lease that nobody has signed: its maker died between making it and signing it."""


@dataclass
class Lease:
    """A lease that this process holds, refreshed by a thread of its own until it is released."""

    path: Path
    lock: Path
    content: bytes
    period: float
    _released: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        def refresh() -> None:
            # Four times a period: a few failures do not void it.
            while not self._released.wait(self.period / 4):
                with suppress(StoreError):  # a lease that cannot be refreshed is lost at worst
                    files.touch(self.path)

        Thread(target=refresh, name="lnlab lease", daemon=True).start()  # a daemon: the lease ends with its process

    def release(self) -> None:
        """Release the lease unless another process has taken it over.

        Raises:
            StoreError: the file cannot be removed.
        """
        self._released.set()
        with files.locked(self.lock):
            # A nonce tells it from a later one, of this process as well.
            if _read(self.path) == self.content:
                files.remove(self.path)


def acquire_lease(path: Path, lock: Path, period: float = LEASE_PERIOD) -> Lease | None:
    """Acquire the lease at ``path``, or return None while another process holds it.

    Args:
        path: the file of the lease.
        lock: the lock file under which a lease is taken over and released.
        period: seconds without a refresh after which the lease of a process that cannot be asked is void.

    Raises:
        StoreError: the folder cannot be written.
    """
    identity: dict[str, Json] = {**this_process().to_json(), "period": period, "nonce": secrets.token_hex(8)}
    content = canonical(identity).encode()
    if not files.create(path, content):
        with files.locked(lock):
            # Under the lock, as two who find it void would each remove the lease of the other.
            if not _is_void(path):
                return None
            files.remove(path)
        if not files.create(path, content):  # of all who removed the void lease only one creates the next
            return None
    return Lease(path, lock, content, period)


def lease_holder(path: Path) -> ProcessIdentity | None:
    """Return the process that holds the lease, or None if it is free or its holder is dead. Writes nothing.

    The age of a lease that only its age speaks for is taken by the clock of this machine.
    """
    content = _read(path)
    if content is None or (signature := _signature(content)) is None:
        return None
    owner, period = signature
    with suppress(FileNotFoundError):
        fresh = abs(time.time() - path.stat().st_mtime) <= period
        return owner if is_certainly_alive(owner) or (fresh and not is_certainly_dead(owner)) else None
    return None


def _signature(content: bytes) -> tuple[ProcessIdentity, float] | None:
    """Return the owner of a lease and its period, or None if it is not signed."""
    try:
        signed = json.loads(content)
        owner = ProcessIdentity(signed["host"], signed["boot"], signed["pid"], signed["start"])
        period = float(signed["period"])
    except (ValueError, TypeError, KeyError):
        return None
    return (owner, min(period, LONGEST_PERIOD)) if period > 0 else None


def _is_void(path: Path) -> bool:
    """Whether the lease may be taken over. An unsigned one is judged by its age alone."""
    content = _read(path)
    if content is None:
        return True
    if (signature := _signature(content)) is None:
        return _age(path) > UNSIGNED_LEASE_PERIOD
    owner, period = signature
    return is_certainly_dead(owner) or (not is_certainly_alive(owner) and _age(path) > period)


def _age(path: Path) -> float:
    """Seconds since the lease's last sign of life, by one clock. The absolute value, as clocks may be set back."""
    probe = path.with_name(f"clock.{secrets.token_hex(8)}.part")
    files.create(probe, b"")
    try:
        return abs(probe.stat().st_mtime - path.stat().st_mtime)
    except FileNotFoundError:
        return 0.0
    finally:
        files.remove(probe)


def _read(path: Path) -> bytes | None:
    """The content of a lease, or None if there is none.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise files.as_store_error("read", path, error) from error
