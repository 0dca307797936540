"""The summary of one run, and its results and verdicts."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lnlab.app.missing_work import unfinished_runs
from lnlab.app.request import Request

if TYPE_CHECKING:
    from lnlab.claims.verdicts import Verdicts
    from lnlab.store.plans import StoredPlan
    from lnlab.tables import Results


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


@dataclass(frozen=True)
class RunResult:
    """The results of a run and the verdicts of its claims.

    Attributes:
        request: the question.
        summary: how the run went: units, seconds, signal.
        results: the rows of all runs of the plan, new and old, joined.
        verdicts: one per claim, in the order of the spec. Empty after an interruption.
    """

    request: Request = field(repr=False)
    summary: RunSummary = field(repr=False)
    results: "Results" = field(repr=False)
    verdicts: "Verdicts"

    @property
    def plan(self) -> str:
        """The digest of the plan."""
        return self.summary.stored.digest

    @property
    def computed(self) -> int:
        """How many units ended in this run."""
        return self.summary.units

    @property
    def reused(self) -> int:
        """How many units of the plan the store had before."""
        return self.results.runs["trajectory"].n_unique() - self.summary.scheduled

    @property
    def failures(self) -> list[dict[str, object]]:
        """Every run that ended other than finished: ``run``, ``key``, ``status`` and ``reason``."""
        return unfinished_runs(self.results)
