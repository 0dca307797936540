"""``lnlab plan``: what a run would do and what it costs, like a database's EXPLAIN; does nothing itself."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.app.missing_work import grouped
from lnlab.app.request import Request, compiled, open_store, registries
from lnlab.cli.options import AsJson, Folder, Overrides, Plugins, Profile, Spec
from lnlab.cli.terminal import count, duration, out, print_json, quantity
from lnlab.cli.undecidable import judged_seeds, note, undecidable

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.cli.rate import Rate
    from lnlab.compile.decisions import Decision
    from lnlab.compile.plan import Plan, Trajectory
    from lnlab.store.store import Store

EXAMPLE = "Example: [bold]lnlab plan specs/xiong_fig3.yaml --profile paper[/bold]"


def plan(
    spec: Spec,
    overrides: Overrides,
    folder: Folder,
    plugins: Plugins,
    profile: Profile = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, metavar="N", help="Workers that the time is reckoned for.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure one unit now, and keep it, to know how long the rest takes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Explain what a run would do.

    Runs by axis, what is shared, what the store lacks and why each miss is a miss, pins, cost, and expected time.
    """
    from lnlab.cli.rate import measured_rate, past_rate
    from lnlab.cli.work import workers_here
    from lnlab.compile.cost.cost import machine_memory
    from lnlab.compile.reference.explain import explain

    request, store = Request(spec, profile, tuple(overrides), tuple(plugins)), open_store(folder)
    known = registries(plugins)
    made = _next(request, known, store)
    units = [unit for unit, _ in store.pending(made)]
    rate = measured_rate(store, request, units, known) if calibrate and units else past_rate(store, units, known)
    facts = _described(made, store.pending(made), known, rate, workers_here(workers), machine_memory())
    facts["note"] = _note(request, known, made)
    if as_json:
        print_json(facts)
        return
    for line in [*explain(made), f"store {store.root}: {_held(facts)}", *costs(facts)]:
        out().print(line)


def _note(request: Request, known: "Registries", made: "Plan") -> str:
    """What the seeds of the judged runs cannot decide."""
    from lnlab.compile.decisions import assumed

    judged = made
    if made.undecided:
        judged, _ = compiled(request, known, [*made.decisions, *map(assumed, made.undecided)])
    return note(undecidable(judged, known), len(judged.claims))


def _next(request: Request, known: "Registries", store: "Store") -> "Plan":
    """The plan of the first round that is not done, or of the last."""
    from lnlab.cli.work import decided

    decisions: tuple[Decision, ...] = ()
    while True:
        made, _ = compiled(request, known, decisions)
        found = decided(made, store)
        if not found:
            return made
        decisions += found


def _described(
    made: "Plan",
    pending: "Sequence[tuple[Trajectory, str]]",
    known: "Registries",
    rate: "Rate | None",
    workers: int,
    memory: int,
) -> dict[str, Any]:
    """The plan in numbers, as plain values."""
    from lnlab.compile.cost.cost import cost
    from lnlab.compile.cost.memory import room
    from lnlab.compile.decisions import as_json

    units = [unit for unit, _ in pending]
    here = room(units or made.trajectories, known, workers, memory)
    every = [cost(each.setting, each.measurements, known) for each in made.trajectories]
    to_do = [cost(each.setting, each.measurements, known) for each in units]
    return {
        "name": made.name,
        "profile": made.profile,
        "runs": len(made.runs),
        "variants": len(made.settings),
        "seeds": list(made.experiment.seeds),
        "undecided": [asdict(question) for question in made.undecided],
        "decisions": as_json(made.decisions),
        "later_runs": made.later,
        "units": {"all": len(made.trajectories), "missing": len(units)},
        "measurements": {
            "needed": len(made.needs),
            "distinct": sum(len(each.measurements) for each in made.trajectories),
            "missing": sum(len(each.measurements) for each in units),
        },
        "data_passes": [asdict(each) for each in made.data_passes],
        "why": dict(grouped(reason for _, reason in pending)),
        "pins": list(made.pins),
        "parameters": [min(each.parameters for each in every), max(each.parameters for each in every)],
        "flops": {"all": sum(each.flops for each in every), "missing": sum(each.flops for each in to_do)},
        "peak_bytes": here.peak,
        "memory": {
            "machine_bytes": here.memory,
            "bound_bytes": here.bound,
            "fits": here.fits,
            "keep_graphs": here.could - here.frugal,
            "make_graphs_anew": here.frugal,
            "workers_spared": workers - here.workers,
        },
        "workers": here.workers,
        "seconds": rate.seconds(here.units, known, here.workers) if rate and units else None,
        "seconds_known": rate.source if rate else None,
        "trains": any(unit.steps for unit in units),
        "claims": [
            {"id": text.id, "kind": choice["kind"], "primary": text.primary, "n": judged_seeds(made, choice)}
            for text, choice in zip(made.experiment.claims, made.claims, strict=True)
        ],
    }


def _held(facts: dict[str, Any]) -> str:
    """What the store has of the plan, and why each miss is a miss."""
    units, measurements = facts["units"], facts["measurements"]
    if not units["missing"]:
        return "holds everything; a run would compute nothing"
    have = measurements["distinct"] - measurements["missing"]
    lacks = (
        f"holds {have:,} of {count(measurements['distinct'], 'measurement')}; {count(units['missing'], 'unit')} to do"
    )
    return "\n".join([lacks, *(f"  {count(number, 'unit')}: {why}" for why, number in facts["why"].items())])


def costs(facts: dict[str, Any]) -> list[str]:
    """What the plan costs, a line each, and how many seeds its claims are judged on."""
    least, most = (quantity(number, "") for number in facts["parameters"])
    flops = facts["flops"]
    seeds = sorted({claim["n"] for claim in facts["claims"]})
    judged = "" if not seeds else f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return [
        *([f"{count(len(facts['claims']), 'claim')} judged on {judged} seeds"] if judged else []),
        *([facts["note"]] if facts["note"] else []),
        f"parameters: {least if least == most else f'{least} to {most}'}",
        f"compute: {quantity(flops['missing'], 'FLOP')} to do of {quantity(flops['all'], 'FLOP')}",
        f"memory: {_needed(facts)}",
        f"time: {expected(facts)}",
    ]


def _needed(facts: dict[str, Any]) -> str:
    """What a worker needs at its peak, and what is done to have room for all of them."""
    room, bound = facts["memory"], quantity(facts["memory"]["bound_bytes"], "B")
    said = [f"about {quantity(facts['peak_bytes'], 'B')} a worker at the peak"]
    if room["make_graphs_anew"]:
        of = count(room["make_graphs_anew"] + room["keep_graphs"], "measurement")
        said.append(f"graphs of {room['make_graphs_anew']:,} of {of} recomputed")
        said += [f"to stay within {bound}"] if room["fits"] else []
    elif room["keep_graphs"]:
        said.append(f"graphs kept, within {bound}")
    if not room["fits"]:
        said.append(f"more than the {quantity(room['machine_bytes'], 'B')} of this machine")
    elif room["workers_spared"]:
        said.append(f"{count(facts['workers'], 'worker')} at once, as memory is for no more")
    return ", ".join(said)


def expected(facts: dict[str, Any]) -> str:
    """How long a run would take, and how that is known."""
    if not facts["units"]["missing"]:
        return "none"
    if facts["seconds"] is None:
        unit = "unit of about this size that trained" if facts["trains"] else "unit of about this size"
        return f"unknown, as this store holds no {unit}; --calibrate measures one"
    return f"about {duration(facts['seconds'])} on {count(facts['workers'], 'worker')}, {facts['seconds_known']}"
