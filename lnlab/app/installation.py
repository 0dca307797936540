"""What is installed: versions, threads, and the packages that each extra lacks. A report of a fault begins with it."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version

from lnlab import __version__
from lnlab.errors import LabError

_LARGE = ("torch", "polars", "pydantic", "altair", "fsspec")
_OF_DEVELOPERS = ("dev", "docs", "families", "mutants", "peers")
_EXTRA = re.compile(r"""^\s*([A-Za-z0-9._-]+)[^;]*;.*extra\s*==\s*['"]([^'"]+)['"]""")


def installation_lines() -> Iterator[str]:
    """A line for each part. torch is asked for its version alone and not imported."""
    from lnlab.execute.pool import THREADS, cores, threads

    yield f"lnlab {__version__}"
    yield f"python {platform.python_version()} ({sys.executable})"
    yield f"system {platform.system()} {platform.release()}, {platform.machine()}"
    for name in _LARGE:
        yield f"{name} {_version(name) or 'is missing'}"
    try:
        yield f"threads {threads()} for each of up to {cores()} workers ({THREADS})"
    except LabError as error:
        yield f"threads: {error}"
    if os.name == "nt":
        yield "without fcntl: no --executor slurm; a run that is ended loses what it had not saved (--save-every)"
    for extra, packages in sorted(wanted_extras().items()):
        lacking = ", ".join(package for package in packages if not _version(package))
        yield f"lnlab[{extra}] " + (f"lacks {lacking}: pip install 'lnlab[{extra}]'" if lacking else "is installed")


def wanted_extras() -> dict[str, list[str]]:
    """The packages of each extra that a user may want. None are known where lnlab is on the path but not installed."""
    extras: dict[str, list[str]] = {}
    requirements: list[str] | None = None
    with suppress(PackageNotFoundError):
        requirements = requires("lnlab")
    for requirement in requirements or ():
        if (match := _EXTRA.match(requirement)) and match[2] not in _OF_DEVELOPERS:
            extras.setdefault(match[2], []).append(match[1])
    return extras


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
