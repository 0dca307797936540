"""When a probe is applied: ``init``, ``end``, a list of steps, ``{every: k}``, ``{log: n}`` or ``{epochs: k}``."""

from collections.abc import Sequence
from itertools import count, takewhile
from math import ceil
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from lnlab.keys import Json
from lnlab.parameters import UNKNOWN_KEY

UNKNOWN_EPOCH = 1_000
"""The assumed length of an epoch, in batches, where it is unknown: enough for a list of steps to be in the run."""

_RULES = ("every", "log", "epochs")
_EXPECTED = "write init, end, a list of steps, [init, end], {every: k}, {log: n} or {epochs: k}"
_MOST = 2**53 - 1
_STEP = {"type": "integer", "minimum": 0, "maximum": _MOST}
_SCHEMA: Json = {
    "description": "when the probe looks: init, end, a list of steps, [init, end], {every: k}, {log: n} or {epochs: k}",
    "anyOf": [
        {"enum": ["init", "end"]},
        {"type": "array", "minItems": 1, "items": {"anyOf": [{"enum": ["init", "end"]}, _STEP]}},
        *(
            {
                "type": "object",
                "properties": {rule: {"type": "integer", "minimum": 1, "maximum": _MOST}},
                "required": [rule],
                "additionalProperties": False,
            }
            for rule in _RULES
        ),
    ],
}


def _is_count(value: Json, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= _MOST


def parse_at(at: Json) -> Json:
    """``at`` where it is one of the forms. In a list ``init`` becomes step 0, and ``end`` stands for the last step.

    Raises:
        PydanticCustomError: it is none of them.
    """
    if at in ("init", "end"):
        return at
    if isinstance(at, list | tuple) and at and all(step in ("init", "end") or _is_count(step, 0) for step in at):
        return [0 if step == "init" else step for step in at]
    if isinstance(at, dict) and len(at) == 1:
        ((rule, number),) = at.items()
        if rule in _RULES and _is_count(number, 1):
            return at
        if rule not in _RULES:
            raise PydanticCustomError(UNKNOWN_KEY, "{sentence}", {"sentence": _EXPECTED, "key": rule, "known": _RULES})
    raise PydanticCustomError("at", "{sentence}", {"sentence": _EXPECTED})


At = Annotated[Json, BeforeValidator(parse_at), WithJsonSchema(_SCHEMA)]


def due_steps(at: Json, steps: int, epoch: float | None = None) -> Sequence[int]:
    """The steps, ascending, at which a run of ``steps`` updates is measured.

    ``{every: k}`` begins at 0. ``{log: n}`` gives n steps from 1 to ``steps`` in equal ratios, rounded, each once.
    ``{epochs: k}`` begins at 0, and each step is the first at which so many epochs are over. ``{every: k}`` is a range,
    which takes no memory. ``due_count`` counts the steps of the other rules beforehand.

    Args:
        at: one of the forms.
        steps: updates of the run.
        epoch: updates an epoch. None where the data have no end.

    Raises:
        ValueError: a step beyond the end, or a rule that counts epochs where there are none.
    """
    # It refuses what a run of this length does not have.
    due_count(at, steps, epoch)
    if at == "init":
        return (0,)
    if at == "end":
        return (steps,)
    if isinstance(at, list):
        return tuple(sorted({steps if step == "end" else step for step in at}))
    ((rule, number),) = at.items()
    if rule == "epochs" and epoch is not None:
        return tuple(takewhile(lambda step: step <= steps, (ceil(n * number * epoch) for n in count())))
    if rule == "every":
        return range(0, steps + 1, number)
    # There are no more distinct steps than updates.
    number = min(number, steps)
    return tuple(sorted({round(steps ** (i / (number - 1))) if number > 1 else steps for i in range(number)}))


def due_count(at: Json, steps: int, epoch: float | None = None) -> int:
    """How many steps ``due_steps`` has, or a few more, without writing them out.

    Raises:
        ValueError: a step beyond the end, or a rule that counts epochs where there are none.
    """
    if at in ("init", "end"):
        return 1
    if isinstance(at, list):
        latest = max(steps if step == "end" else step for step in at)
        if latest > steps:
            raise ValueError(f"step {latest} is beyond the end of the run ({steps} steps)")
        return len(at)
    ((rule, number),) = at.items()
    if rule == "epochs":
        if epoch is None:
            raise ValueError("{epochs: k} counts passes over the data, and these have no end")
        return int(steps / (number * epoch)) + 1
    if rule == "every":
        return int(steps // number) + 1
    if steps == 0:
        raise ValueError("{log: n} spreads over the steps of a run, and this one has none")
    return int(min(number, steps))
