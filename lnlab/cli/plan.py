"""``lnlab plan``: what a run would compute and what it would cost, like a database's EXPLAIN; it computes nothing."""

from typing import Annotated, Any

import typer

from lnlab.app.formats import format_count, format_duration, format_quantity
from lnlab.app.planning.summary import plan_request
from lnlab.app.request import Request, open_store
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Spec, StoreFolder
from lnlab.cli.terminal import out, print_json

PLAN_EXAMPLE = "Example: [bold]lnlab plan specs/xiong_fig3.yaml --profile paper[/bold]"


def plan_spec(
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
    request, store = Request(spec, profile, tuple(overrides), tuple(plugins)), open_store(folder)
    summary = plan_request(request, store, workers=workers, calibrate=calibrate)
    facts = summary.as_plain()
    if as_json:
        print_json(facts)
        return
    for line in [*summary.lines, f"store {summary.store}: {_store_line(facts)}", *cost_lines(facts)]:
        out().print(line)


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
