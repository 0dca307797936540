"""``lnlab results``: the numbers of a run as one table for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.app.request import Request, request_for
from lnlab.app.results_file import refuse_ending, results_of, write_table
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, StoreFolder
from lnlab.cli.terminal import err, one_line, out, print_json, terminal_table
from lnlab.printable import shown_path
from lnlab.userfiles import user_path

RESULTS_EXAMPLE = "Example: [bold]lnlab results specs/xiong_fig3.yaml --out table.parquet[/bold]"


def results_of_spec(
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC", parser=user_path, help="A spec; or the folder of a report, or of recorded runs."
        ),
    ],
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    into: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", parser=user_path, help="Ends in .parquet, .csv or .json; without it, a list."
        ),
    ] = None,
    quantity: Annotated[
        str | None,
        typer.Option(
            "--quantity", metavar="NAME", help="Stored or derived; or a table: runs, histograms, spectra, texts."
        ),
    ] = None,
    profile: Profile = None,
    as_json: AsJsonOption = False,
) -> None:
    """Write a run's numbers as one table.

    A row a number, with the axes of the sweep, the seed, the step and the place as columns. Without --out, list what
    was measured. docs/reading_results.md reads such files with polars, duckdb and pandas.
    """
    if into is not None:
        refuse_ending(into)
    # A folder has no spec whose project could name a profile.
    request = Request(spec, profile, tuple(overrides)) if spec.is_dir() else None
    measured, words = results_of(request or request_for(spec, profile, overrides, plugins), folder)
    if into is None:
        listed = [
            {"quantity": name, "table": table, "rows": number}
            for table, names in measured.row_counts().items()
            for name, number in names.items()
        ]
        listed += [
            {"quantity": None, "table": table, "rows": number} for table, number in measured.other_tables().items()
        ]
        if as_json:
            print_json(listed)
        else:
            cells = [[one_line(str(row["quantity"] or "")), str(row["table"]), f"{row['rows']:,}"] for row in listed]
            out().print(terminal_table(["quantity", "table", "rows"], cells, numeric=["rows"]))
        return
    from lnlab.report.tidy import described_columns, tidy_rows

    rows = tidy_rows(measured, quantity)
    described = described_columns(measured, rows, words)
    notes = write_table(rows, described, into)
    import polars as pl

    number = rows.select(pl.len()).collect(engine="streaming").item()
    if as_json:
        print_json({"file": shown_path(into), "rows": number, "columns": described})
    else:
        columns = one_line(", ".join(described))
        out().print(f"{one_line(shown_path(into))}: {format_count(number, 'row')}: {columns}", markup=False)
    if number == 0 and quantity is None and (others := measured.other_tables()):
        # A probe of spectra or histograms alone stores no single numbers; an empty file would look like a lost run.
        hint = " or ".join(f"--quantity {table} ({format_count(held, 'row')})" for table, held in others.items())
        notes = [*notes, f"no single numbers were measured; take {hint}"]
    for note in notes:
        err().print(f"{one_line(shown_path(into))}: {note}", markup=False)
