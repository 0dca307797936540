"""The summary of one run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan


@dataclass(frozen=True)
class RunSummary:
    """The summary of one run.

    Attributes:
        stored: the plan, as stored.
        scheduled: units that were to be computed, and that no other process computed meanwhile.
        units: units that ended here with any status.
        seconds: wall-clock time.
        interrupted: the signal that ended it early, or 0.
        tuned: units that ended in the tuning stages before, in which values were chosen.
    """

    stored: "StoredPlan"
    scheduled: int = 0
    units: int = 0
    seconds: float = 0.0
    interrupted: int = 0
    tuned: int = 0
