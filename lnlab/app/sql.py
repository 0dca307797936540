"""The process in which Polars runs a query: one that can be killed at any moment.

Run as a program: a request as JSON on standard input, an answer as JSON on standard output, tables as Arrow files.
"""

import json
import re
import signal
import sys
from typing import Any

import polars as pl

_SCAN = re.compile(r"^\W*\w+ SCAN \[", re.MULTILINE)
UNBOUNDED = "a query is bounded in memory, which Windows cannot do; read the tables with lnlab.results(spec)"
READS_FILES = "this statement reads files, and a query may not"


def _select(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request.

    Args:
        request: the ``statement``, the ``tables`` by name (paths of Arrow files), those of them that are ``scans``
            (paths of queries that read them), the ``result`` (the path to write),
            ``limit`` in rows, or None, and ``memory`` in bytes beyond that of the tables.

    Returns:
        ``more``, whether there were more rows than the limit; or ``error``, why there is no result.
    """
    scans = set(request["scans"])
    paths = request["tables"]
    frames = {n: pl.LazyFrame.deserialize(path) if n in scans else pl.read_ipc(path) for n, path in paths.items()}
    if sys.platform == "win32":
        return {"error": UNBOUNDED}
    empty = {name: pl.DataFrame(schema=frame.lazy().collect_schema()) for name, frame in frames.items()}
    _bound(request["memory"])
    try:
        if _SCAN.search(pl.SQLContext(frames=empty).execute(request["statement"]).explain(optimized=False)):
            return {"error": READS_FILES}
        selected = pl.SQLContext(frames=frames).execute(request["statement"])
        limit = request["limit"]
        limited = selected if limit is None else selected.head(limit + 1)
        rows = limited.collect(engine="streaming" if scans else "auto")  # what lies in files may exceed memory
        rows.head(limit if limit is not None else rows.height).write_ipc(request["result"])
    except BaseException as error:
        return {"error": str(error).partition("\n")[0] or type(error).__name__}
    return {"more": limit is not None and rows.height > limit}


def _bound(memory: int) -> None:
    """Let this process map no more than ``memory`` bytes beyond what it has mapped already."""
    import resource  # absent on Windows

    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - one number
            mapped = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # a platform without /proc
        mapped = 0
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = mapped + memory if hard == resource.RLIM_INFINITY else min(mapped + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    request = json.load(sys.stdin)
    if hasattr(signal, "alarm"):
        signal.alarm(request["seconds"] + 5)  # also where nobody is left to end it
    sys.stdout.write(json.dumps(_select(request)))
