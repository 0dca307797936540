"""``lnlab watch``: recorded runs while they go on."""

import time
from pathlib import Path
from typing import Annotated

import typer

from lnlab.cli.options import AsJsonOption
from lnlab.cli.terminal import one_line, out, print_json
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.userfiles import user_path

WATCH_EXAMPLE = "Example: [bold]lnlab watch runs[/bold]; of a store, [bold]lnlab status --watch[/bold]"


def watch_runs(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER...", parser=user_path, help="Folders of recorded runs, or that hold some."),
    ],
    once: Annotated[bool, typer.Option("--once", help="Print how far they are, and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=0.1, metavar="SECONDS", help="How often to look.")] = 5.0,
    as_json: AsJsonOption = False,
) -> None:
    """Show recorded runs while they go on: steps, and loss, gradient norm and attention logits as sparklines.

    A curve that jumps is marked. Runs are those of lnlab.Recorder; it ends when all are closed, or by Ctrl-C.
    """
    from lnlab.app.watching_runs import watched_recordings

    while True:
        runs = watched_recordings(folders)
        if not runs:
            names = ", ".join(folder.as_posix() for folder in folders)
            what = f"no recorded run is in {names}"
            raise LabError(Issue("not-found", "lnlab watch", what, "name folders of lnlab.Recorder"))
        if as_json:
            print_json([run.to_json() for run in runs])
        else:
            if out().is_terminal and not once:
                out().clear()
            for line in (line for run in runs for line in run.lines()):
                indent = line[: len(line) - len(line.lstrip())]
                out().print(indent + one_line(line), markup=False, highlight=False)
        if once or as_json or all(run.status != "running" for run in runs):
            return
        time.sleep(every)
