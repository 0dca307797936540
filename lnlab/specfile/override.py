"""``-s path=value``: one path of a spec set on the command line, with the checks that a file gets."""

from dataclasses import dataclass

from lnlab.errors import Problem, SpecError
from lnlab.keys import Json
from lnlab.specfile.document import read_data
from lnlab.userfiles import LARGEST_SPEC

_MAX_SHOWN = 60


@dataclass(frozen=True)
class Override:
    """One argument: the path it sets, its value, and how problems name it."""

    path: str
    value: Json
    where: str


def parse_override(argument: str) -> Override:
    """``model.layers=12``: the value is YAML, most often a scalar or ``[a, b]``.

    Raises:
        SpecError: no ``=``, no path, or a value that a spec may not hold; problems name the argument.
    """
    where = f"-s {argument if len(argument) <= _MAX_SHOWN else argument[:_MAX_SHOWN] + '...'}"
    path, equals, text = argument.partition("=")
    path = path.strip()
    if not equals or not all(path.split(".")):
        raise SpecError(Problem(where, "is not path=value", "write it as in -s model.layers=12"))
    if len(text.encode(errors="replace")) > LARGEST_SPEC:
        raise SpecError(Problem(where, f"is longer than {LARGEST_SPEC:,} bytes", "write it into a profile"))
    value, _, faults = read_data(text)
    if faults:
        raise SpecError(*(Problem(where, fault.what, fault.remedy) for fault in sorted(faults)))
    return Override(path, value, where)
