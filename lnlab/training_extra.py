"""What only training needs is an extra, ``lnlab[train]``. Without it, everything that is stored can be read and judged.

A spec is understood by the registrations of its pieces: their names, parameters, defaults and facts. These stand beside
code that names torch. Where torch is not installed, stand-ins take the place of its names while that code is imported:
registrations are then what they always are, and a piece that is to be built says what to install.
"""

import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from importlib.util import find_spec
from inspect import Signature, signature
from traceback import walk_tb
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.process_limits import problem_of_limits

TRAINING_PACKAGES = ("torch", "tokenizers", "safetensors", "sacrebleu")
"""The packages of the extra that lnlab imports."""
INSTALL = 'pip install "lnlab[train]"'


Answer = TypeVar("Answer")
_process = {"is own": False, "leaves training out": False}


@cache  # asked for each setting of a sweep
def absent_packages() -> tuple[str, ...]:
    """The packages of the extra that are not installed, or left out."""
    left_out = _process["leaves training out"]
    return tuple(name for name in TRAINING_PACKAGES if name not in sys.modules and (left_out or not _is_found(name)))


def begin_own_process() -> None:
    """Say that this process runs one command and ends with it, so that it may leave training out."""
    _process["is own"] = True


def leave_training_out() -> None:
    """Do without the extra from now on, as where it is not installed: for a command that builds no piece.

    Importing torch takes most of the time of such a command. Nothing changes in a process that may go on to something
    else or has imported torch, nor where other packages register pieces, whose code may need more of torch than names.
    """
    if _may_leave_training_out():
        _process["leaves training out"] = True
        absent_packages.cache_clear()


def ask_without_training(
    question: Callable[..., Answer], *arguments: Any, meanwhile: Callable[[], None] = lambda: None
) -> Answer:
    """The answer to a question that builds no piece: from a copy of this process without the extra.

    So this process can still import torch. Where no copy can be made, as on Windows, it is asked here. ``meanwhile`` is
    done while the copy is waited for.
    """
    from concurrent.futures import ProcessPoolExecutor  # late: most that imports this file asks nothing
    from multiprocessing import get_all_start_methods, get_context  # late: as above

    if not _may_leave_training_out() or "fork" not in get_all_start_methods():
        return question(*arguments)
    with ProcessPoolExecutor(1, get_context("fork"), leave_training_out) as copy:
        answer = copy.submit(question, *arguments)
        meanwhile()
        return answer.result()


def _may_leave_training_out() -> bool:
    others = any(group.startswith("lnlab.") for group in entry_points().groups)
    return _process["is own"] and "torch" not in sys.modules and not others


def _is_found(name: str) -> bool:
    try:
        found = find_spec(name)
    except (ImportError, ValueError):  # as where something refuses it
        return False
    return found is not None and found.origin is not None  # pip may leave a folder behind, which has no origin


def needs_training(what: str, package: str = "torch") -> LabError:
    """The error of something that cannot be done without the extra: one line, with the command that installs it."""
    return LabError(Issue("not-installed", what, f"needs {package}, which is not installed", INSTALL))


def require_training(what: str) -> None:
    """Require that the extra is installed.

    Raises:
        LabError: a package of it is not installed.
    """
    for name in absent_packages():
        raise needs_training(what, name)


@contextmanager
def damage_told() -> Iterator[None]:
    """Report in one line a package of the extra that is installed and cannot be imported, or what is used up.

    Raises:
        LabError: an import of such a package failed inside the block, or no memory or no file was left.
    """
    try:
        yield
    except LabError:
        raise
    except Exception as error:
        if problem := problem_of_limits(error):  # as at each import and each start of a thread
            raise LabError(problem) from error
        modules = (str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__))
        packages = (name.partition(".")[0] for name in modules)
        # Python removes a package whose import failed from sys.modules: one that is still there is not at fault.
        failed = next((name for name in packages if name in TRAINING_PACKAGES and name not in sys.modules), None)
        if failed is None:
            raise
        what = f"is installed and cannot be imported: {' '.join(str(error).split())[:200]}"
        raise LabError(Issue("failed", failed, what, f"pip install --force-reinstall {failed}")) from error


class _StandIn(ABCMeta):
    """The class of every stand-in. A class, as it is inherited from, and stands in annotations with ``|``."""

    loading = False

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        stand_in = _stand_in(name, cls.__module__)
        setattr(cls, name, stand_in)
        return stand_in

    @property
    def __signature__(cls) -> Signature:
        """The parameters of a class that inherits from a stand-in are those of its constructor, not of ``__call__``."""
        whole = signature(getattr(cls, "__init__"), eval_str=True)  # noqa: B009 - of this class, not of an instance
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if not _StandIn.loading:
            package = next((base.__module__ for base in cls.__mro__ if base.__dict__.get("stands_in")), cls.__module__)
            raise needs_training(cls.__name__, package.partition(".")[0])
        # while modules are imported only decorators are called, with or without arguments
        decorated = arguments[0] if len(arguments) == 1 and not keywords else None
        return decorated if isinstance(decorated, FunctionType | type) else cls


def _stand_in(name: str, module: str) -> _StandIn:
    return _StandIn(name, (), {"__module__": module, "stands_in": True})


class _Finder:
    """Finds the modules of absent packages, as modules of stand-ins."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """As importlib calls it."""
        return ModuleSpec(name, self, is_package=True) if self.holds(name) else None  # type: ignore[arg-type]

    def holds(self, name: str) -> bool:
        """Whether a module is one of theirs."""
        return name.partition(".")[0] in self.packages

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """As importlib calls it."""
        module = ModuleType(spec.name)

        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            stand_in = _stand_in(name, spec.name)
            setattr(module, name, stand_in)
            return stand_in

        module.__dict__["__getattr__"] = attribute
        return module

    def exec_module(self, module: ModuleType) -> None:
        """As importlib calls it."""


@contextmanager
def standing_in() -> Iterator[None]:
    """Inside, names of absent packages can be imported. Outside they cannot: ``import torch`` fails as before."""
    absent = () if _StandIn.loading else absent_packages()
    if not absent:
        yield
        return
    finder = _Finder(absent)
    sys.meta_path.insert(0, finder)
    _StandIn.loading = True
    try:
        yield
    finally:
        _StandIn.loading = False
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if finder.holds(name)]:
            del sys.modules[name]
