"""``lnlab verify``: committed reports held against their locks, by level, and the sentence that says how it ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lnlab import __version__
from lnlab.committed.locks.intact import differences_from_lock
from lnlab.committed.locks.lock_report import read_lock
from lnlab.committed.locks.rendered import render_all
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.report.words.look_words import frozen_sentence

LEVELS = ("intact", "rendered", "sampled", "computed")
"""What each level adds: files as locked, pages drawn again from their data, runs drawn by lot, every run."""
_STATEMENTS = (
    "every committed file is the one that was locked",
    "every page, figure, table and notebook is drawn again to the same bytes from its data",
    "{runs} of {planned} runs, drawn by lot and computed again from nothing, have the same rows {how}",
    "all {planned} runs, computed again from nothing, have the same rows {how}",
)


@dataclass(frozen=True, kw_only=True)
class ComputedAgain:
    """How much of a report was computed again.

    Attributes:
        runs: how many runs.
        planned: how many runs the spec asks for.
    """

    runs: int = 0
    planned: int = 0


@dataclass(frozen=True)
class VerifiedReport(ComputedAgain):
    """A report as it was verified.

    Attributes:
        lock: the file of its lock.
        files: how many files the lock names.
        differences: in which it is not what it should be. It is verified if there are none.
        notes: what else was seen, a sentence each.
        exact: whether all numbers computed again are equal to the last bit.
        read: how many files of tables from elsewhere were read again, of a report that is of such.
    """

    lock: Path
    files: int
    differences: tuple[Issue, ...]
    notes: tuple[str, ...] = ()
    exact: bool = False
    read: int = 0


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
        subject = f"{number} report{'' if number == 1 else 's'} ({files:,} files)"
        opening = f"lnlab {__version__}, level {self.level}: {subject}"
        if self.passed:
            computed = [report for report in self.reports if not report.read]
            read = sum(report.read for report in self.reports)
            statements = []
            if computed:
                runs, planned = (sum(getattr(report, name) for report in computed) for name in ("runs", "planned"))
                exact = all(report.exact for report in computed)
                how = "to the last bit" if exact else "within the margins of the lock"
                words = {"runs": f"{runs:,}", "planned": f"{planned:,}", "how": how}
                statements.append(_STATEMENTS[self.level].format(**words))
            if read:
                of = "1 file of a table is" if read == 1 else f"{read:,} files of tables are"
                statements.append(f"{of} as locked, and the verdicts follow from what was read")
            return f"{opening} verified: {'; '.join(statements)}."
        failed = [report for report in self.reports if report.differences]
        differences = sum(len(report.differences) for report in failed)
        names = ", ".join(report.lock.stem for report in failed)
        times = "1 difference" if differences == 1 else f"{differences:,} differences"
        return f"{opening}, NOT verified: {times} in {len(failed)} of them ({names})."


def verify_locks(
    paths: Sequence[Path],
    level: int = 0,
    on_report: Callable[[VerifiedReport], None] = lambda _: None,
    workers: int = 1,
    again: Callable[[Path], VerifiedReport] | None = None,
) -> Verification:
    """Hold the reports of these locks against them.

    Args:
        paths: of the locks.
        level: see ``LEVELS``. Each includes those before.
        on_report: called with each report as soon as it is verified.
        workers: processes that draw, from level 1.
        again: what computes runs of a locked report again, from level 2.
    """
    reports: dict[Path, VerifiedReport] = {}

    def on_rendered(path: Path, differences: list[Issue]) -> None:
        reports[path] = replace(reports[path], differences=(*reports[path].differences, *differences))
        if again is None:
            on_report(reports[path])

    for path in paths:
        try:
            lock = read_lock(path)
        except LabError as error:
            unread = tuple(Issue("differs", problem.where, problem.what) for problem in error.issues)
            reports[path] = VerifiedReport(path, 0, unread)
        else:
            sentence = frozen_sentence(lock.tables.get("frozen", {}), list(lock.tables["verdicts"]))
            unequal = tuple(differences_from_lock(lock))
            reports[path] = VerifiedReport(path, len(lock.tables["files"]), unequal, (sentence,) if sentence else ())
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
