"""``lnlab plan``: what a run would compute and what it would cost, like a database's EXPLAIN; it computes nothing."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.app.missing_work import reason_counts
from lnlab.app.request import Request, compile_request, load_registries, open_store
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Spec, StoreFolder
from lnlab.cli.terminal import format_count, format_duration, format_quantity, out, print_json
from lnlab.cli.undecidable import judged_seeds, undecidable_note, undecidable_seeds

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.cli.rate import Throughput
    from lnlab.compile.decisions import Decision
    from lnlab.compile.plan import Plan, Trajectory
    from lnlab.store.store import Store

PLAN_EXAMPLE = "Example: [bold]lnlab plan specs/xiong_fig3.yaml --profile paper[/bold]"


def plan(
    spec: Spec,
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    profile: Profile = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", min=1, metavar="N", help="Workers assumed for the time estimate."),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure one unit now, and keep it, to know how long the rest takes.")
    ] = False,
    as_json: AsJsonOption = False,
) -> None:
    """Show what a run would compute, and its cost.

    Runs by axis, what is cached, what must be computed and why, memory, and expected time.
    """
    from lnlab.cli.rate import measured_throughput, past_throughput
    from lnlab.cli.work import worker_count
    from lnlab.compile.cost.cost import machine_memory
    from lnlab.compile.reference.explain import explain

    request, store = Request(spec, profile, tuple(overrides), tuple(plugins)), open_store(folder)
    known = load_registries(plugins)
    next_plan = _next_plan(request, known, store)
    units = [unit for unit, _ in store.pending(next_plan)]
    rate = (
        measured_throughput(store, request, units, known)
        if calibrate and units
        else past_throughput(store, units, known)
    )
    facts = _plan_facts(next_plan, store.pending(next_plan), known, rate, worker_count(workers), machine_memory())
    facts["note"] = _undecidable_note(request, known, next_plan)
    if as_json:
        print_json(facts)
        return
    for line in [*explain(next_plan), f"store {store.root}: {_store_line(facts)}", *cost_lines(facts)]:
        out().print(line)


def _undecidable_note(request: Request, known: "Registries", plan: "Plan") -> str:
    """What the seeds of the judged runs cannot decide."""
    from lnlab.compile.decisions import assumed_decision

    judged_plan = plan
    if plan.undecided:
        judged_plan, _ = compile_request(request, known, [*plan.decisions, *map(assumed_decision, plan.undecided)])
    return undecidable_note(undecidable_seeds(judged_plan, known), len(judged_plan.claims))


def _next_plan(request: Request, known: "Registries", store: "Store") -> "Plan":
    """The plan of the first stage (tuning or judged) that is not complete, or of the last."""
    from lnlab.cli.work import decide_open_choices

    decisions: tuple[Decision, ...] = ()
    while True:
        plan, _ = compile_request(request, known, decisions)
        new_decisions = decide_open_choices(plan, store)
        if not new_decisions:
            return plan
        decisions += new_decisions


def _plan_facts(
    plan: "Plan",
    pending: "Sequence[tuple[Trajectory, str]]",
    known: "Registries",
    rate: "Throughput | None",
    workers: int,
    memory: int,
) -> dict[str, Any]:
    """The plan in numbers, as plain values."""
    from lnlab.compile.checks.citations import cited_verdicts
    from lnlab.compile.cost.cost import cost
    from lnlab.compile.cost.memory import plan_memory
    from lnlab.compile.decisions import decisions_to_json

    units = [unit for unit, _ in pending]
    memory_plan = plan_memory(units or plan.trajectories, known, workers, memory)
    all_costs = [cost(unit.setting, unit.measurements, known) for unit in plan.trajectories]
    missing_costs = [cost(unit.setting, unit.measurements, known) for unit in units]
    parameters = [c.parameters for c in all_costs]
    return {
        "name": plan.name,
        "profile": plan.profile,
        "runs": len(plan.runs),
        "variants": len(plan.settings),
        "seeds": list(plan.experiment.seeds),
        "undecided": [asdict(question) for question in plan.undecided],
        "decisions": decisions_to_json(plan.decisions),
        "later_runs": plan.later,
        "units": {"all": len(plan.trajectories), "missing": len(units)},
        "measurements": {
            "needed": len(plan.needs),
            "distinct": sum(len(unit.measurements) for unit in plan.trajectories),
            "missing": sum(len(unit.measurements) for unit in units),
        },
        "data_passes": [asdict(data_pass) for data_pass in plan.data_passes],
        "cited": {file.path: file.sha256 or None for file in cited_verdicts(plan.inputs)},
        "why": dict(reason_counts(reason for _, reason in pending)),
        "pins": list(plan.pins),
        "parameters": [min(parameters), max(parameters)],
        "flops": {"all": sum(c.flops for c in all_costs), "missing": sum(c.flops for c in missing_costs)},
        "peak_bytes": memory_plan.peak,
        "memory": {
            "machine_bytes": memory_plan.memory,
            "bound_bytes": memory_plan.bound,
            "fits": memory_plan.fits,
            "keep_graphs": memory_plan.could - memory_plan.frugal,
            "make_graphs_anew": memory_plan.frugal,
            "workers_spared": workers - memory_plan.workers,
        },
        "workers": memory_plan.workers,
        "seconds": rate.seconds(memory_plan.units, known, memory_plan.workers) if rate and units else None,
        "seconds_known": rate.source if rate else None,
        "trains": any(unit.steps for unit in units),
        "claims": [
            {"id": text.id, "kind": choice["kind"], "primary": text.primary, "n": judged_seeds(plan, choice)}
            for text, choice in zip(plan.experiment.claims, plan.claims, strict=True)
        ],
    }


def _store_line(facts: dict[str, Any]) -> str:
    """How much of the plan the store has, and the reasons for what is missing."""
    units, measurements = facts["units"], facts["measurements"]
    if not units["missing"]:
        return "holds everything; a run would compute nothing"
    stored = measurements["distinct"] - measurements["missing"]
    line = (
        f"holds {stored:,} of {format_count(measurements['distinct'], 'measurement')}; "
        f"{format_count(units['missing'], 'unit')} to do"
    )
    return "\n".join([line, *(f"  {format_count(number, 'unit')}: {why}" for why, number in facts["why"].items())])


def cost_lines(facts: dict[str, Any]) -> list[str]:
    """The costs of the plan, a line each, and the number of seeds that its claims are judged on."""
    least, most = (format_quantity(number, "") for number in facts["parameters"])
    flops = facts["flops"]
    seeds = sorted({claim["n"] for claim in facts["claims"]})
    judged = "" if not seeds else f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return [
        *([f"{format_count(len(facts['claims']), 'claim')} judged on {judged} seeds"] if judged else []),
        *([facts["note"]] if facts["note"] else []),
        f"parameters: {least if least == most else f'{least} to {most}'}",
        f"compute: {format_quantity(flops['missing'], 'FLOP')} to do of {format_quantity(flops['all'], 'FLOP')}",
        f"memory: {_memory_line(facts)}",
        f"time: {expected_time(facts)}",
    ]


def _memory_line(facts: dict[str, Any]) -> str:
    """The peak memory of a worker, and the measures taken so that all workers fit."""
    memory, bound = facts["memory"], format_quantity(facts["memory"]["bound_bytes"], "B")
    parts = [f"about {format_quantity(facts['peak_bytes'], 'B')} a worker at the peak"]
    if memory["make_graphs_anew"]:
        of = format_count(memory["make_graphs_anew"] + memory["keep_graphs"], "measurement")
        parts.append(f"graphs of {memory['make_graphs_anew']:,} of {of} recomputed")
        parts += [f"to stay within {bound}"] if memory["fits"] else []
    elif memory["keep_graphs"]:
        parts.append(f"graphs kept, within {bound}")
    if not memory["fits"]:
        parts.append(f"more than the {format_quantity(memory['machine_bytes'], 'B')} of this machine")
    elif memory["workers_spared"]:
        parts.append(f"{format_count(facts['workers'], 'worker')} at once, as memory is for no more")
    return ", ".join(parts)


def expected_time(facts: dict[str, Any]) -> str:
    """How long a run would take, and the source of the estimate."""
    if not facts["units"]["missing"]:
        return "none"
    if facts["seconds"] is None:
        unit = "unit of about this size that trained" if facts["trains"] else "unit of about this size"
        return f"unknown, as this store holds no {unit}; --calibrate measures one"
    return (
        f"about {format_duration(facts['seconds'])} on {format_count(facts['workers'], 'worker')}, "
        f"{facts['seconds_known']}"
    )
