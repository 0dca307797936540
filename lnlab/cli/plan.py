"""``lnlab plan``: what a run would compute and what it would cost, like a database's EXPLAIN."""

from typing import Annotated, Any

import typer

from lnlab.app.formats import format_count, format_duration, format_quantity
from lnlab.app.planning.summary import plan_request
from lnlab.app.request import open_store, request_for
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Spec, StoreFolder
from lnlab.cli.terminal import out, print_json

_LISTED = ("variant ", "claim ", "section ")
"""How the lines begin that are many."""
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
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List variants, claims and sections too.")] = False,
    as_json: AsJsonOption = False,
) -> None:
    """Show what a run would cost, and what it would compute.

    Prints expected time, memory and compute, then runs by axis, what is cached, and what must be computed and why.
    """
    request = request_for(spec, profile, overrides, plugins)
    store = open_store(folder, spec)
    summary = plan_request(request, store, workers=workers)
    facts = summary.as_plain()
    if as_json:
        print_json(facts)
        return
    lines = [line for line in summary.lines if verbose or not line.startswith(_LISTED)]
    units, measurements = facts["units"], facts["measurements"]
    stored = [f"store {summary.store}: holds everything; a run would compute nothing"]
    if units["missing"]:
        held = f"{measurements['distinct'] - measurements['missing']:,}"
        distinct = format_count(measurements["distinct"], "measurement")
        to_do = format_count(units["missing"], "unit")
        stored = [f"store {summary.store}: holds {held} of {distinct}; {to_do} to do"]
        stored += [f"  {format_count(number, 'unit')}: {why}" for why, number in facts["why"].items()]
    for line in [*cost_lines(facts), *lines, *stored]:
        out().print(line)
    for line in facts["review"]:
        out().print(f"review {line}", markup=False)


def cost_lines(facts: dict[str, Any]) -> list[str]:
    """The costs of the plan, a line each, and the number of seeds that its claims are judged on."""
    least, most = (format_quantity(number, "") for number in facts["parameters"])
    flops = facts["flops"]
    seeds = sorted({claim["n"] for claim in facts["claims"]})
    judged = "" if not seeds else f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    memory = facts["memory"]
    bound = format_quantity(memory["bound_bytes"], "B")
    room = [f"about {format_quantity(facts['peak_bytes'], 'B')} per worker at the peak"]
    if memory["make_graphs_anew"]:
        of = format_count(memory["make_graphs_anew"] + memory["keep_graphs"], "measurement")
        room.append(f"graphs of {memory['make_graphs_anew']:,} of {of} recomputed")
        room += [f"to stay within {bound}"] if memory["fits"] else []
    elif memory["keep_graphs"]:
        room.append(f"graphs kept, within {bound}")
    if not memory["fits"]:
        whose = "the largest GPU" if memory["on_gpus"] else "this machine"
        room.append(f"more than the {format_quantity(memory['machine_bytes'], 'B')} of {whose}")
    elif memory["workers_spared"]:
        room.append(f"{format_count(facts['workers'], 'worker')} at once, as memory is for no more")
    return [
        f"time: {expected_time(facts)}",
        f"memory: {', '.join(room)}",
        f"compute: {format_quantity(flops['missing'], 'FLOP')} of {format_quantity(flops['all'], 'FLOP')} to do",
        f"parameters: {least if least == most else f'{least} to {most}'}",
        *([f"{format_count(len(facts['claims']), 'claim')} judged on {judged} seeds"] if judged else []),
        *([facts["note"]] if facts["note"] else []),
    ]


def expected_time(facts: dict[str, Any]) -> str:
    """How long a run would take, and the source of the estimate."""
    if not facts["units"]["missing"]:
        return "none"
    workers = format_count(facts["workers"], "worker")
    if facts["seconds"] is None:
        return str(facts["seconds_known"])
    later = facts["later_seconds"]
    runs = f"about {format_duration(facts['seconds'])}"
    if later is not None:
        runs = f"about {format_duration(facts['seconds'] + later)}, {format_duration(later)} of it for the judged runs,"
    return f"{runs} on {workers}, {facts['seconds_known']}"
