"""Seeds as a spec writes them: ``10`` is 1 to 10, ``"3-7"`` a range, a list holds single seeds and ranges."""

import re
from collections import Counter
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from lnlab.keys import Json

MOST = 1_000_000
_RANGE = re.compile(r"(\d{1,15})\s*-\s*(\d{1,15})")
_EXPECTED = "write a number (1 to n), a range such as 3-7, or a list of seeds and ranges"
_RANGE_SCHEMA = {"type": "string", "pattern": r"^\s*\d{1,15}\s*-\s*\d{1,15}\s*$"}
_SCHEMA: Json = {
    "description": "n (the seeds 1 to n), a-b, or a list of single seeds and ranges",
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MOST},
        _RANGE_SCHEMA,
        {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "integer", "minimum": 0}, _RANGE_SCHEMA]}},
    ],
}


def _refused(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("seeds", "{sentence}", {"sentence": sentence})


def _whole(given: Json) -> int | None:
    """``given`` as a seed, or None where it is not a whole number from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not float(given).is_integer():
        return None
    return int(given) if 0 <= given < 2**53 else None


def _range(given: Json) -> range:
    """The seeds of one item of a list, or of a bare range."""
    if (seed := _whole(given)) is not None:
        return range(seed, seed + 1)
    found = _RANGE.fullmatch(given.strip()) if isinstance(given, str) else None
    if not found:
        raise _refused(_EXPECTED)
    first, last = int(found[1]), int(found[2])
    if first > last:
        raise _refused(f"the range {first}-{last} is empty; write {last}-{first}")
    if last - first >= MOST:
        raise _refused(f"at most {MOST:,} seeds")
    return range(first, last + 1)


def parse_seeds(given: Json) -> tuple[int, ...]:
    """Every seed in the order given.

    Raises:
        PydanticCustomError: none of the three forms, an empty range, or a seed given twice.
    """
    if isinstance(given, list | tuple):
        ranges = [_range(item) for item in given]
    elif (count := _whole(given)) is not None:
        ranges = [range(1, count + 1)]
    else:
        ranges = [_range(given)]
    if not 0 < sum(map(len, ranges)) <= MOST:
        raise _refused(f"at least one seed is needed, and at most {MOST:,}")
    seeds = tuple(seed for each in ranges for seed in each)
    if len(set(seeds)) < len(seeds):
        raise _refused(f"seed {Counter(seeds).most_common(1)[0][0]} is given twice")
    return seeds


Seeds = Annotated[tuple[int, ...], BeforeValidator(parse_seeds), WithJsonSchema(_SCHEMA)]
