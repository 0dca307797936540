"""How often the data are looked at: ``1``, ``open``, or the sizes of the looks, declared before the first verdict."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from lnlab.keys import Json

OPEN: Literal["open"] = "open"
MOST_LOOKS = 20
_SCHEMA: Json = {
    "description": "1, open, or the numbers of seeds at which it is judged, ascending",
    "anyOf": [
        {"enum": [1, OPEN]},
        {"type": "array", "minItems": 2, "maxItems": MOST_LOOKS, "items": {"type": "integer", "minimum": 2}},
    ],
}


def parse_looks(value: Json) -> int | str | tuple[int, ...]:
    """The declared looks.

    Raises:
        PydanticCustomError: none of the three forms, or the sizes do not ascend.
    """
    if isinstance(value, list | tuple):
        whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 1 for n in value)
        if not whole or len(value) < 2 or len(value) > MOST_LOOKS:
            raise _error(f"write 2 to {MOST_LOOKS} numbers of seeds, such as [5, 10, 20]")
        if sorted(set(value)) != list(value):
            raise _error("write the numbers of seeds in ascending order")
        return tuple(value)
    # ``True == 1`` in Python, and ``looks: true`` says nothing.
    if value == OPEN or (value == 1 and not isinstance(value, bool)):
        return OPEN if value == OPEN else 1
    raise _error("write 1, open, or the numbers of seeds of all looks, such as [5, 10, 20]")


def _error(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("looks", "{sentence}", {"sentence": sentence})


Looks = TypeAliasType(
    "Looks", Annotated[Literal[1, "open"] | tuple[int, ...], BeforeValidator(parse_looks), WithJsonSchema(_SCHEMA)]
)
"""Named, so that the JSON Schema has it once."""
