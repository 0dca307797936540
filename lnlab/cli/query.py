"""``lnlab query``: one SELECT over the tables of an experiment, in memory; it can neither read nor change a file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.cli.options import AsJson, Folder, Overrides, Plugins, Profile
from lnlab.cli.request import Request, kept, last, open_store
from lnlab.cli.terminal import one_line, out, print_json, table
from lnlab.errors import LabError, Problem
from lnlab.userfiles import user_path

if TYPE_CHECKING:
    import polars as pl

EXAMPLE = (
    "Example: [bold]lnlab query \"SELECT tensor, layer, avg(value) FROM sites WHERE quantity = 'gradient_norm' "
    'GROUP BY tensor, layer"[/bold]'
)
WHERE = "lnlab query"
_BEGINNING = re.compile(r"[\s(]*(select|with|show|explain)\b", re.IGNORECASE)
_READER = re.compile(r"\b(read|scan)_\w+", re.IGNORECASE)
_SCAN = re.compile(r"^\W*\w+ SCAN \[", re.MULTILINE)


def query(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; SHOW TABLES lists the tables.")],
    overrides: Overrides,
    folder: Folder,
    plugins: Plugins,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", metavar="SPEC", parser=user_path, help="Of this spec; of the last run if not given."),
    ] = None,
    profile: Profile = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Ask the tables of a run in SQL.

    The tables are runs, axes, sites, curves, verdicts and more. Nothing can be changed, and no file read.
    """
    store = open_store(folder)
    stored = kept(store, Request(spec, profile, tuple(overrides), tuple(plugins))) if spec else last(store)
    results = store.results(stored.digest)
    frames = {"runs": results.runs, "axes": results.axes, **results.tables}
    found = answer(statement, {**frames, "verdicts": store.verdicts(stored.digest)})
    if as_json:
        print_json(found.to_dicts())
    elif as_csv:
        out().out(found.write_csv(), end="", highlight=False)
    else:
        rows = [[_cell(value) for value in row] for row in found.iter_rows()]
        numeric = [name for name, kind in found.schema.items() if kind.is_numeric()]
        out().print(table(found.columns, rows, numeric=numeric))


def answer(statement: str, frames: "Mapping[str, pl.DataFrame]") -> "pl.DataFrame":
    """The rows that ``statement`` selects from ``frames``.

    Raises:
        LabError: the statement does anything but select from these tables, or is not SQL that Polars knows.
    """
    import polars as pl

    tables = f"the tables are {', '.join(sorted(frames))}"
    if not _BEGINNING.match(statement):
        raise LabError(Problem(WHERE, "this statement does not select anything", f"begin with SELECT; {tables}"))
    if reads := _READER.search(statement):
        raise LabError(Problem(WHERE, f"'{reads[0]}' reads files, and a query may not", tables))
    try:
        selected = pl.SQLContext(frames=dict(frames)).execute(statement)
        if _SCAN.search(selected.explain(optimized=False)):
            raise LabError(Problem(WHERE, "this statement reads files, and a query may not", tables))
        return selected.collect()
    except pl.exceptions.PolarsError as error:
        raise LabError(Problem(WHERE, str(error).partition("\n")[0], tables)) from error


def _cell(value: object) -> str:
    """A value in a table: a number to six digits, nothing for null."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else one_line(str(value))
