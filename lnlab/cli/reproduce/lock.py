"""``lnlab lock``: what a committed report says, in one small file beside its spec."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.cli.options import Plugins, Quiet
from lnlab.cli.terminal import err, out
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.userfiles import user_path

LOCK_EXAMPLE = (
    "Example: [bold]lnlab lock specs/xiong_fig3.yaml --profile real[/bold]; all specs: [bold]lnlab lock --all[/bold]"
)


def lock(
    plugins: Plugins,
    specs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SPEC...]", parser=user_path, help="The specs whose reports are locked."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", metavar="NAME", help="The profile of the committed report.")
    ] = None,
    every_report: Annotated[
        bool, typer.Option("--all", help="Every spec in the folder that has a report of this profile (real).")
    ] = False,
    specs_folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where --all looks for specs.")
    ] = Path("specs"),
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FOLDER", help="The report; reports/<spec>/<profile> if not given."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write SPEC.lock: what the committed report of a spec says.

    It holds the digests of the spec and of every file of the report (page, notebook, figures, tables, data), each
    variant with its seeds and the digests of its rows, the verdicts with their estimates and 95 % intervals, the values
    that were chosen on tuning seeds, the machines and library versions the runs name, and the digests of lnlab's code
    and of the corpora. Commit it with the report: lnlab verify tells whether the two still agree.

    No store is needed: everything is read from the folder of the report.
    """
    from lnlab.record.locks.lock_report import write_lock
    from lnlab.record.registries import load_registries

    if every_report == bool(specs):
        raise LabError(
            Issue(
                "wrong-option", "lnlab lock", "name specs, or --all", "lnlab lock specs/xiong_fig3.yaml --profile real"
            )
        )
    if report is not None and len(specs or ()) != 1:
        raise LabError(Issue("wrong-option", "lnlab lock", "--report is of one spec", "name that spec"))
    if every_report:
        profile = profile or "real"
        from lnlab.record.locks.lock_report import specs_with_reports

        specs = list(specs_with_reports(specs_folder, profile))
        if not specs:
            what = f"no spec in {specs_folder.as_posix()} has a report of profile {profile}"
            raise LabError(
                Issue("wrong-option", "lnlab lock --all", what, "name the folder of the specs with --folder")
            )
    known = load_registries(plugins)
    changed = 0
    problems: list[Issue] = []
    for spec in specs or ():
        try:
            written = write_lock(spec, profile, known, folder=report)
        except LabError as error:
            problems += error.issues
            continue
        changed += written.changed
        out().print(written.lock.path.as_posix())
        for corpus in written.absent:
            err().print(f"{spec}: corpus {corpus} is not at hand; its digest is not in the lock")
    # Where no lock was written the problems say all.
    if not quiet and len(problems) < len(specs or ()):
        err().print(f"{format_count(len(specs or ()) - len(problems), 'lock')}, {changed} changed")
    if problems:
        raise LabError(*problems)
