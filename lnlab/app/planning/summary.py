"""What a run would compute and what it would cost, like a database's EXPLAIN. Nothing is computed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lnlab.app.formats import format_count, format_duration
from lnlab.app.missing_work import reason_counts
from lnlab.app.rehearsal.judgeable import Rehearsals, seeds_judged, undecidable_note
from lnlab.app.request import Request, judged_plan
from lnlab.committed.registries import load_registries
from lnlab.html_tables import html_card

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.store.store import Store


@dataclass(frozen=True)
class WorkAmount:
    """How much there is of something, and how much of it is missing in the store."""

    all: float
    missing: float


@dataclass(frozen=True)
class MeasurementCounts:
    """How many measurements runs need, how many of them are distinct, and how many are missing in the store."""

    needed: int
    distinct: int
    missing: int


@dataclass(frozen=True)
class MemorySummary:
    """Memory of the machine and of a worker in bytes, and the measures taken so that all workers fit.

    Attributes:
        machine_bytes: of the machine, or of its largest GPU.
        on_gpus: whether units are on GPUs.
        bound_bytes: that a worker may need.
        fits: whether the machine has memory for the largest unit.
        keep_graphs: measurements that keep their graphs.
        make_graphs_anew: measurements that recompute them to need less.
        workers_spared: workers fewer than there could be, for want of memory.
    """

    machine_bytes: int
    on_gpus: bool
    bound_bytes: int
    fits: bool
    keep_graphs: int
    make_graphs_anew: int
    workers_spared: int


@dataclass(frozen=True)
class ClaimSummary:
    """A claim, its kind, whether it counts in the headline, and the number of seeds that it is judged on."""

    id: str
    kind: str
    primary: bool
    n: int


@dataclass(frozen=True, repr=False)
class PlanSummary:
    """A plan, what of it is missing in a store, and what that costs.

    Attributes:
        plan: of the next stage.
        units: trajectories, each computed once.
        measurements: their counts.
        why: reason -> number of units that are missing for it.
        parameters: of the smallest and of the largest model.
        flops: of all units, and of the runs that follow a choice.
        peak_bytes: of a worker.
        memory: what fits.
        workers: at once.
        seconds: expected. None where there is nothing to do, or nothing is known of the device.
        later_seconds: expected of the runs that follow, whatever is chosen. None where none follow.
        seconds_known: where the estimate comes from, or why there is none.
        note: claims that these seeds cannot decide, in words, or "".
        store: the folder of the store.
        review: what a referee would ask before any run, a line each.
    """

    plan: "Plan"
    units: WorkAmount
    measurements: MeasurementCounts
    why: Mapping[str, int]
    parameters: tuple[int, int]
    flops: WorkAmount
    peak_bytes: int
    memory: MemorySummary
    workers: int
    seconds: float | None
    later_seconds: float | None
    seconds_known: str
    note: str
    store: str
    review: tuple[str, ...]

    @property
    def runs(self) -> int:
        """How many runs."""
        return len(self.plan.runs)

    @property
    def variants(self) -> int:
        """How many settings they have."""
        return len(self.plan.settings)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the experiment and of its grids."""
        return self.plan.experiment.drawn_seeds

    @property
    def claims(self) -> tuple[ClaimSummary, ...]:
        """What is judged."""
        plan = self.plan
        return tuple(
            ClaimSummary(text.id, choice["kind"], text.primary, len(seeds_judged(plan, text, choice)))
            for text, choice in zip(plan.experiment.claims, plan.claims, strict=True)
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan in words, one fact a line."""
        from lnlab.compile.reference.explain import explain

        return tuple(explain(self.plan))

    @property
    def headline(self) -> str:
        """How many runs there are, and how many units the store lacks of them."""
        time = f", about {format_duration(self.seconds)}" if self.seconds is not None else ""
        units = f"{self.units.missing:,} of {self.units.all:,} units to compute{time}"
        return f"{format_count(self.runs, 'run')}, {format_count(self.variants, 'variant')}; {units}"

    def __repr__(self) -> str:
        return f"PlanSummary({self.plan.name}: {self.headline})"

    def _repr_html_(self) -> str:
        title = f"Plan of {self.plan.name}, {self.plan.profile or 'default'}"
        return html_card(title, [self.headline, *self.lines, self.note])

    def as_plain(self) -> dict[str, Any]:
        """The plan and its costs as plain values."""
        from lnlab.compile.decisions import decisions_to_json
        from lnlab.compile.selection.citations import cited_verdicts

        plan = self.plan
        return {
            "name": plan.name,
            "profile": plan.profile,
            "undecided": [asdict(question) for question in plan.undecided],
            "decisions": decisions_to_json(plan.decisions),
            "later_runs": plan.later,
            "data_passes": [asdict(data_pass) for data_pass in plan.data_passes],
            "cited": {file.path: file.sha256 or None for file in cited_verdicts(plan.inputs)},
            "pins": plan.pins,
            "runs": self.runs,
            "variants": self.variants,
            "seeds": list(self.seeds),
            "units": asdict(self.units),
            "measurements": asdict(self.measurements),
            "why": self.why,
            "parameters": list(self.parameters),
            "flops": asdict(self.flops),
            "peak_bytes": self.peak_bytes,
            "memory": asdict(self.memory),
            "workers": self.workers,
            "seconds": self.seconds,
            "later_seconds": self.later_seconds,
            "seconds_known": self.seconds_known,
            "claims": [asdict(claim) for claim in self.claims],
            "note": self.note,
            "review": list(self.review),
        }


def plan_request(request: Request, store: "Store", *, workers: int | None = None) -> PlanSummary:
    """The plan of the next stage (tuning or judged runs) of a request.

    Args:
        request: the question.
        store: what is there already.
        workers: assumed for the time. None means as many as cores.

    Raises:
        LabError: what is wrong with the spec, or a corpus that is absent.
    """
    from lnlab.app.compute import next_plan, plan_here
    from lnlab.app.planning.pace import expected_pace, no_pace
    from lnlab.app.planning.review_notes import line_texts, review_of_plan
    from lnlab.compile.cost.cost import cost
    from lnlab.execute.machine import ThisMachine

    known = load_registries(request.plugins)
    plan, document = next_plan(request, known, store)
    judged = judged_plan(request, known, plan)
    outcome = Rehearsals(known).require_judgeable(request, judged, document)
    pace = expected_pace(store, plan, known)
    pending = store.pending(plan)
    units = [unit for unit, _ in pending]
    wanted_workers = ThisMachine(workers).workers
    memory_plan = plan_here(units or plan.trajectories, known, workers)
    later = judged.trajectories if plan.undecided else ()
    all_costs = [cost(unit.setting, unit.measurements, known) for unit in plan.trajectories]
    missing_costs = [cost(unit.setting, unit.measurements, known) for unit in units]
    later_flops = sum(cost(unit.setting, unit.measurements, known).flops for unit in later)
    parameters = [each.parameters for each in all_costs]
    return PlanSummary(
        plan=plan,
        units=WorkAmount(len(plan.trajectories), len(units)),
        measurements=MeasurementCounts(
            needed=len(plan.needs),
            distinct=sum(len(unit.measurements) for unit in plan.trajectories),
            missing=sum(len(unit.measurements) for unit in units),
        ),
        why=dict(reason_counts(reason for _, reason in pending)),
        parameters=(min(parameters), max(parameters)),
        flops=WorkAmount(
            all=sum(each.flops for each in all_costs) + later_flops,
            missing=sum(each.flops for each in missing_costs) + later_flops,
        ),
        peak_bytes=memory_plan.peak,
        memory=MemorySummary(
            machine_bytes=memory_plan.memory,
            on_gpus=memory_plan.on_gpus,
            bound_bytes=memory_plan.bound,
            fits=memory_plan.fits,
            keep_graphs=memory_plan.could - memory_plan.frugal,
            make_graphs_anew=memory_plan.frugal,
            workers_spared=wanted_workers - memory_plan.workers,
        ),
        workers=memory_plan.workers,
        seconds=pace.seconds(memory_plan.units, known, memory_plan.workers) if units and pace else None,
        later_seconds=pace.seconds(later, known, memory_plan.workers) if later and pace else None,
        seconds_known=pace.source if pace else no_pace(plan),
        note=undecidable_note(outcome.too_few, len(judged.claims)),
        store=str(store.root),
        review=tuple(line_texts(review_of_plan(judged, plan.undecided))),
    )
