"""``step: at loss 2.0`` in a selection: where each run first comes to that level of another quantity.

at validation loss 2.0        of a curve that is there on several splits
at total_displacement 5.0     equally far from the start
"""

import re
from dataclasses import dataclass

from lnlab.keys import Json
from lnlab.specfile.columns import VOCABULARY

_WRITTEN = re.compile(
    r"at\s+(?:(?P<split>\w+)\s+)?(?P<quantity>[A-Za-z_]\w*)\s+(?P<value>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)"
)


@dataclass(frozen=True)
class StepLevel:
    """A level of a quantity of a whole run.

    Attributes:
        quantity: stored or derived.
        value: the level.
        split: split of a curve. None means that the curve has a single split.
    """

    quantity: str
    value: float
    split: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, [self.split, self.quantity, f"{self.value:g}"]))


def step_level(condition: Json) -> StepLevel | None:
    """The level that a condition on ``step`` names, or None where it names none."""
    found = _WRITTEN.fullmatch(condition.strip()) if isinstance(condition, str) else None
    if found is None or found["split"] not in (None, *VOCABULARY["split"]):
        return None
    try:
        return StepLevel(found["quantity"], float(found["value"]), found["split"])
    # ``1.2.3`` is written like a number, and is none.
    except ValueError:
        return None
