"""Seeds as a spec writes them: ``10`` is 1 to 10, ``"3-7"`` is a range, and a list holds single seeds and ranges."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from lnlab.keys import Json

MAX_SEEDS = 1_000_000
_RANGE = re.compile(r"(\d{1,15})\s*-\s*(\d{1,15})")
_EXPECTED = "write a number (1 to n), a range such as 3-7, or a list of seeds and ranges"
_SEED_SCHEMA = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_RANGE_SCHEMA = {"type": "string", "pattern": r"^\s*\d{1,15}\s*-\s*\d{1,15}\s*$"}
_SCHEMA: Json = {
    "description": "n (the seeds 1 to n), a-b, or a list of single seeds and ranges",
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MAX_SEEDS},
        _RANGE_SCHEMA,
        {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [_SEED_SCHEMA, _RANGE_SCHEMA]},
        },
    ],
}


def _seed_error(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("seeds", "{sentence}", {"sentence": sentence})


def _whole_number(value: Json) -> int | None:
    """``value`` as an integer, or None where it is not a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not float(value).is_integer():
        return None
    return int(value) if 0 <= value < 2**53 else None


def _seed_range(value: Json) -> range:
    """The seeds of one item of a list, or of a bare range."""
    if (seed := _whole_number(value)) is not None:
        return range(seed, seed + 1)
    match = _RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise _seed_error(_EXPECTED)
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise _seed_error(f"the range {first}-{last} is empty; write {last}-{first}")
    if last - first >= MAX_SEEDS:
        raise _seed_error(f"at most {MAX_SEEDS:,} seeds")
    return range(first, last + 1)


def parse_seeds(value: Json) -> tuple[int, ...]:
    """Every seed, in the order of the spec.

    Raises:
        PydanticCustomError: none of the three forms, an empty range, or a seed that occurs twice.
    """
    if isinstance(value, list | tuple):
        ranges = [_seed_range(item) for item in value]
    elif (count := _whole_number(value)) is not None:
        ranges = [range(1, count + 1)]
    else:
        ranges = [_seed_range(value)]
    if not 0 < sum(map(len, ranges)) <= MAX_SEEDS:
        raise _seed_error(f"at least one seed is needed, and at most {MAX_SEEDS:,}")
    seeds = tuple(seed for interval in ranges for seed in interval)
    if len(set(seeds)) < len(seeds):
        raise _seed_error(f"seed {Counter(seeds).most_common(1)[0][0]} is given twice")
    return seeds


def short_list(seeds: Iterable[int]) -> list[int | str]:
    """Seeds as a spec lists them in short, with runs of neighbours as ranges: ``["1-5", 9]``."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return [first if first == last else f"{first}-{last}" for first, last in parts]


def seed_spans(seeds: Iterable[int]) -> str:
    """The same as text: ``1-5, 9``."""
    return ", ".join(map(str, short_list(seeds)))


Seeds = TypeAliasType("Seeds", Annotated[tuple[int, ...], BeforeValidator(parse_seeds), WithJsonSchema(_SCHEMA)])
"""Named, so that the JSON Schema has it once."""


def seeds_text(seeds: Sequence[int]) -> str:
    """``1-10`` or ``1 3 5-7``: seeds in order, consecutive ones joined."""
    ordered = sorted(seeds)
    starts = [seed for seed in ordered if seed - 1 not in ordered]
    ends = [seed for seed in ordered if seed + 1 not in ordered]
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=False))
