"""``lnlab push`` and ``lnlab pull``: the finished runs of a spec sent to another place, and taken from there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.request import open_store, request_for
from lnlab.app.stored_plans import stored_plan
from lnlab.cli.options import Overrides, Plugins, Profile, Quiet, Spec, StoreFolder
from lnlab.cli.terminal import err, out
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.project import read_project

PUSH_EXAMPLE = "Example: [bold]lnlab push specs/xiong_fig3.yaml s3://bucket/runs[/bold]"
PULL_EXAMPLE = "Example: [bold]lnlab pull specs/xiong_fig3.yaml /shared/runs[/bold], then [bold]lnlab report[/bold]"
_GIB = 2**30


def push(
    spec: Spec,
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="[DESTINATION]",
            help="A folder, or s3://, gs://, hf://, ssh:// ... as fsspec reaches it; as lnlab.toml says if not given.",
        ),
    ] = None,
    profile: Profile = None,
    quiet: Quiet = False,
) -> None:
    """Send the finished runs of a spec to another place, so that nobody has to compute them again.

    Sends the rows of every finished unit, tuning runs included. A diverged run counts as finished. Logs, checkpoints,
    settings and paths of this machine are not sent. Only what is missing there is sent, so an interrupted push resumes.
    Nothing there is ever changed or removed, so several people may push at once.
    """
    from lnlab.app.stores.pushing import push_units
    from lnlab.store.remote import open_remote

    store = open_store(folder, spec)
    remote = open_remote(_place(spec, destination))
    stored = stored_plan(store, request_for(spec, profile, overrides, plugins))
    with _bytes_shown("sent", quiet=quiet) as show:
        pushed = push_units(store, stored, remote, show)
    if pushed.unfinished:
        err().print(f"{format_count(pushed.unfinished, 'unit')} left out: not finished")
    what = f"{format_count(pushed.sent, 'pack')} ({format_quantity(pushed.size, 'B')})" if pushed.sent else "nothing"
    out().print(f"{format_count(pushed.units, 'unit')} at {remote.url}; {what} sent")


def pull(
    spec: Spec,
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="A report, or what lnlab push wrote to: a folder or a URL; as lnlab.toml says if not given.",
        ),
    ] = None,
    profile: Profile = None,
    limit: Annotated[
        float,
        typer.Option(
            "--limit", min=0.001, metavar="GIB", help="Refuse to read more than this, rows counted as in memory."
        ),
    ] = 2.0,
    quiet: Quiet = False,
) -> None:
    """Take the runs that a spec lacks from another place, or from a report, into the store.

    A report brings what was chosen on its tuning seeds, and how often its claims were judged, as well.

    The place is not trusted: names there are digests and nothing else, sizes are checked before anything is read, and
    every row must have the digest in the index of its pack. The spec is compiled here, and a unit is taken under the
    key that follows from it with the pieces and corpora of this machine. What was computed with another version of a
    piece, or on another corpus, has another key and is not taken. Units that the store has are not changed. A refused
    pull leaves the store as it was. After a signal or a lost connection the same command resumes. Only computing again
    shows that the numbers are right: lnlab verify --level 2.
    """
    from lnlab.app.stores.pulling import pull_report, pull_units
    from lnlab.report.contents import is_report
    from lnlab.store.remote import open_remote

    store = open_store(folder, spec)
    place = _place(spec, source)
    request = request_for(spec, profile, overrides, plugins)
    if is_report(Path(place)):
        pulled = pull_report(store, request, Path(place), int(limit * _GIB))
    else:
        with _bytes_shown("arrived", quiet=quiet) as show:
            pulled = pull_units(store, request, open_remote(place), int(limit * _GIB), show)
    out().print(f"{format_count(pulled.new, 'unit')} pulled, {pulled.present:,} in the store already")
    if pulled.absent:
        err().print(f"{format_count(pulled.absent, 'unit')} not there: {request.command('run')} computes the rest")


def _place(spec: Path, named: str | None) -> str:
    """The place that was named, else the remote of the project."""
    place = named or read_project(spec.parent).remote
    if place is None:
        what = "no place is named, and no lnlab.toml beside the spec or above has one"
        raise LabError(
            Issue("out-of-range", str(spec), what, 'name a folder or a URL, or write remote = "..." into lnlab.toml')
        )
    return place


@contextmanager
def _bytes_shown(what: str, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A line that counts bytes, on a terminal. It is called with the number of new ones."""
    # Late: no other command counts bytes.
    from rich.progress import DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = err()
    columns = TextColumn("{task.description}", markup=False), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda number: bars.advance(task, number)
