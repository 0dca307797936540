"""``lnlab data``: which corpora there are, and how they get here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from lnlab.app.request import registries
from lnlab.cli.options import AsJson, Plugins, Quiet
from lnlab.cli.terminal import err, out, print_json, quantity, table

if TYPE_CHECKING:
    from lnlab.corpora.files.fetch import Progress as Report

data = typer.Typer(
    help="Corpora: which there are, and how they get here.",
    epilog="Example: [bold]lnlab data list[/bold]",
    no_args_is_help=True,
)


@data.command("list", epilog="Example: [bold]lnlab data list --json[/bold]")
def list_corpora(plugins: Plugins, as_json: AsJson = False) -> None:
    """List the corpora that a spec may name, and the vocabularies of tokenizers that come with one.

    Where they lie, their licence, and who made them.
    """
    registries(plugins)
    from dataclasses import asdict

    from lnlab.corpora.files.fetch import data_roots
    from lnlab.corpora.listing import listing

    found = listing(data_roots(Path()))
    if as_json:
        print_json([asdict(each) for each in found])
        return
    rows = [
        [
            each.name,
            "absent, can be fetched" if each.state == "absent" and each.fetchable else each.state,
            quantity(each.size, "B") if each.size else "",
            each.licence,
            each.citation,
            each.folder or "",
        ]
        for each in found
    ]
    out().print(table(["corpus", "state", "size", "licence", "citation", "folder"], rows, numeric=["size"]))


@data.command(epilog="Example: [bold]lnlab data fetch multi30k[/bold]")
def _fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The corpus.")],
    plugins: Plugins,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FOLDER", help="A data folder; your own if not given.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Download and verify a corpus or a vocabulary.

    It is put where every spec finds it; what is there already is left alone.
    """
    registries(plugins)
    from lnlab.corpora.listing import fetch_corpus

    with _downloads(quiet=quiet) as report:
        files = fetch_corpus(name, into, report)
    for file in files:
        out().print(str(file))


@contextmanager
def _downloads(*, quiet: bool) -> "Iterator[Report]":
    """A bar for each file, on a terminal."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    console = err()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bars:
        tasks = {}

        def report(name: str, here: int, size: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=size)
            bars.update(tasks[name], completed=here)

        yield report
