"""``lnlab verify``: reports held against their locks, or against themselves, by level, and how it ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lnlab import __version__
from lnlab.committed.committed_report import read_committed
from lnlab.committed.locks.intact import differences_from_lock
from lnlab.committed.locks.lock_report import LOCK_SUFFIX, read_lock
from lnlab.committed.locks.rendered import render_all
from lnlab.errors import LabError
from lnlab.issues import Issue

_STATEMENTS = (
    "every committed file is the one that was locked",
    "every page, figure, table and notebook is drawn again to the same bytes from its data",
    "{runs} of {planned} runs, drawn by lot and computed again from nothing, have the same rows {how}",
    "all {planned} runs, computed again from nothing, have the same rows {how}",
)
"""What each level adds."""
_OWN = "its packs and its plan have the digests that they state"
_UNLOCKED = (
    (0, f"{_OWN} (level 0)"),
    (1, "its page, figures, tables and notebook are drawn again from its rows to the same bytes (--level 1)"),
    (1, "its verdicts follow from its rows (--level 1)"),
    (2, "its rows are those of the runs that its spec asks for (--level 2 of a sample, --level 3 of all)"),
)
"""What can be told of a report without its lock, and from which level on."""
_UNTOLD = "whether these are the rows, and this the spec, that were committed cannot be told without the lock"


@dataclass(frozen=True)
class VerifiedReport:
    """A report as it was verified.

    Attributes:
        path: of its lock, or of its folder if there is no lock.
        files: how many files it has.
        differences: in which it is not what it should be. It is verified if there are none.
        notes: what else was seen, a sentence each.
        runs: how many runs were computed again.
        planned: how many runs the spec asks for.
        exact: whether all numbers computed again are equal to the last bit.
        read: how many files of tables from elsewhere were read again, of a report that is of such.
    """

    path: Path
    files: int = 0
    differences: tuple[Issue, ...] = ()
    notes: tuple[str, ...] = ()
    runs: int = 0
    planned: int = 0
    exact: bool = False
    read: int = 0

    @property
    def locked(self) -> bool:
        """Whether there is a lock."""
        return self.path.suffix == LOCK_SUFFIX


@dataclass(frozen=True)
class Verification:
    """The outcome of a verification.

    Attributes:
        level: the level that was asked for, from 0.
        reports: in the order of their names.
    """

    level: int
    reports: tuple[VerifiedReport, ...]

    @property
    def passed(self) -> bool:
        """Whether there is no difference."""
        return not any(report.differences for report in self.reports)

    @property
    def sentence(self) -> str:
        """One sentence that a reviewer can paste."""
        number = len(self.reports)
        files = sum(report.files for report in self.reports)
        unlocked = [report for report in self.reports if not report.locked]
        subject = f"{number} report{'' if number == 1 else 's'} ({files:,} files)"
        if unlocked:
            subject += " without a lock" if len(unlocked) == number else f", {len(unlocked)} of them without a lock"
        opening = f"lnlab {__version__}, level {self.level}: {subject}"
        if self.passed:
            computed = [report for report in self.reports if not report.read]
            read = sum(report.read for report in self.reports)
            statements = []
            if computed:
                runs, planned = (sum(getattr(report, name) for report in computed) for name in ("runs", "planned"))
                exact = all(report.exact for report in computed)
                how = "to the last bit" if exact else "within the margins of lnlab diff"
                words = {"runs": f"{runs:,}", "planned": f"{planned:,}", "how": how}
                own = not self.level and len(unlocked) == number
                statements.append(_OWN if own else _STATEMENTS[self.level].format(**words))
            if read:
                of = "1 file of a table is" if read == 1 else f"{read:,} files of tables are"
                statements.append(f"{of} what the report was made of, and the verdicts follow from what was read")
            statements += [_UNTOLD] if unlocked else []
            return f"{opening} verified: {'; '.join(statements)}."
        failed = [report for report in self.reports if report.differences]
        differences = sum(len(report.differences) for report in failed)
        names = ", ".join(report.path.stem for report in failed)
        times = "1 difference" if differences == 1 else f"{differences:,} differences"
        return f"{opening}, NOT verified: {times} in {len(failed)} of them ({names})."


def verify_reports(
    paths: Sequence[Path],
    level: int = 0,
    on_report: Callable[[VerifiedReport], None] = lambda _: None,
    workers: int = 1,
    again: Callable[[Path], VerifiedReport] | None = None,
) -> Verification:
    """Hold reports against their locks, or, without a lock, against what they say of themselves.

    Args:
        paths: locks, or folders of reports.
        level: how much is done again. Each level includes those before.
        on_report: called with each report as soon as it is verified.
        workers: processes that draw, from level 1.
        again: what computes runs of a report again, from level 2.
    """
    reports: dict[Path, VerifiedReport] = {}

    def on_rendered(path: Path, differences: list[Issue]) -> None:
        reports[path] = replace(reports[path], differences=(*reports[path].differences, *differences))
        if again is None:
            on_report(reports[path])

    for path in paths:
        try:
            reports[path] = _of_lock(path) if path.suffix == LOCK_SUFFIX else _of_folder(path, level)
        except LabError as error:
            unread = tuple(Issue("differs", problem.where, problem.what) for problem in error.issues)
            reports[path] = VerifiedReport(path, differences=unread)
        if not level or reports[path].differences:
            on_report(reports[path])
    if level:  # a report that is not what was locked is not drawn: its data may be anybody's
        intact = [path for path in paths if not reports[path].differences]
        render_all(intact, workers, on_rendered)
        if again is not None:
            for path in intact:
                report, anew = reports[path], again(path)
                differences = (*report.differences, *anew.differences)
                notes = (*report.notes, *anew.notes)
                reports[path] = replace(anew, files=report.files, differences=differences, notes=notes)
                on_report(reports[path])
    return Verification(level, tuple(reports.values()))


def _of_lock(path: Path) -> VerifiedReport:
    lock = read_lock(path)
    differences, frozen = differences_from_lock(lock)
    return VerifiedReport(path, len(lock.tables["files"]), tuple(differences), (frozen,) if frozen else ())


def _of_folder(path: Path, level: int) -> VerifiedReport:
    report = read_committed(path)
    _ = report.parsed  # reads every pack and the plan, and refuses what has not the digest that is stated
    notes = [f"{'looked at' if level >= least else 'not looked at'}: {what}" for least, what in _UNLOCKED]
    return VerifiedReport(path, len(report.contents), notes=(*notes, _UNTOLD))
