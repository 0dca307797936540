"""``lnlab query``: one SELECT over the tables of an experiment, in memory; it can neither read nor change a file."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.cli.options import AsJson, Folder, Overrides, Plugins, Profile
from lnlab.cli.terminal import out, print_json, table
from lnlab.errors import LabError, Problem

if TYPE_CHECKING:
    import polars as pl

_BEGINNING = re.compile(r"\s*\(*\s*(select|with|show|explain|describe)\b", re.IGNORECASE)
_READER = re.compile(r"\b(read|scan)_\w+", re.IGNORECASE)
_SCAN = re.compile(r"^\W*\w+ SCAN \[", re.MULTILINE)


def answer(statement: str, frames: Mapping[str, "pl.DataFrame"]) -> "pl.DataFrame":
    """The rows that ``statement`` selects from ``frames``.

    Raises:
        LabError: the statement does anything but select from these tables, or is not SQL that Polars knows.
    """
    import polars as pl

    where = "lnlab query"
    tables = f"the tables are {', '.join(sorted(frames))}"
    if not _BEGINNING.match(statement):
        raise LabError(Problem(where, "this statement does not select anything", f"begin with SELECT; {tables}"))
    reads = _READER.search(statement)
    if reads:
        raise LabError(Problem(where, f"'{reads[0]}' reads files, and a query may not", tables))
    try:
        selected = pl.SQLContext(frames=dict(frames)).execute(statement)
        if _SCAN.search(selected.explain(optimized=False)):
            raise LabError(Problem(where, "this statement reads files, and a query may not", tables))
        return selected.collect()
    except pl.exceptions.PolarsError as error:
        raise LabError(Problem(where, str(error).partition("\n")[0], tables)) from error
