"""``lnlab lock``: what a committed report says, in one small file beside its spec."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.app.request import request_for
from lnlab.cli.options import Plugins, Quiet
from lnlab.cli.terminal import err, out
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.userfiles import user_path

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

LOCK_EXAMPLE = (
    "Example: [bold]lnlab lock specs/xiong_fig3.yaml --profile real[/bold]; all specs: [bold]lnlab lock --all[/bold]; "
    "before a run: [bold]lnlab lock --claims specs/xiong_fig3.yaml[/bold]"
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
    freeze: Annotated[
        bool, typer.Option("--claims", help="Freeze the criteria of the claims before a run, in SPEC.criteria.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write SPEC.lock: what the committed report of a spec says.

    It holds the digests of the spec and of every file of the report (page, notebook, figures, tables, rows), the
    verdicts with their estimates and 95 % intervals, and the looks at each claim. Commit it with the report: lnlab
    verify tells whether the two still agree.

    No store is needed: everything is read from the folder of the report.

    With --claims, before a run: write SPEC.criteria, the digest of what each claim of a profile tests (range,
    statistic, selection, runs) with day and commit. Commit it. Pages, lnlab check and the lock then say when criteria
    were frozen, and which were changed since or only after a look. What is frozen already keeps its date.
    """
    from lnlab.committed.locks.lock_report import write_lock
    from lnlab.committed.registries import load_registries

    if freeze and (every_report or report is not None):
        what, remedy = "--claims is of specs, not of reports", "lnlab lock --claims SPEC"
        raise LabError(Issue("wrong-option", "lnlab lock", what, remedy))
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
        from lnlab.committed.locks.lock_report import specs_with_reports

        specs = list(specs_with_reports(specs_folder, profile))
        if not specs:
            what = f"no spec in {specs_folder.as_posix()} has a report of profile {profile}"
            raise LabError(
                Issue("wrong-option", "lnlab lock --all", what, "name the folder of the specs with --folder")
            )
    if freeze:
        _freeze(specs or (), profile, plugins, load_registries(plugins), quiet=quiet)
        return
    changed = 0
    problems: list[Issue] = []
    for spec in specs or ():
        try:
            written, is_new = write_lock(spec, profile, folder=report)
        except LabError as error:
            problems += error.issues
            continue
        changed += is_new
        out().print(written.path.as_posix())
    # Where no lock was written the problems say all.
    if not quiet and len(problems) < len(specs or ()):
        err().print(f"{format_count(len(specs or ()) - len(problems), 'lock')}, {changed} changed")
    if problems:
        raise LabError(*problems)


def _freeze(
    specs: Sequence[Path], profile: str | None, plugins: list[Path], known: "Registries", *, quiet: bool
) -> None:
    from lnlab.app.freezing import freeze_spec

    for spec in specs:
        request = request_for(spec, profile, (), plugins)
        frozen = freeze_spec(request, known)
        out().print(frozen.path.as_posix())
        if not quiet:
            late = [f"{claim} after {entry['after']}" for claim, entry in frozen.criteria.items() if "after" in entry]
            counted = f"{len(frozen.criteria)} frozen, {frozen.kept} of them before"
            line = "; ".join([f"{spec}: {request.profile or 'default'}: {counted}", *late])
            err().print(line, markup=False)
