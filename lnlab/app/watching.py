"""A run while it goes on, in any process on any machine that shares its store: what is at work, and what is left."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Any

from lnlab.app.formats import format_count, format_duration
from lnlab.app.missing_work import ended_by_itself, run_names, status_counts_of_runs

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan
    from lnlab.store.running_work import PlanProgress, RunningWork
    from lnlab.tables import Results

SPARKLINE_WIDTH = 24
_BARS = "▁▂▃▄▅▆▇█"


SPIKE = {"loss": 1.5, "gradient norm": 5.0, "attention logit": 2.0}
"""By curve how many times the median of what came before is a jump."""
_BEFORE = 20
"""Records that this median is of."""


@dataclass(frozen=True)
class WatchedCurve:
    """One curve of a run.

    Attributes:
        name: of what.
        steps: rising.
        values: at these steps.
        spike: the step of the last record that jumps, or None.
    """

    name: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    spike: int | None

    @classmethod
    def of(cls, name: str, points: Iterable[tuple[int, float]]) -> "WatchedCurve":
        """The curve through points, which rise in step."""
        steps, values = (tuple(column) for column in zip(*points, strict=True))
        return cls(name, steps, values, last_spike(steps, values, SPIKE[name]))

    def __str__(self) -> str:
        """``loss 5.31 █▆▄▂``, and ``!`` where it jumps or has jumped."""
        verb = "jumps" if self.spike == self.steps[-1] else "jumped"
        mark = "" if self.spike is None else f" ! {verb} at step {self.spike:,}"
        return f"{self.name} {self.values[-1]:.4g} {sparkline(self.values)}{mark}"


def last_spike(steps: Sequence[int], values: Sequence[float], factor: float) -> int | None:
    """The step of the last value above ``factor`` times the median of the 20 finite ones before it, or not finite.

    It is None if there is no such value, or fewer than two stand before it.
    """
    import polars as pl

    sizes = pl.Series(values, dtype=pl.Float64).abs()
    finite = sizes.is_finite()
    known = pl.select(pl.when(finite).then(sizes)).to_series()
    # Shifted, so that no value is compared with a median that it is part of.
    before = known.shift(1).rolling_median(_BEFORE, min_samples=2)
    jumps = (before.is_not_null() & (~finite | (sizes > factor * before).fill_null(value=False))).arg_true()
    return int(steps[jumps[-1]]) if len(jumps) else None


@dataclass(frozen=True)
class RunningUnit:
    """A trajectory that a worker is at, with what a reader wants to know of it.

    Attributes:
        work: how far the worker is.
        name: its axes and seed.
        steps: of the whole trajectory. 0 where it is measured without training.
    """

    work: "RunningWork"
    name: str
    steps: int

    @property
    def steps_per_second(self) -> float | None:
        """The rate of these steps, or None before any."""
        return self.work.steps / self.work.seconds if self.work.steps and self.work.seconds else None

    @cached_property
    def curves(self) -> tuple[WatchedCurve, ...]:
        """Loss, gradient norm and largest attention logit, as far as recorded."""
        return tuple(WatchedCurve.of(name, points) for name, points in self.work.curves.items() if points)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, its rate included."""
        return {
            "trajectory": self.work.trajectory,
            "name": self.name,
            "done": self.work.steps,
            "steps": self.steps,
            "seconds": self.work.seconds,
            "curves": [asdict(curve) for curve in self.curves],
            "host": self.work.holder.host.partition(" ")[0],  # without the name of its process namespace
            "pid": self.work.holder.pid,
            "steps_per_second": self.steps_per_second,
        }

    def lines(self) -> Iterator[str]:
        """``seed 1: step 120 of 400, 2.1 a second, loss 5.31 █▆▄▂``, then a line for each other curve."""
        rate = self.steps_per_second
        parts = [f"step {self.work.steps:,} of {self.steps:,}"] if self.steps else ["measuring"]
        parts += [f"{rate:.3g} a second"] if rate else []
        parts += [str(curve) for curve in self.curves if curve.name == "loss"]
        yield f"{self.name}: {', '.join(parts)}"
        yield from (f"  {curve}" for curve in self.curves if curve.name != "loss")


@dataclass(frozen=True)
class WatchedRun:
    """How far the runs of a plan are.

    Attributes:
        name: of the experiment.
        units: trajectories of the plan.
        left: those that still lack something, those at work included.
        statuses: status -> number of runs.
        running: trajectories that a worker is at.
        seconds_left: an estimate from what the finished ones took. None while no worker is active or none has finished.
    """

    name: str
    units: int
    left: int
    statuses: Mapping[str, int]
    running: tuple[RunningUnit, ...]
    seconds_left: float | None

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return not self.left

    def lines(self) -> Iterator[str]:
        """What a reader sees: the experiment, then lines for each trajectory at work."""
        counts = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in self.statuses.items())
        pace = f", about {format_duration(self.seconds_left)} left" if self.seconds_left is not None else ""
        yield f"{self.name}: {self.units - self.left} of {format_count(self.units, 'unit')}{pace}; runs: {counts}"
        yield from (f"  {line}" for unit in self.running for line in unit.lines())
        if self.left and not self.running:
            yield "  no worker is at it; lnlab run goes on with it"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {**vars(self), "running": [unit.to_json() for unit in self.running]}


def watched_run(stored: "StoredPlan", look: "PlanProgress") -> WatchedRun:
    """How far the runs of a stored plan are, as a look says."""
    at_work = {work.trajectory for work in look.running}
    left = [key for key, miss in look.lacking.items() if key in at_work or not ended_by_itself(miss)]
    units = running_units(look)
    return WatchedRun(
        name=stored.name,
        units=look.results.runs["trajectory"].n_unique(),
        left=len(left),
        statuses=status_counts_of_runs(look.results, at_work),
        running=units,
        seconds_left=expected_seconds(look.results, left, units),
    )


def running_units(look: "PlanProgress") -> tuple[RunningUnit, ...]:
    """The trajectories that a worker is at, each under the name of its longest run."""
    units = []
    for work in look.running:
        runs = look.results.runs.filter(look.results.runs["trajectory"] == work.trajectory).sort("steps")
        run, steps = runs.select("run", "steps").row(-1)
        name = run_names(runs, look.results.axes.filter(look.results.axes["run"] == run))[run]
        units.append(RunningUnit(work, name, steps))
    return tuple(units)


def sparkline(values: Sequence[float], width: int = SPARKLINE_WIDTH) -> str:
    """A curve in one line of text: means of ``width`` equal windows, from the smallest ▁ to the largest █.

    A window without a finite value is a gap.
    """
    width = min(width, len(values))
    edges = [len(values) * number // width for number in range(width + 1)] if width else [0]
    windows = [[v for v in values[a:b] if isfinite(v)] for a, b in pairwise(edges)]
    means = [sum(window) / len(window) if window else None for window in windows]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    heights = [None if mean is None else (mean - low) / span if span else 0.0 for mean in means]
    return "".join(
        " " if height is None else _BARS[min(int(height * len(_BARS)), len(_BARS) - 1)] for height in heights
    )


def expected_seconds(results: "Results", lacking: Sequence[str], units: Sequence[RunningUnit]) -> float | None:
    """What is left of the units, each at the median time of finished ones of its length, shared by the workers.

    A length of which none has finished takes its time from the others by their steps, where they trained.
    """
    columns = results.runs.select("trajectory", "steps", "seconds", "status").iter_rows()
    lengths: dict[str, int] = {}
    taken: dict[int, list[float]] = {}
    for trajectory, steps, seconds, status in columns:
        lengths[trajectory] = max(steps, lengths.get(trajectory, 0))
        if status == "finished" and seconds:
            taken.setdefault(steps, []).append(seconds)
    if not taken or not units:
        return None
    per_unit = {steps: median(times) for steps, times in taken.items()}
    trained = [seconds / steps for steps, seconds in per_unit.items() if steps]
    counts = Counter(lengths[key] for key in lacking)
    if any(steps not in per_unit and not (steps and trained) for steps in counts):
        return None
    total = sum(n * per_unit.get(steps, steps * median(trained or [0.0])) for steps, n in counts.items())
    return max(total - sum(unit.work.seconds for unit in units), 0.0) / len(units)
