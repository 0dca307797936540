"""``a < b <= c ~ d``: the names and the signs of an order."""

import json
import re

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json

_SIGN = re.compile(r"\s*(<=|<|~)\s*")


def parse_order(text: str) -> tuple[list[Json], list[str]]:
    """Names and signs of ``a < b ~ c``. A name that is a JSON number or truth value is that value.

    Raises:
        LabError: fewer than two names, or one is empty.
    """
    first, *pieces = _SIGN.split(text.strip())
    names = [first, *pieces[1::2]]
    signs = pieces[::2]
    if not signs or not all(names):
        raise LabError(
            Issue("wrong-type", "order", f"found '{text}'", "write two or more values with <, <= or ~ between them")
        )
    scalars: list[Json] = []
    for name in names:
        try:
            scalar = json.loads(name)
        except ValueError:
            scalar = name
        # ``null`` and text in quotes are JSON, too, and mean a name that reads so.
        scalars.append(scalar if isinstance(scalar, bool | int | float) else name)
    return scalars, signs
