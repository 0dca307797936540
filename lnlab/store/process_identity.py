"""Who a process is. A number alone is not identity: it is reused, and means something else in another container."""

import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from lnlab.keys import Json

_PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """A process.

    Attributes:
        host: name of the machine, and of the process namespace on it.
        boot: which start of that machine.
        pid: number of the process.
        start: when it started, in ticks since boot or, without /proc, in hundredths of a second since 1970. None if the
            system does not say.
    """

    host: str
    boot: str
    pid: int
    start: int | None

    def to_json(self) -> dict[str, Json]:
        """As a JSON object."""
        return asdict(self)


def this_process() -> ProcessIdentity:
    """This process."""
    return ProcessIdentity(_host(), _boot(), os.getpid(), _start(os.getpid()))


def is_certainly_dead(process: ProcessIdentity) -> bool:
    """Whether the process is certainly gone. On another host, or before a restart, that is not certain."""
    if (process.host, process.boot) != (_host(), _boot()):
        return False
    return not is_running(process.pid) or _start(process.pid) != process.start


def is_certainly_alive(process: ProcessIdentity) -> bool:
    """Whether the process certainly runs: here, with that number and that start."""
    same_host = (process.host, process.boot) == (_host(), _boot())
    return same_host and process.start is not None and is_running(process.pid) and _start(process.pid) == process.start


def is_running(pid: int) -> bool:
    """Whether a process has this number now. A zombie does not count."""
    status = _status(pid)
    if status:
        return status[0] not in {"Z", "X"}
    # The system tells of this process, so that it would tell of that one.
    if _status(os.getpid()):
        return False
    import psutil  # late: Linux does without

    return bool(psutil.pid_exists(pid))


def _host() -> str:
    try:
        # Two containers of a host may have processes of the same number.
        namespace = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return f"{socket.gethostname()} {namespace}".strip()


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _start(pid: int) -> int | None:
    if status := _status(pid):
        return int(status[19])
    if not _PROC.is_dir():
        import psutil  # late: Linux does without

        with suppress(psutil.Error):
            return int(psutil.Process(pid).create_time() * 100)
    return None


def _status(pid: int) -> list[str]:
    """The fields of ``/proc/<pid>/stat`` from the third on. The second, its name, may hold spaces."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []
