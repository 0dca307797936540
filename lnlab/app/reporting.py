"""The report of what a store holds of a plan. Nothing is computed."""

from collections.abc import Sequence
from dataclasses import replace as with_fields
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.report.drawing import Drawing

if TYPE_CHECKING:
    from lnlab.report.write import Report
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store


def plan_report_folder(stored: "StoredPlan") -> Path:
    """Where the report of a plan is written if nothing else is asked for: ``reports/<spec>/<profile>``."""
    from lnlab.report.write import report_folder

    return report_folder(Path("reports"), stored.name, stored.profile)


def write_plan_report(
    store: "Store",
    stored: "StoredPlan",
    into: Path,
    plugins: Sequence[Path],
    spec: Path | None = None,
    *,
    drawing: Drawing,
    replace: bool = False,
) -> "Report":
    """Write the report of a stored plan.

    Args:
        store: its store.
        stored: the plan.
        into: the folder.
        plugins: files that register pieces.
        spec: its file as it was named. None means the file that it was run from.
        drawing: how it is drawn.
        replace: whether the report of another question is replaced.

    Raises:
        ReportError: nothing is chosen yet, plugins are missing, the folder holds the report of another question, or it
            cannot be written.
    """
    from lnlab.app.judging import plan_results, plan_verdicts
    from lnlab.app.known_looks import known_looks
    from lnlab.claims.look_book import LookBook
    from lnlab.committed.frozen import frozen_path, with_frozen_criteria
    from lnlab.committed.registries import load_registries
    from lnlab.report.facts import facts_from_json
    from lnlab.report.write import write_report

    if stored.undecided:  # tuning runs choose; they show nothing
        what = "there are only tuning runs, and nothing is chosen yet"
        raise ReportError(Issue("not-run", stored.spec, what, f"lnlab run {stored.spec} continues from here"))
    refuse_without_plugins(stored.facts["report"]["plugins"], plugins)
    results = plan_results(store, stored)
    book = LookBook.from_json(*known_looks(into, Path(stored.spec), stored.profile, stored.overrides))
    verdicts = plan_verdicts(store, stored, results, plugins, book)
    facts = with_fields(facts_from_json(stored.facts["report"], stored.spec), looks=book.to_json())
    if frozen_path(Path(stored.spec)).is_file():
        facts = with_frozen_criteria(facts, Path(stored.spec), load_registries(plugins))
    return write_report(
        into,
        facts,
        results,
        verdicts,
        claims=stored.facts["claims"],
        drawing=drawing,
        spec=spec or Path(stored.spec),
        replace=replace,
    )


def refuse_without_plugins(used: Sequence[str], plugins: Sequence[Path]) -> None:
    """Refuse to report results of plugins without plugins, as claims and sections may be theirs.

    Raises:
        ReportError: the run used plugins, and the command names none.
    """
    if used and not plugins:
        flags = " ".join(f"--with {path}" for path in used)
        raise ReportError(
            Issue("wrong-option", "lnlab report", f"this run was made with {', '.join(used)}", f"add {flags}")
        )
