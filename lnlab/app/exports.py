"""Export of runs to trackers: each as its unit ends, and at the end everything that a tracker still lacks.

A tracker gets each run once, so a run that is resumed, or computes nothing, adds only what is new.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from json import loads
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from lnlab.app.missing_work import run_names
from lnlab.errors import LabError
from lnlab.trackers.tracked_run import TrackedRun, TrackedVerdicts, flat_settings
from lnlab.trackers.tracker import Destination, Tracker

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.execute.unit import Event
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results

    Follow = Callable[[Event], None]


@dataclass(frozen=True)
class OpenTrackers:
    """The trackers of one experiment, each with its destination."""

    trackers: Mapping[Destination, Tracker] = field(default_factory=dict)

    def show(self, results: "Results") -> None:
        """Show every run that came to an end.

        Raises:
            LabError: a tracker refuses.
        """
        for run in tracked_runs(results) if self.trackers else ():
            for destination, tracker in self.trackers.items():
                with _as_one_line(destination):
                    tracker.show(run)

    def show_verdicts(self, verdicts: "Sequence[Verdict]") -> None:
        """Show the verdicts of claims.

        Raises:
            LabError: a tracker refuses.
        """
        tracked = tracked_verdicts(verdicts)
        for destination, tracker in self.trackers.items():
            with _as_one_line(destination):
                tracker.show_verdicts(tracked)


@contextmanager
def _as_one_line(destination: Destination) -> Iterator[None]:
    """Whatever goes wrong inside becomes one line with its cause."""
    try:
        yield
    except Exception as error:
        raise LabError(destination.problem(error)) from error


def open_trackers(destinations: Sequence[Destination], name: str, profile: str | None) -> OpenTrackers:
    """The trackers of an experiment, one for each destination.

    Raises:
        LabError: one cannot be reached.
    """
    group = f"{name}/{profile}" if profile else name
    return OpenTrackers({destination: destination.open(group) for destination in destinations})


def export_finished(trackers: OpenTrackers, store: "Store", stored: "StoredPlan", results: "Results") -> None:
    """Show all runs of a plan, and the tuning runs of the same question.

    Raises:
        LabError: a tracker refuses, or the store cannot be read.
    """
    from lnlab.store.plans import plans_newest_first

    if not trackers.trackers:
        return
    trackers.show(results)
    for other in plans_newest_first(store.root):
        if other.undecided and other.digest != stored.digest and other.asks_the_same(stored):
            trackers.show(store.results(other.digest))


@contextmanager
def exporting_units(trackers: OpenTrackers, store: "Store", stored: "StoredPlan") -> "Iterator[Follow]":
    """Show the runs of each unit soon after it ends, in a thread beside the work. Yields what takes the events.

    A tracker that refuses stops nothing. What it lacks is tried once more at the end, and reported then.
    """
    ended: SimpleQueue[str | None] = SimpleQueue()

    def follow(event: "Event") -> None:
        if trackers.trackers and event.kind in ("finished", "failed"):
            ended.put(event.unit)

    def show_units() -> None:
        from lnlab.store.join import join_results
        from lnlab.store.plans import plan_tables

        plan = plan_tables(store.root, stored)
        while (unit := ended.get()) is not None:
            runs = plan["runs"].filter(plan["runs"]["trajectory"] == unit)
            others = {name: plan[name].join(runs.select("run"), on="run", how="semi") for name in ("axes", "needs")}
            trackers.show(join_results(store.root, {"runs": runs, **others}))

    def show_until_refused() -> None:
        with suppress(LabError):  # reported at the end, when everything that is missing is shown again
            show_units()

    thread = Thread(target=show_until_refused, name="lnlab export", daemon=True)
    if trackers.trackers:
        thread.start()
    try:
        yield follow
    finally:
        # The thread shows what was put before this, and ends.
        ended.put(None)
        if thread.ident is not None:
            thread.join()


def tracked_runs(results: "Results") -> Iterator[TrackedRun]:
    """The ended runs. An interrupted run is left out, as the rest of it is still to come."""
    names = run_names(results.runs, results.axes)
    curves: dict[str, list[tuple[str, int, float]]] = {}
    for run, step, split, quantity, value in (
        results.tables["curves"].select("run", "step", "split", "quantity", "value").iter_rows()
    ):
        curves.setdefault(run, []).append((f"{split}/{quantity}", step, value))
    columns = "run", "seed", "status", "seconds", "done", "setting"
    for run, seed, status, seconds, done, setting in results.runs.select(columns).iter_rows():
        if status in (None, "interrupted"):
            continue
        settings = {"seed": seed, **flat_settings(loads(setting))}
        yield TrackedRun(
            key=run,
            name=names[run],
            status=status,
            seconds=seconds or 0.0,
            steps=done or 0,
            settings=settings,
            curves=curves.get(run, ()),
        )


def tracked_verdicts(verdicts: "Sequence[Verdict]") -> TrackedVerdicts:
    """The verdicts of claims as a tracker shows them."""
    sentences = {verdict.claim: f"{verdict.verdict}: {verdict.says} ({verdict.reason})" for verdict in verdicts}
    return TrackedVerdicts({verdict.claim: verdict.verdict for verdict in verdicts}, sentences)
