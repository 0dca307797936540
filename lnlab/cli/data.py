"""``lnlab data``: list corpora and fetch them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.formats import format_quantity
from lnlab.cli.options import AsJsonOption, Plugins, Quiet
from lnlab.cli.terminal import err, out, print_json, terminal_table
from lnlab.committed.registries import load_registries

if TYPE_CHECKING:
    from lnlab.corpora.files.fetch import Progress as Report

data = typer.Typer(
    help="List and download corpora.",
    epilog="Example: [bold]lnlab data list[/bold]",
    no_args_is_help=True,
)


@data.command("list", epilog="Example: [bold]lnlab data list --json[/bold]")
def list_corpora(plugins: Plugins, as_json: AsJsonOption = False) -> None:
    """List the corpora that a spec may name, and the vocabularies of tokenizers that come with one.

    Where they lie, their licence, and who made them.
    """
    load_registries(plugins)
    # Late: the registries stand in for torch where it is not installed.
    from dataclasses import asdict

    from lnlab.corpora.files.fetch import data_roots
    from lnlab.corpora.listing import corpus_listings

    corpora = corpus_listings(data_roots(Path()))
    if as_json:
        print_json([asdict(corpus) for corpus in corpora])
        return
    rows = [
        [
            corpus.name,
            "absent, can be fetched" if corpus.state == "absent" and corpus.fetchable else corpus.state,
            format_quantity(corpus.size, "B") if corpus.size else "",
            corpus.licence,
            corpus.citation,
            corpus.folder or "",
        ]
        for corpus in corpora
    ]
    out().print(terminal_table(["corpus", "state", "size", "licence", "citation", "folder"], rows, numeric=["size"]))


@data.command("fetch", epilog="Example: [bold]lnlab data fetch multi30k[/bold]")
def _fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The corpus.")],
    plugins: Plugins,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FOLDER", help="A data folder; your own if not given.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Download and verify a corpus or a vocabulary.

    It is put where every spec finds it. What is there already is left alone.
    """
    load_registries(plugins)
    # Late, as above.
    from lnlab.corpora.listing import fetch_corpus

    with _downloads(quiet=quiet) as report:
        files = fetch_corpus(name, into, report)
    for file in files:
        out().print(str(file))


@contextmanager
def _downloads(*, quiet: bool) -> "Iterator[Report]":
    """A bar for each file, on a terminal."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TransferSpeedColumn,
    )  # late: slow to import

    columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    console = err()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bars:
        tasks = {}

        def report(name: str, received: int, size: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=size)
            bars.update(tasks[name], completed=received)

        yield report
