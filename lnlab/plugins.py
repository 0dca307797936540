"""Who registers a piece: lnlab itself, an installed package, or a user's own file given by an explicit flag."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import EntryPoint
from pathlib import Path
from traceback import extract_tb
from types import CodeType
from typing import Final

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.training_extra import standing_in
from lnlab.userfiles import read_user_file

WITHOUT_FOLDER: Final = {"PYTHONSAFEPATH": "1"}
"""Environment of the processes that lnlab starts. Python would take a file torch.py in the working folder for torch.
A file of the user's runs where a flag names it, and nowhere else."""


@dataclass(frozen=True)
class Origin:
    """Who registers an entry. The digest of a plugin file joins the keys of what it registers."""

    name: str
    digest: str | None = None


_origin = Origin("lnlab")
_PACKAGE = Path(__file__).parent


def origin() -> Origin:
    """Who registers now."""
    return _origin


@contextmanager
def registering(origin: Origin) -> Iterator[None]:
    """Everything registered inside belongs to ``origin``."""
    global _origin  # noqa: PLW0603 - a decorator has no other way to know whose module it stands in
    previous, _origin = _origin, origin
    try:
        yield
    finally:
        _origin = previous


def load_package(entry_point: EntryPoint) -> None:
    """Load what an installed package registers under the entry-point group ``lnlab.<kind>``.

    Raises:
        LabError: it fails.
    """
    name = entry_point.dist.name if entry_point.dist else entry_point.name
    with registering(Origin(name)), standing_in():
        try:
            entry_point.load()
        except LabError as error:
            problems = (replace(problem, place=f"package {name}: {problem.where}") for problem in error.issues)
            raise LabError(*problems) from error
        except Exception as error:
            what = f"fails while it registers '{entry_point.name}' in {entry_point.group}: {error!r}"
            raise LabError(Issue("failed", f"package {name}", what, "fix it, or uninstall it")) from error


class _ContentLoader(SourceFileLoader):
    """Runs the content that was read, whose digest joins keys, and reads nothing again."""

    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self.content = content

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - as importlib calls it
        return self.source_to_code(self.content, self.path)


def load_plugin(path: Path) -> str:
    """Run a user's own Python file (``--with mine.py``), so that it may register its pieces. Returns its digest.

    Raises:
        LabError: there is no such file, or it fails while it loads.
    """
    content = read_user_file(path, "plugin")
    if path.suffix != ".py":
        raise LabError(Issue("failed", str(path), "is not a Python file", "give --with a file that ends in .py"))
    loader = _ContentLoader(f"lnlab_plugin_{digest_bytes(content)[:12]}", str(path), content)
    module = importlib.util.module_from_spec(ModuleSpec(loader.name, loader, origin=loader.path))
    with registering(Origin(path.name, digest_bytes(content))), standing_in():
        try:
            loader.exec_module(module)
        except LabError as error:
            problems = (replace(problem, place=f"{_line(path, error)}: {problem.where}") for problem in error.issues)
            raise LabError(*problems) from error
        except Exception as error:
            raise LabError(
                Issue("failed", _line(path, error), f"fails while it loads: {error!r}", "fix the plugin")
            ) from error
    return digest_bytes(content)


@contextmanager
def building(kind: str, name: str, origin: Origin) -> Iterator[None]:
    """Inside, a piece that is not lnlab's own is at work: what goes wrong in it is one line with its place.

    Raises:
        LabError: any other error in such a piece. An error in a piece of lnlab is raised as it is, with its traceback.
    """
    try:
        yield
    except LabError:
        raise
    except Exception as error:
        if origin.name == "lnlab":
            raise
        frames = [
            frame
            for frame in extract_tb(error.__traceback__)
            # A user's file may have the name of one of lnlab's own, such as claim.py.
            if Path(frame.filename).name == origin.name and not Path(frame.filename).is_relative_to(_PACKAGE)
        ]
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else origin.name
        # Not as the place of the issue: that is the place in a spec, and whoever asked for the piece adds it.
        raise LabError(Issue("failed", (), f"the {kind} '{name}' fails in {where}: {error!r}", "fix it")) from error


def _line(path: Path, error: Exception) -> str:
    """``file:line``: the last line of a plugin that was at work when it failed."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)
