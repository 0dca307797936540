"""``lnlab gc``: what of a store no spec and no lock leads to, removed with --delete."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.request import open_store
from lnlab.cli.options import AsJsonOption, StoreFolder
from lnlab.cli.terminal import err, one_line, out, print_json
from lnlab.userfiles import user_path

GC_EXAMPLE = (
    "Example: [bold]lnlab gc[/bold], then [bold]lnlab gc --delete[/bold]; of other folders: "
    "[bold]lnlab gc papers/*/specs[/bold]"
)


def gc(
    folder: StoreFolder,
    places: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PLACE...]", parser=user_path, help="Specs and locks, or their folders; . and specs if not given."
        ),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove it; without this, nothing is touched.")] = False,
    as_json: AsJsonOption = False,
) -> None:
    """List what the store holds for no spec and no lock, and remove it with --delete.

    An experiment stays where the text of its spec is that of a spec in PLACE or of the file that it was run from, or
    where a lock names its spec or one of its variants. All others go, with the runs that no remaining experiment needs.
    A run on which another lnlab works stays. The command can be killed at any
    time: the store stays intact, and the same command resumes.

    Exit codes: 0 done; 2 the command is wrong, or another lnlab works on this store.
    """
    from lnlab.app.stores.reachability import find_garbage, read_anchors, remove_unreached

    store = open_store(folder)
    garbage = find_garbage(store, read_anchors(places or ()))
    removal = remove_unreached(store, garbage) if delete else None
    if as_json:
        plans = [
            {
                "name": entry.plan.name,
                "spec": entry.plan.spec,
                "profile": entry.plan.profile,
                "plan": entry.plan.digest,
                "reason": entry.reason,
            }
            for entry in garbage.plans
        ]
        print_json(
            {
                "experiments": plans,
                "units": dict(garbage.trajectories),
                "remaining": garbage.remaining,
                "size": garbage.size,
                "removed": removal is not None,
                "held": list(removal.leased) if removal else [],
                "damaged": list(removal.damaged) if removal else [],
            }
        )
        return
    for entry in garbage.plans:
        profile = f" --profile {entry.plan.profile}" if entry.plan.profile else ""
        overrides = "".join(f" -s {override}" for override in entry.plan.overrides)
        out().print(one_line(f"{entry.plan.name}{profile}{overrides}: {entry.reason} ({entry.plan.spec})"))
    size, total = (format_quantity(number, "B") for number in (sum(garbage.trajectories.values()), garbage.size))
    units = format_count(len(garbage.trajectories), "unit")
    what = f"{format_count(len(garbage.plans), 'experiment')}, {units}, {size} of {total}"
    if garbage.is_empty:
        out().print(f"nothing to remove; {format_count(garbage.remaining, 'experiment')} kept")
    elif removal is None:
        out().print(f"would remove {what}; {format_count(garbage.remaining, 'experiment')} kept")
        err().print("nothing was removed: lnlab gc --delete removes it")
    else:
        out().print(f"removed {what}; {format_count(garbage.remaining, 'experiment')} kept")
    if removal is not None:
        if removal.leased:
            err().print(f"{format_count(len(removal.leased), 'unit')} stay: another lnlab works on them")
        for sentence in removal.damaged:
            err().print(one_line(f"a pack was left as it is: {sentence}"))
