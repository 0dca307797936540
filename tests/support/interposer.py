"""Stands between a process and the file system below a folder: every call that changes it passes here, by number.

A call may be refused with an error, done in part, or end the process before or after it; or all calls are recorded, so
that another module can tell what a loss of power would have left.
"""

import builtins
import errno
import fcntl
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HALF = 2
"""A write that is cut short writes one part of so many."""


@dataclass(frozen=True)
class Call:
    """One call: its name, the path and, of a rename, the new one; of a write what is written."""

    name: str
    path: str
    target: str = ""
    content: bytes = b""


Perform = Callable[..., Any]
Around = Callable[[Call, Perform], Any]
"""Gets each call with what performs it (``portion=n`` writes only so many bytes), and answers what the call answers."""


def untouched(_call: Call, perform: Perform) -> Any:
    """Let a call pass."""
    return perform()


@dataclass
class Interposer:
    """Every call below ``root`` goes through ``around``; the real functions are in ``real``."""

    root: Path
    around: Around = untouched
    paths: dict[int, str] = field(default_factory=dict)
    """Of descriptors that are open below the root."""

    def __post_init__(self) -> None:
        self.real = {name: getattr(os, name) for name in _OF_OS}
        self.real_open, self.real_flock = io.open, fcntl.flock

    def install(self) -> None:
        """Stand between, until the process ends."""
        for name in _OF_OS:
            setattr(os, name, getattr(self, f"_{name}"))
        os.remove = self._unlink
        io.open = builtins.open = self._io_open
        fcntl.flock = self._flock

    def _below(self, path: Any, folder: int | None = None) -> str | None:
        """The absolute path of what lies below the root, else None."""
        if isinstance(path, int):
            return self.paths.get(path)
        text = os.fspath(path)
        if isinstance(text, bytes):
            text = os.fsdecode(text)
        if folder is not None:
            above = self.paths.get(folder)
            return None if above is None else f"{above}/{text}"
        text = str(Path.cwd() / text)
        root = str(self.root)
        return text if text == root or text.startswith(f"{root}/") else None

    def _plain(self, name: str, path: Any, *arguments: Any, **options: Any) -> Any:
        place, real = self._below(path, options.get("dir_fd")), self.real[name]
        if place is None:
            return real(path, *arguments, **options)
        return self.around(Call(name, place), lambda: real(path, *arguments, **options))

    def _unlink(self, path: Any, **options: Any) -> None:
        self._plain("unlink", path, **options)

    def _rmdir(self, path: Any, **options: Any) -> None:
        self._plain("rmdir", path, **options)

    def _mkdir(self, path: Any, *arguments: Any, **options: Any) -> None:
        self._plain("mkdir", path, *arguments, **options)

    def _utime(self, path: Any, *arguments: Any, **options: Any) -> None:
        self._plain("utime", path, *arguments, **options)

    def _rename(self, source: Any, target: Any, **options: Any) -> None:
        self._move("rename", source, target, **options)

    def _replace(self, source: Any, target: Any, **options: Any) -> None:
        self._move("replace", source, target, **options)

    def _move(self, name: str, source: Any, target: Any, **options: Any) -> None:
        places = self._below(source), self._below(target)
        if None in places:
            self.real[name](source, target, **options)
            return
        self.around(Call("rename", *places), lambda: self.real[name](source, target, **options))

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        place = self._below(path, dir_fd)

        def perform() -> int:
            handle = self.real["open"](path, flags, mode, dir_fd=dir_fd)
            if place is not None:
                self.paths[handle] = place
            return int(handle)

        if place is None:
            return perform()
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if not writes:
            return self.around(Call("open", place), perform)
        return self.around(Call("create" if flags & os.O_CREAT else "open", place), perform)

    def _close(self, handle: int) -> None:
        self.paths.pop(handle, None)
        self.real["close"](handle)

    def _write(self, handle: int, content: bytes) -> int:
        place, content = self.paths.get(handle), bytes(content)
        if place is None:
            return int(self.real["write"](handle, content))

        def perform(portion: int | None = None) -> int:
            return int(self.real["write"](handle, content[:portion]))

        return self.around(Call("write", place, content=content), perform)

    def _fsync(self, handle: int) -> None:
        place = self.paths.get(handle)
        if place is None:
            self.real["fsync"](handle)
        else:
            self.around(Call("fsync", place), lambda: self.real["fsync"](handle))

    def _flock(self, handle: int, operation: int) -> None:
        place = self.paths.get(handle)
        if place is None:
            self.real_flock(handle, operation)
        else:
            self.around(Call("flock", place), lambda: self.real_flock(handle, operation))

    def _io_open(self, file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **options: Any) -> Any:
        place = None if isinstance(file, int) else self._below(file)
        if place is None:
            return self.real_open(file, mode, buffering, *arguments, **options)
        if not set(mode) & set("wxa+"):
            return self.around(
                Call("read", place), lambda: self.real_open(file, mode, buffering, *arguments, **options)
            )
        assert "+" not in mode, f"the store opens {place} for reading and writing"
        plain = mode.replace("b", "").replace("t", "")
        raw = self.around(Call("create", place), lambda: _Raw(self, place, plain))
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *arguments, **options)


class _Raw(io.FileIO):
    """A file below the root that is open for writing."""

    def __init__(self, interposer: Interposer, place: str, mode: str) -> None:
        super().__init__(place, mode)
        self.interposer, self.place = interposer, place
        interposer.paths[self.fileno()] = place

    def write(self, content: Any) -> int:
        content = bytes(content)

        def perform(portion: int | None = None) -> int:
            return super(_Raw, self).write(content[:portion])

        return int(self.interposer.around(Call("write", self.place, content=content), perform))

    def close(self) -> None:
        if not self.closed:
            self.interposer.paths.pop(self.fileno(), None)
        super().close()


_OF_OS = ("open", "close", "write", "fsync", "rename", "replace", "unlink", "rmdir", "mkdir", "utime")

CHANGES = ("create", "write", "fsync", "rename", "unlink", "rmdir", "mkdir", "utime", "flock")
READS = ("open", "read")


@dataclass
class Recorder:
    """Records every change; ``mark`` puts a sentence between them."""

    calls: list[Call] = field(default_factory=list)

    def __call__(self, call: Call, perform: Perform) -> Any:
        answer = perform()
        if call.name in CHANGES:
            self.calls.append(call)
        return answer

    def mark(self, what: str, about: str) -> None:
        """Something that is no call happened here."""
        self.calls.append(Call(what, about))


@dataclass
class Killer:
    """Ends the process with SIGKILL before or after change ``number`` (from 1), or halfway through it if it writes."""

    number: int
    moment: str
    done: int = 0

    def __call__(self, call: Call, perform: Perform) -> Any:
        if call.name not in CHANGES:
            return perform()
        self.done += 1
        if self.done != self.number:
            return perform()
        try:
            if self.moment == "halfway" and call.name == "write":
                perform(portion=len(call.content) // HALF)
            elif self.moment == "after":
                perform()
        finally:  # also after a call that failed
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Refuser:
    """Refuses call ``number`` (from 1) with an error, alone or with all that follow it; a write is half done before."""

    number: int
    code: int
    lasting: bool
    names: tuple[str, ...]
    done: int = 0
    refused: int = 0

    def __call__(self, call: Call, perform: Perform) -> Any:
        if call.name not in self.names:
            return perform()
        self.done += 1
        if self.done < self.number or (self.done > self.number and not self.lasting):
            return perform()
        if self.code == errno.ENOSPC and call.name not in TAKING_SPACE:
            return perform()
        if call.name == "write":
            perform(portion=len(call.content) // HALF)
        self.refused += 1
        raise OSError(self.code, os.strerror(self.code), call.path)


TAKING_SPACE = ("create", "write", "fsync", "rename", "mkdir")
"""Calls that a full disk refuses; it lets files be removed."""
