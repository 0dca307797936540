"""``lnlab report``: page, notebook, figures and tables of a run, from the store alone; no torch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.cli.codes import FAILED
from lnlab.cli.options import AsJson, Folder, MaybeSpec, Overrides, Plugins, Profile, Quiet
from lnlab.cli.request import Request, kept, last, open_store
from lnlab.cli.terminal import count, err, one_line, out, print_json
from lnlab.errors import Problem, ReportError

if TYPE_CHECKING:
    from lnlab.store.plans import Stored

EXAMPLE = "Example: [bold]lnlab report specs/xiong_fig3.yaml --out reports/fig3[/bold]"


def report(
    overrides: Overrides,
    folder: Folder,
    plugins: Plugins,
    spec: MaybeSpec = None,
    profile: Profile = None,
    target: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; reports/<spec>/<profile> if not given."),
    ] = None,
    single_file: Annotated[bool, typer.Option("--single-file", help="Put scripts into the page: one file.")] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write every figure as PDF as well.")] = False,
    templates: Annotated[
        Path | None, typer.Option("--templates", metavar="FOLDER", help="Your own templates, asked first.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write page, notebook, figures and tables.

    Of SPEC, or of the last run of this store. Nothing is computed. Exit codes: 0 done; 1 a section could not be made,
    and the page says why in its place; 2 the command is wrong.
    """
    store = open_store(folder)
    if spec is None and (profile or overrides):
        raise ReportError(Problem("lnlab report", "--profile and -s go with a spec", "name the spec"))
    stored = kept(store, Request(spec, profile, tuple(overrides), tuple(plugins))) if spec else last(store)
    _refuse_undecided(stored)
    _refuse_without_plugins(stored, plugins)

    from lnlab.cli.judging import judged
    from lnlab.report.facts import from_json
    from lnlab.report.write import report_folder, write_report

    results = store.results(stored.digest)
    verdicts = judged(store, stored, results, plugins)
    facts = from_json(stored.facts["report"], stored.spec)
    into = target or report_folder(Path("reports"), stored.name, stored.profile)
    made = write_report(into, facts, results, verdicts, single_file=single_file, pdf=pdf, templates=templates)
    if as_json:
        print_json([file.as_posix() for file in made.files])
    else:
        out().print(made.files[0].as_posix())
    if not (quiet or as_json):
        err().print(f"{count(len(made.files), 'file')} in {into.as_posix()}")
    for part in made.unmade:
        called = f"section {part.number} “{part.title}”" if part.title else f"section {part.number}"
        err().print(one_line(f"{spec or stored.spec}: {called} could not be made: {part.error}"))
    if made.unmade:
        raise typer.Exit(FAILED)


def _refuse_undecided(stored: "Stored") -> None:
    """Tuning runs choose; they show nothing."""
    if stored.undecided:
        what = "only tuning runs are there, and nothing is chosen yet"
        raise ReportError(Problem(stored.spec, what, f"lnlab run {stored.spec} goes on from here"))


def _refuse_without_plugins(stored: "Stored", plugins: list[Path]) -> None:
    """A run made with a plugin is reported with it: its claims and sections may be the plugin's."""
    used = stored.facts["report"]["plugins"]
    if used and not plugins:
        flags = " ".join(f"--with {path}" for path in used)
        raise ReportError(Problem("lnlab report", f"this run was made with {', '.join(used)}", f"add {flags}"))
