"""What one run did, in numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lnlab.store.plans import Stored


@dataclass(frozen=True)
class Done:
    """What one run did.

    Attributes:
        stored: the plan, as it is kept.
        handed: units that were to be computed.
        units: units that ended, one way or another.
        seconds: that it took.
        interrupted: the signal that ended it early, or 0.
        tuned: units that ended in the rounds before, in which a value was chosen.
    """

    stored: "Stored"
    handed: int = 0
    units: int = 0
    seconds: float = 0.0
    interrupted: int = 0
    tuned: int = 0
