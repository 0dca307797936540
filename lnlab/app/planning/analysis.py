"""Estimate against actual, after a run: time, compute and peak memory by kind of unit, like EXPLAIN ANALYZE."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.planning.machine_speed import machine_speed
from lnlab.app.planning.pace import actual_seconds
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.memory import LIBRARIES
from lnlab.compile.setting_paths import stacks_of
from lnlab.compile.work import Trajectory
from lnlab.store.records.peaks import read_peaks

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.store.store import Store


@dataclass(frozen=True)
class AnalyzedUnits:
    """Finished units of one kind.

    Attributes:
        kind: model, steps and number of measurements, in words.
        units: how many.
        estimated_seconds: of all together, by the speed of this machine.
        actual_seconds: that they took.
        flops: of all together.
        estimated_peak: bytes of a worker, its libraries included: of the largest unit.
        actual_peak: the same as measured. None where they were computed elsewhere, or by an lnlab that did not measure
            it.
    """

    kind: str
    units: int
    estimated_seconds: float
    actual_seconds: float
    flops: float
    estimated_peak: int
    actual_peak: int | None

    def __str__(self) -> str:
        """``encoder of 2 layers, 1 measurement: 14 units; time 1.3 s estimated, 1.4 s taken (0.93); ...``."""
        ratio = self.estimated_seconds / self.actual_seconds
        rate = self.flops / self.actual_seconds
        peak = "" if self.actual_peak is None else f", {format_quantity(self.actual_peak, 'B')} taken"
        return (
            f"{self.kind}: {format_count(self.units, 'unit')}; "
            f"time {self.estimated_seconds:.3g} s estimated, {self.actual_seconds:.3g} s taken ({ratio:.2f}); "
            f"{format_quantity(self.flops, 'FLOP')}, {format_quantity(rate, 'FLOP')} a second; "
            f"memory {format_quantity(self.estimated_peak, 'B')} estimated{peak}"
        )


def analyzed_units(store: "Store", plan: "Plan", known: "Registries") -> tuple[AnalyzedUnits, ...]:
    """The finished units of a plan by kind, in the order of the plan."""
    speed = machine_speed()
    actual = actual_seconds(store, plan)
    peaks = read_peaks(store.root, plan.digest)
    by_kind: dict[str, list[Trajectory]] = {}
    for unit in plan.trajectories:
        if unit.key in actual:  # units of one model, length and number of measurements take about the same
            layers = sum(int(unit.setting[stack]["layers"]) for stack in stacks_of(unit.setting))
            model = unit.setting["model"]
            parts = [f"{model['kind']} of {format_count(layers, 'layer')}"]
            parts += [f"width {model['d_model']}"] if model.get("d_model") else []
            parts += [format_count(unit.steps, "step")] if unit.steps else []
            parts.append(format_count(len(unit.measurements), "measurement"))
            by_kind.setdefault(", ".join(parts), []).append(unit)
    analyzed = []
    for kind, units in by_kind.items():
        costs = [cost(unit.setting, unit.measurements, known) for unit in units]
        measured = [peaks[unit.key] for unit in units if unit.key in peaks]
        analyzed.append(
            AnalyzedUnits(
                kind=kind,
                units=len(units),
                estimated_seconds=sum(unit_cost.seconds(speed) for unit_cost in costs),
                actual_seconds=sum(actual[unit.key] for unit in units),
                flops=sum(unit_cost.flops for unit_cost in costs),
                estimated_peak=max(unit_cost.peak_bytes for unit_cost in costs) + LIBRARIES,
                actual_peak=max(measured, default=None),
            )
        )
    return tuple(analyzed)
