"""``lnlab verify``: committed reports held against their locks, by level, and the sentence that says how it ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lnlab import __version__
from lnlab.app.locks.intact import Discrepancy, differences_from_lock
from lnlab.app.locks.lock_report import read_lock
from lnlab.app.locks.rendered import render_all
from lnlab.errors import LabError

LEVELS = ("intact", "rendered")
"""What each level adds: files as locked; pages drawn again from their data."""
_STATEMENTS = (
    "every committed file is the one that was locked",
    "every page, figure, table and notebook is drawn again to the same bytes from its data",
)


@dataclass(frozen=True)
class VerifiedReport:
    """A report as it was verified.

    Attributes:
        lock: the file of its lock.
        files: how many files the lock names.
        differences: in which it is not what it should be; none: it is verified.
        notes: what else was seen, a sentence each.
    """

    lock: Path
    files: int
    differences: tuple[Discrepancy, ...]
    notes: tuple[str, ...] = ()


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
        number, files = len(self.reports), sum(report.files for report in self.reports)
        subject = f"{number} report{'' if number == 1 else 's'} ({files:,} files)"
        opening = f"lnlab {__version__}, level {self.level}: {subject}"
        if self.passed:
            return f"{opening} verified: {self._statement()}."
        failed = [report for report in self.reports if report.differences]
        differences = sum(len(report.differences) for report in failed)
        names = ", ".join(report.lock.stem for report in failed)
        times = "1 difference" if differences == 1 else f"{differences:,} differences"
        return f"{opening}, NOT verified: {times} in {len(failed)} of them ({names})."

    def _statement(self) -> str:
        return _STATEMENTS[self.level]


def verify_locks(
    paths: Sequence[Path],
    level: int = 0,
    on_report: Callable[[VerifiedReport], None] = lambda _: None,
    workers: int = 1,
) -> Verification:
    """Hold the reports of these locks against them.

    Args:
        paths: of the locks.
        level: 0 or 1, see ``LEVELS``; 1 includes 0.
        on_report: called with each report as soon as it is verified.
        workers: processes that draw, at level 1.
    """
    reports: dict[Path, VerifiedReport] = {}

    def on_rendered(path: Path, differences: list[Discrepancy]) -> None:
        reports[path] = replace(reports[path], differences=(*reports[path].differences, *differences))
        on_report(reports[path])

    for path in paths:
        reports[path] = _verify_intact(path)
        if not level or reports[path].differences:
            on_report(reports[path])
    if level:  # a report that is not what was locked is not drawn: its data may be anybody's
        render_all([path for path in paths if not reports[path].differences], workers, on_rendered)
    return Verification(level, tuple(reports.values()))


def _verify_intact(path: Path) -> VerifiedReport:
    try:
        lock = read_lock(path)
    except LabError as error:
        differences = tuple(Discrepancy(problem.where, problem.what) for problem in error.problems)
        return VerifiedReport(path, 0, differences)
    return VerifiedReport(path, len(lock.tables["files"]), tuple(differences_from_lock(lock)))
