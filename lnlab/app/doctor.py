"""What this machine has for lnlab: versions, threads, store, data, browser, free disk, and what each extra lacks."""

import os
import platform
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from lnlab import __version__
from lnlab.app.formats import format_quantity
from lnlab.errors import LabError
from lnlab.training_extra import INSTALL, TRAINING_PACKAGES, absent_packages

if TYPE_CHECKING:
    from lnlab.store.store import Store

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "firefox")
_LARGE = ("torch", "polars", "pydantic", "altair", "fsspec")
_OF_DEVELOPERS = ("dev", "docs", "families", "mutants", "peers")
_EXTRA = re.compile(r"""^\s*([A-Za-z0-9._-]+)[^;]*;.*extra\s*==\s*['"]([^'"]+)['"]""")
_LITTLE_DISK = 10**9
"""Bytes below which a run of a few hundred units may not fit."""


@dataclass(frozen=True)
class Examined:
    """A line of the doctor's: of what, what it is, and what to do if it is not well."""

    what: str
    found: str
    remedy: str = ""


def examine(store: "Store") -> list[Examined]:
    """Everything that is looked at, in the order in which it is shown. Nothing is changed.

    Raises:
        LabError: the project file is wrong.
    """
    from lnlab.execute.pool import THREADS, cores, threads
    from lnlab.project import read_project
    from lnlab.record.registries import load_registries

    lines = [
        Examined("lnlab", __version__),
        Examined("python", f"{platform.python_version()} ({sys.executable})"),
        *(_package(name) for name in _LARGE),
    ]
    lacks = "no --executor slurm; a run that is ended loses what it had not saved (--save-every)"
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    lines.append(Examined("system", system, lacks if os.name == "nt" else ""))
    try:
        lines.append(Examined("threads", f"{threads()} for each of up to {cores()} workers ({THREADS})"))
    except LabError as error:
        lines.append(Examined("threads", f"{cores()} cores", str(error)))
    if "torch" in absent_packages():
        lines.append(Examined("gpu", "not looked for, without torch"))
    else:
        import torch

        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        lines.append(Examined("gpu", ", ".join(names) or "none that torch sees"))
    project = read_project(Path())
    if project.path is not None:
        settings = {"remote": project.remote, "store": project.store, "profile": project.profile}
        given = [f"{name} {value}" for name, value in settings.items() if value is not None]
        what = f"{project.path}: {', '.join(given) or 'says no remote, store or profile'}"
        lines.append(Examined("project", what))
    root = store.root
    # A store that is not there yet is made below the first folder that is.
    above = next(path for path in (root, *root.parents) if path.exists())
    trouble = ""
    try:
        # A file without a name: nothing is left behind, whenever this process ends.
        with TemporaryFile(dir=above) as file:
            file.write(b"x")
            file.flush()  # a full disk refuses here, and not where the file is made
    except OSError as error:
        trouble = f"cannot be written: {(error.strerror or str(error)).lower()}"
    if above == root:
        remedy = trouble and "give another folder with --store"
        lines.append(Examined("store", f"{root}: {trouble or 'can be written'}", remedy))
    else:
        remedy = trouble and f"{above} {trouble}: give a folder with --store"
        lines.append(Examined("store", f"{root}: none yet", remedy))
    usage = shutil.disk_usage(above)
    free = f"{format_quantity(usage.free, 'B')} free of {format_quantity(usage.total, 'B')}"
    lines.append(Examined("disk", free, "free some space" if usage.free < _LITTLE_DISK else ""))
    load_registries(())
    # Imported after the registries, which stand in for torch where it is not installed.
    from lnlab.corpora.files.fetch import data_roots
    from lnlab.corpora.listing import corpus_listings

    roots = data_roots(Path())
    corpora = [corpus for corpus in corpus_listings(roots) if corpus.folder]
    for data in roots[1:]:
        names = [corpus.name for corpus in corpora if Path(str(corpus.folder)).absolute().is_relative_to(data)]
        listed = ", ".join(names) if data.is_dir() else "is not there"
        lines.append(Examined("data", f"{data}: {listed or 'no corpus that lnlab knows'}"))
    remedy = "" if corpora else "lnlab data list; lnlab data fetch NAME"
    lines.append(Examined("corpora", f"{len(corpora)} here", remedy))
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    remedy = "" if browser else "pages are files: open them where there is one"
    lines.append(Examined("browser", browser or "none on PATH", remedy))
    for name, packages in sorted(wanted_extras().items()):
        lacking = ", ".join(package for package in packages if _package(package).remedy)
        remedy = f"pip install 'lnlab[{name}]'" if lacking else ""
        lines.append(Examined(f"lnlab[{name}]", f"lacks {lacking}" if lacking else "is installed", remedy))
    return lines


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


def _package(name: str) -> Examined:
    try:
        return Examined(name, version(name))
    except PackageNotFoundError:
        return Examined(name, "is missing", INSTALL if name in TRAINING_PACKAGES else f"pip install {name}")
