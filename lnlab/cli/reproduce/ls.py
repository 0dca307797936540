"""``lnlab ls``: what a store holds, an experiment a line."""

from datetime import UTC, datetime

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.request import open_store
from lnlab.cli.options import AsJsonOption, StoreFolder
from lnlab.cli.terminal import err, out, print_json, terminal_table

LS_EXAMPLE = "Example: [bold]lnlab ls[/bold]; what could go: [bold]lnlab gc[/bold]"


def ls(folder: StoreFolder, as_json: AsJsonOption = False) -> None:
    """List the experiments that the store holds.

    For each version of each spec: profile and overrides, when it was used last, its size, how many runs are complete
    (they came to their own end), failed, partial or missing, and whether the spec is still what it was. Experiments
    share runs, and both list the size of those. lnlab status tells why runs failed.
    """
    from lnlab.app.stores.usage import stored_experiments

    store = open_store(folder)
    experiments = stored_experiments(store)
    if as_json:
        print_json([experiment.to_json() for experiment in experiments])
        return
    rows = [
        [
            experiment.command,
            datetime.fromtimestamp(experiment.used, UTC).astimezone().strftime("%Y-%m-%d %H:%M"),
            format_quantity(experiment.size, "B"),
            ", ".join(f"{number:,} {word}" for word, number in experiment.runs.items()),
            f"{experiment.spec_now}{', tuning runs' if experiment.stored.undecided else ''}",
        ]
        for experiment in experiments
    ]
    if rows:
        out().print(terminal_table(["experiment", "last used", "size", "runs", "spec"], rows, numeric=["size"]))
    number, size = store.size()
    contents = f"{format_count(number, 'file')}, {format_quantity(size, 'B')}" if number else "empty"
    err().print(f"{store.root}: {contents}")
