"""``-s path=value``: one path of a spec set on the command line, with the checks that a file gets."""

from dataclasses import dataclass, replace

from lnlab.errors import SpecError
from lnlab.issues import Issue
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
    """Parse an override such as ``model.layers=12``. The value is YAML, most often a scalar or ``[a, b]``.

    Raises:
        SpecError: it has no ``=``, no path, or a value that a spec may not hold. Its issues name the argument.
    """
    where = f"-s {argument if len(argument) <= _MAX_SHOWN else argument[:_MAX_SHOWN] + '...'}"
    path, equals, text = argument.partition("=")
    path = path.strip()
    if not equals or not all(path.split(".")):
        raise SpecError(Issue("syntax", where, "is not path=value", "write it as in -s model.layers=12"))
    # Bytes of an argument that are not UTF-8 are surrogates here, which do not encode.
    if len(text.encode(errors="replace")) > LARGEST_SPEC:
        raise SpecError(Issue("too-large", where, f"is longer than {LARGEST_SPEC:,} bytes", "write it into a profile"))
    value, _, issues = read_data(text)
    if issues:
        raise SpecError(*(replace(issue, place=where) for issue in issues))
    return Override(path, value, where)
