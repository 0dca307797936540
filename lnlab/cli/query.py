"""``lnlab query``: one SELECT over the tables of an experiment, in memory; it can neither read nor change a file."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.query_views import QUERY_VIEWS, column_types, described_table, named_views
from lnlab.app.request import last_plan, open_store, request_for, stored_plan
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, StoreFolder
from lnlab.cli.terminal import err, one_line, out, print_json, terminal_table
from lnlab.errors import LabError, Problem, nearest
from lnlab.userfiles import user_path

if TYPE_CHECKING:
    import polars as pl

QUERY_EXAMPLE = (
    "Example: [bold]lnlab query \"SELECT tensor, layer, avg(value) FROM sites WHERE quantity = 'gradient_norm' "
    'GROUP BY tensor, layer"[/bold]'
)
QUERY_COMMAND = "lnlab query"
_BEGINNING = re.compile(r"[\s(]*(select|with|show|explain)\b", re.IGNORECASE)
_READER = re.compile(r"\b(read|scan)_\w+", re.IGNORECASE)
QUERY_SECONDS = 30
MAX_QUERY_ROWS = 10_000
QUERY_MEMORY = 4 * 2**30
"""Bytes beyond those of the tables."""


def query(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; or SHOW TABLES, or DESCRIBE TABLE.")],
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", metavar="SPEC", parser=user_path, help="Of this spec; of the last run if not given."),
    ] = None,
    profile: Profile = None,
    as_json: AsJsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    seconds: Annotated[
        int, typer.Option("--timeout", min=1, max=1_000_000, metavar="SECONDS", help="End the query after this time.")
    ] = QUERY_SECONDS,
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="ROWS", help="Print at most so many rows.")
    ] = MAX_QUERY_ROWS,
) -> None:
    """Query a run's results with SQL.

    The table results has every number with the axes of the sweep as columns, derived the derived quantities; others
    are runs, axes, sites, curves, verdicts and more. Nothing can be changed, and no file read.
    """
    store = open_store(folder, spec)
    stored = stored_plan(store, request_for(spec, profile, overrides, plugins)) if spec else last_plan(store)
    results = store.results(stored.digest)
    measured = {name: results.lazy(name) if name in results.scans else results.tables[name] for name in results.tables}
    tables = {
        "runs": results.runs,
        "axes": results.axes,
        **measured,
        "verdicts": store.verdicts(stored.digest),
        **named_views(statement, results),
    }
    selected, more = select_rows(statement, tables, seconds=seconds, limit=limit)
    if as_json:
        print_json(selected.to_dicts())
    elif as_csv:
        out().out(selected.write_csv(), end="", highlight=False)
    else:
        rows = [[_cell(value) for value in row] for row in selected.iter_rows()]
        numeric = [name for name, kind in selected.schema.items() if kind.is_numeric()]
        out().print(terminal_table(selected.columns, rows, numeric=numeric))
    if more:
        err().print(f"the first {format_count(limit, 'row')}; there are more: --limit ROWS prints them")


def select_rows(
    statement: str,
    frames: "Mapping[str, pl.DataFrame | pl.LazyFrame]",
    *,
    seconds: int = QUERY_SECONDS,
    limit: int | None = None,
) -> "tuple[pl.DataFrame, bool]":
    """The rows that ``statement`` selects from ``frames``, and whether there are more than ``limit``.

    What lies in files is scanned there, and only what the statement takes of it is read.

    Raises:
        LabError: the statement does anything but select from these tables, is not SQL that Polars knows, or takes more
            time or memory than it may.
    """
    tables = f"the tables are {', '.join(sorted({*frames, *QUERY_VIEWS}))}"
    if name := described_table(statement):
        if name not in frames:
            raise LabError(
                Problem(QUERY_COMMAND, f"there is no table '{name}'", nearest(name, sorted({*frames, *QUERY_VIEWS})))
            )
        return column_types(frames[name]), False
    if not _BEGINNING.match(statement):
        raise LabError(
            Problem(QUERY_COMMAND, "this statement does not select anything", f"begin with SELECT; {tables}")
        )
    if reads := _READER.search(statement):
        raise LabError(Problem(QUERY_COMMAND, f"'{reads[0]}' reads files, and a query may not", tables))
    with TemporaryDirectory(prefix="lnlab-query-") as folder:
        return _select_in_process(statement, frames, Path(folder), seconds, limit, tables)


def _select_in_process(
    statement: str,
    frames: "Mapping[str, pl.DataFrame | pl.LazyFrame]",
    folder: Path,
    seconds: int,
    limit: int | None,
    tables: str,
) -> "tuple[pl.DataFrame, bool]":
    """The rows that a separate process selects, which is killed when time is up or the user interrupts."""
    import polars as pl

    paths = {name: str(folder / f"{number}.arrow") for number, name in enumerate(frames)}
    scans = [name for name, frame in frames.items() if isinstance(frame, pl.LazyFrame)]
    result = folder / "result.arrow"
    request = {"statement": statement, "tables": paths, "scans": scans, "result": str(result), "limit": limit}
    request |= {"seconds": seconds, "memory": QUERY_MEMORY}
    command = [sys.executable, "-P", str(Path(__file__).parents[1] / "app" / "sql.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603 - ours
        try:
            _write_tables(statement, frames, paths)  # while the process loads Polars
            output, errors = process.communicate(json.dumps(request), timeout=seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            what, remedy = f"no answer within {seconds} s", "simplify the statement, or give more time with --timeout"
            raise LabError(Problem(QUERY_COMMAND, what, remedy)) from error
        except BaseException:
            process.kill()
            raise
    if process.returncode < 0:  # Polars aborts where memory is refused, and a stack that is too deep is a fault
        what = f"it needs more than {format_quantity(QUERY_MEMORY, 'B')} of memory, or is nested too deep"
        raise LabError(Problem(QUERY_COMMAND, what, "simplify the statement, or select fewer rows"))
    if process.returncode:
        raise RuntimeError(errors)
    reply = json.loads(output)
    if "error" in reply:
        raise LabError(Problem(QUERY_COMMAND, reply["error"], tables))
    return pl.read_ipc(result), reply["more"]


def _write_tables(
    statement: str, frames: "Mapping[str, pl.DataFrame | pl.LazyFrame]", paths: Mapping[str, str]
) -> None:
    """Write each table to its file; one that the statement does not name is written without rows."""
    import polars as pl

    for name, frame in frames.items():
        if isinstance(frame, pl.LazyFrame):
            frame.serialize(paths[name])
        else:
            (frame if name.lower() in statement.lower() else frame.clear()).write_ipc(paths[name])


def _cell(value: object) -> str:
    """A value in a table: a number to six digits, nothing for null."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else one_line(str(value))
