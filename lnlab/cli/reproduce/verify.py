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
        typer.Argument(metavar="[SPEC...]", parser=user_path, help="Specs with a lock beside them, or locks."),
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

    Level 0: every file is the one that was locked. Verdicts, rows and settings are those that the lock lists. Takes
    seconds.
    Level 1: in addition, page, figures, tables and notebook are drawn again from the committed data to the same bytes.
    Takes minutes for many reports. --workers draws several at once.
    Level 2: in addition, runs drawn by lot are computed again in an empty store, one of a variant at most, until a
    minute or two is spent.
    Level 3: every run is computed again, with those that choose a value, and compared as lnlab diff compares.

    On a processor and a torch like those of the committed runs, every number has to be equal to the last bit. On
    others, or where the committed runs do not name theirs, it has to be within the margins of the lock. Differences are
    printed with their size, and so are verdicts that the new rows would change.

    The last line is one sentence that can be pasted into a review. Exit codes: 0 verified; 1 something differs, and
    each difference is printed with its place; 2 the command is wrong.
    """
    from lnlab.committed.locks.intact import locks_below
    from lnlab.committed.locks.verify import verify_locks
    from lnlab.specfile.load import read_spec_text

    if every_lock == bool(paths):
        raise LabError(
            Issue("wrong-option", "lnlab verify", "name specs, or --all", "lnlab verify specs/xiong_fig3.yaml")
        )
    locks = locks_below(locks_folder) if every_lock else [path.with_suffix(".lock") for path in paths or ()]
    if not locks:
        what = f"there is no lock in {locks_folder.as_posix()}"
        raise LabError(Issue("not-found", "lnlab verify --all", what, "lnlab lock --all"))
    for path in locks:
        if not path.is_file():
            spec = path.with_suffix(".yaml")
            read_spec_text(spec)  # says so where there is no such spec either
            raise LabError(Issue("not-found", str(path), "there is no such lock", f"lnlab lock {spec} first"))

    def on_report(report: "VerifiedReport") -> None:
        if not as_json:
            for difference in report.differences[:_MOST_PRINTED]:
                out().print(one_line(str(difference)))
            if len(report.differences) > _MOST_PRINTED:
                out().print(f"{report.lock}: {len(report.differences) - _MOST_PRINTED:,} more differences")
            if not quiet:
                for note in report.notes:
                    err().print(one_line(f"{report.lock}: {note}"))
            if level and not quiet:
                err().print(f"{report.lock}: {'differs' if report.differences else 'verified'}")

    again = None
    if level > 1:
        from lnlab.app.recomputed import recomputation
        from lnlab.app.rounds.units import RunOptions
        from lnlab.execute.pool import warm
        from lnlab.execute.unit import SAVE_EVERY

        # The server of the workers imports torch while levels 0 and 1 are looked at.
        warm()
        manner = RunOptions(workers, retry_failed=False, quiet=quiet or as_json, save_every=SAVE_EVERY, console=err())
        again = partial(recomputation, manner=manner, every_run=level > 2)
    verification = verify_locks(locks, level, on_report, workers or cores(), again)
    if as_json:
        print_json(asdict(verification) | {"passed": verification.passed, "sentence": verification.sentence})
    else:
        out().print(verification.sentence)
    raise typer.Exit(0 if verification.passed else FAILED)
