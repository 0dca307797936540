"""``lnlab report``: page, notebook, figures and tables of a run (from the store) or of a report (from its rows)."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.reporting import plan_report_folder, write_plan_report
from lnlab.app.request import open_store, request_for
from lnlab.app.stored_plans import last_plan, stored_plan
from lnlab.app.table_specs import refuse_overrides, states_results
from lnlab.cli.codes import FAILED
from lnlab.cli.drawn import DrawingOptions, print_report
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Quiet, StoreFolder
from lnlab.cli.table_specs import report_table_spec
from lnlab.cli.terminal import err, one_line, print_json
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.printable import shown_path
from lnlab.userfiles import user_path

REPORT_EXAMPLE = (
    "Example: [bold]lnlab report specs/xiong_fig3.yaml --out reports/fig3[/bold]; without a store, from the rows "
    "of reports: [bold]lnlab report --from reports/*/real[/bold]"
)


def report_run(
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SPEC]",
            parser=user_path,
            help="The spec; without it, the last run of this store.",
            show_default=False,
        ),
    ] = None,
    profile: Profile = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="A report to redraw from its own rows; several may follow."),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; reports/<spec>/<profile> if not given."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over the report of another question.")] = False,
    single_file: Annotated[bool, typer.Option("--single-file", help="Write the page as one file.")] = False,
    lean: Annotated[
        bool,
        typer.Option("--lean", help="Only the page and its data, as a repository keeps them: no notebook, no tables."),
    ] = False,
    png: Annotated[bool, typer.Option("--png", help="Write every figure as PNG as well.")] = False,
    as_json: AsJsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Write page, notebook, figures and tables.

    Of SPEC, or of the last run of this store. Nothing is computed. A report is replaced whole or not at all. The folder
    of another question's report, which is of another file of a spec, is left alone without --replace.

    With --from, of the rows that a report holds in its folder data, without store and corpora, in any working folder:
    the claims of its spec as it is today are judged and its sections drawn. The spec is SPEC, or the file that the
    report names, below the working folder or a folder that holds the report, or the text that the report keeps.

    Exit codes: 0 done; 1 a section could not be made, and the page says why in its place; 2 the command is wrong.
    """
    if lean and png:
        raise ReportError(
            Issue("wrong-option", "lnlab report", "--lean leaves out the figures that --png asks for", "leave one out")
        )
    drawing = DrawingOptions(single_file=single_file, lean=lean, png=png, as_json=as_json, quiet=quiet)
    if source is not None:
        if profile or overrides:
            what = "--profile and -s are those of the report"
            raise ReportError(Issue("wrong-option", "lnlab report --from", what, "leave them out"))
        # Late: it imports all that judges and draws.
        from lnlab.cli.again import RedrawRequest, redraw

        reports = (source, *(paths or ()))
        request = RedrawRequest(reports, target, tuple(plugins), replace=replace)
        raise typer.Exit(redraw(request, drawing))
    if len(paths or ()) > 1:
        remedy = "name one spec, or reports with --from"
        raise ReportError(Issue("wrong-option", "lnlab report", "one report is of one spec", remedy))
    spec = paths[0] if paths else None
    if spec is not None and states_results(spec):
        refuse_overrides(spec, profile, overrides)
        raise typer.Exit(report_table_spec(spec, target, drawing, replace=replace))
    store = open_store(folder, spec)
    if spec is None and (profile or overrides):
        raise ReportError(Issue("wrong-option", "lnlab report", "--profile and -s go with a spec", "name the spec"))
    stored = stored_plan(store, request_for(spec, profile, overrides, plugins)) if spec else last_plan(store)
    into = target or plan_report_folder(stored)
    written_report = write_plan_report(store, stored, into, plugins, spec, replace=replace, drawing=drawing)
    print_report(written_report, into, str(spec or stored.spec), drawing)
    from lnlab.compile.digests import unchanged  # late, as is what it is made of

    changed = [file.path for file in stored.inputs if Path(file.path).is_file() and not unchanged([file])]
    if changed and not (drawing.quiet or as_json):
        command = request_for(spec or user_path(stored.spec), stored.profile, stored.overrides, plugins).command("run")
        what = f"{shown_path(changed[0])} has changed since this was run"
        err().print(one_line(f"note: {what}; {command} computes it again"))
    if as_json:
        print_json([file.as_posix() for file in written_report.files])
    raise typer.Exit(FAILED if written_report.failed else 0)
