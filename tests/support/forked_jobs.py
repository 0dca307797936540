"""What tests do in a process of its own that costs a fork: a command of lnlab, and work that is killed half-way."""

import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from lnlab.app import cluster_run
from lnlab.app.stores import pushing
from lnlab.cli import main
from lnlab.execute.cluster import array_tasks
from lnlab.store import files, remote
from lnlab.store.garbage import remove_garbage
from tests.support.this_process import NO_WORKERS

for _name in (
    "altair",
    "nbformat",
    "scipy.special",
    *(f"lnlab.{name}" for name in ("app.rehearsal.mistakes", "app.compute", "catalogue", "app.judging")),
    *(f"lnlab.report.{name}" for name in ("folder", "page.notebook", "registries", "write")),
):
    # Once, before any job is forked: commands import it when they first need it.
    importlib.import_module(_name)


def command(words: Sequence[str], folder: str, environment: dict[str, str], output: str, workers: bool) -> int:
    """The exit code of a command in a folder; it prints into two files, and has five minutes.

    Without workers it computes its units itself.
    """
    signal.alarm(300)
    for place, name, instead in () if workers else NO_WORKERS:
        setattr(place, name, instead)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for handle, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(output) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), handle)
    sys.path.insert(0, "")
    try:
        return main(words)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def commands_at_once(words: Sequence[str], folder: str, environment: dict[str, str], outputs: Sequence[str]) -> None:
    """``command``, in as many processes as it has folders to print into; each ends well or this raises."""
    children = []
    for output in outputs:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = command(words, folder, environment, output, workers=False)
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert not any(codes), codes


def array_run_looking_often(words: Sequence[str], folder: str, environment: dict[str, str], output: str) -> int:
    """``command`` for a run on SLURM that looks at store and queue more often than one does with a real SLURM.

    It has a session of its own. The file ``pid`` beside what it prints holds its number.
    """
    cluster_run.LOOK_EVERY = array_tasks.ASK_EVERY = 1.0
    os.setsid()
    (Path(output) / "pid").write_text(str(os.getpid()))
    return command(words, folder, environment, output, workers=False)


def push_until(words: Sequence[str], folder: str, environment: dict[str, str], output: str, sent: int) -> int:
    """``command`` for a push, of packs of one unit, that is killed once so many files have been sent."""
    write, left = remote.Remote.write, [sent]

    def writes(self: remote.Remote, name: str, content: bytes) -> None:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        write(self, name, content)

    remote.Remote.write = writes
    pushing.FULL = 1
    return command(words, folder, environment, output, workers=False)


def _kill_before(operation: int) -> list[None]:
    """The operations on files from now on, a None each; this process is killed before that of this number."""
    operations: list[None] = []

    def before(*_: object) -> None:
        operations.append(None)
        if len(operations) == operation:
            os.kill(os.getpid(), signal.SIGKILL)

    files.before = before
    return operations


def remove_until(root: str, operation: int, plan: str, keys: Sequence[str]) -> int:
    """Remove a plan and trajectories from a store until an operation on a file (0: to the end), and count these."""
    operations = _kill_before(operation)
    remove_garbage(Path(root), [plan], keys)
    return len(operations)


def imports_compiler(words: Sequence[str], folder: str) -> tuple[int, bool]:
    """The exit code of a command that computes its units itself, and whether torch's compiler was imported."""
    for place, name, instead in NO_WORKERS:
        setattr(place, name, instead)
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(words)
    return code, "torch._dynamo" in sys.modules
