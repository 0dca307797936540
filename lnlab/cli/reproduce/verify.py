"""``lnlab verify``: whether committed reports are what their locks say."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.cli.codes import FAILED
from lnlab.cli.options import AsJsonOption, Quiet
from lnlab.cli.terminal import err, one_line, out, print_json
from lnlab.errors import LabError
from lnlab.execute.pool import cores
from lnlab.issues import Issue
from lnlab.userfiles import user_path

if TYPE_CHECKING:
    from lnlab.committed.locks.verify import VerifiedReport

VERIFY_EXAMPLE = (
    "Example: [bold]lnlab verify specs/xiong_fig3.yaml --level 1[/bold]; every lock: [bold]lnlab verify --all[/bold]"
)
_MOST_PRINTED = 50


def verify(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SPEC...]", parser=user_path, help="Specs with a lock beside them, locks, or folders of reports."
        ),
    ] = None,
    every_lock: Annotated[bool, typer.Option("--all", help="Every lock in the folder.")] = False,
    locks_folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where --all looks for locks.")
    ] = Path("specs"),
    level: Annotated[int, typer.Option("--level", "-l", min=0, max=3, help="How much is done again, see above.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", min=1, help="Processes that draw and compute; one a core if not given."),
    ] = None,
    as_json: AsJsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Check that committed reports are what their locks say.

    Level 0: every file is the one that was locked, and the verdicts are those that the lock lists. Takes seconds.
    Level 1: in addition, page, figures, tables and notebook are drawn again from the committed rows to the same bytes,
    and the verdicts follow from these rows. Takes minutes for many reports. --workers draws several at once.
    Level 2: in addition, runs drawn by lot are computed again in an empty store, one of a variant at most, until a
    minute or two is spent.
    Level 3: every run is computed again, with those that choose a value.

    On a processor and a torch like those of a committed run, every number of it has to be equal to the last bit. On
    others, or where the run does not name its own, it has to be within the margins of lnlab diff. Differences are
    printed with their size, and so are verdicts that the new rows would change.

    The folder of a report without a lock, as it came by mail, is held against itself: level 0 reads the digests that
    its rows and its plan state, and the other levels use the text of the spec that it holds. Lines say what was looked
    at. Without a lock nobody can tell whether these are the rows that were committed.

    The last line is one sentence that can be pasted into a review. Exit codes: 0 all that was looked at holds; 1
    something differs, and each difference is printed with its place; 2 the command is wrong.
    """
    from lnlab.committed.locks.verify import verify_reports

    if every_lock == bool(paths):
        raise LabError(
            Issue("wrong-option", "lnlab verify", "name specs, or --all", "lnlab verify specs/xiong_fig3.yaml")
        )
    locks = sorted(locks_folder.glob("*.lock")) if every_lock else list(map(_lock_or_folder, paths or ()))
    if not locks:
        what = f"there is no lock in {locks_folder.as_posix()}"
        raise LabError(Issue("not-found", "lnlab verify --all", what, "lnlab lock --all"))

    def on_report(report: "VerifiedReport") -> None:
        if not as_json:
            for difference in report.differences[:_MOST_PRINTED]:
                out().print(one_line(str(difference)))
            if len(report.differences) > _MOST_PRINTED:
                out().print(f"{report.path}: {len(report.differences) - _MOST_PRINTED:,} more differences")
            if not quiet:
                for note in report.notes:
                    err().print(one_line(f"{report.path}: {note}"))
            if level and not quiet:
                err().print(f"{report.path}: {'differs' if report.differences else 'verified'}")

    again = None
    if level > 1:
        from lnlab.app.recomputed import recomputation
        from lnlab.app.run_options import RunOptions
        from lnlab.execute.pool import warm

        # The server of the workers imports torch while levels 0 and 1 are looked at.
        warm()
        options = RunOptions(console=err(), quiet=quiet or as_json, workers=workers)
        again = partial(recomputation, options=options, every_run=level > 2)
    verification = verify_reports(locks, level, on_report, workers or cores(), again)
    if as_json:
        print_json(asdict(verification) | {"passed": verification.passed, "sentence": verification.sentence})
    else:
        out().print(verification.sentence)
    raise typer.Exit(0 if verification.passed else FAILED)


def _lock_or_folder(path: Path) -> Path:
    """The lock of a spec or of the folder of a report, or the folder if it has none.

    Raises:
        LabError: there is no such file, or a spec without a lock.
    """
    from lnlab.committed.locks.lock_report import LOCK_SUFFIX, lock_of_report
    from lnlab.report.contents import EXPERIMENT_FILE, is_report
    from lnlab.specfile.load import read_spec_text

    if path.is_dir():
        if not is_report(path):
            what = f"is a folder without {EXPERIMENT_FILE}"
            raise LabError(Issue("not-found", str(path), what, "name the folder of a report"))
        return lock_of_report(path) or path
    lock = path.with_suffix(LOCK_SUFFIX)
    if not lock.is_file():
        spec = path.with_suffix(".yaml")
        read_spec_text(spec)  # says so where there is no such spec either
        raise LabError(Issue("not-found", str(lock), "there is no such lock", f"lnlab lock {spec} first"))
    return lock
