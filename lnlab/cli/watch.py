"""``lnlab watch``: runs while they go on, recorded and computed."""

import time
from pathlib import Path
from typing import Annotated

import typer

from lnlab.cli.options import AsJsonOption, StoreFolder
from lnlab.cli.terminal import one_line, out, print_json
from lnlab.userfiles import user_path

WATCH_EXAMPLE = "Example: [bold]lnlab watch runs[/bold], [bold]lnlab watch specs/xiong_fig3.yaml[/bold]"
BETWEEN_LOOKS = 5.0
"""Seconds."""


def watch_runs(
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER|SPEC...",
            parser=user_path,
            help="Folders of recorded runs, stores, specs, or folders that hold some.",
        ),
    ],
    folder: StoreFolder,
    once: Annotated[bool, typer.Option("--once", help="Print how far they are, and end.")] = False,
    as_json: AsJsonOption = False,
) -> None:
    """Show runs while they go on: steps, and loss, gradient norm and attention logits as sparklines.

    A curve that jumps is marked. Runs are those of lnlab.Recorder, and those that lnlab run computes in any process
    that shares the store. It ends when nothing is left to do, or by Ctrl-C.
    """
    from lnlab.app.watching_runs import Watch

    watch = Watch(places, folder)
    while True:
        runs = watch.look()
        if as_json:
            print_json([run.to_json() for run in runs])
        else:
            if out().is_terminal and not once:
                out().clear()
            for line in (line for run in runs for line in run.lines()):
                indent = line[: len(line) - len(line.lstrip())]
                out().print(indent + one_line(line), markup=False, highlight=False)
        if once or as_json or all(run.over for run in runs):
            return
        time.sleep(BETWEEN_LOOKS)
