"""The sections of a report, built; one that breaks becomes a reason and takes nothing else down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lnlab.claims.claim import Verdict
from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.registry import Flawed, supplied_parameters
from lnlab.report.facts import COMMON_FIELDS, ReportFacts
from lnlab.report.loss_units import loss_item, mean_over
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.section import Section
from lnlab.report.words.quantity_words import using_words
from lnlab.select.seeds import results_of_seeds
from lnlab.tables import Results


@dataclass(frozen=True)
class ReportPart:
    """One section of the page: what the spec asked for, and what came of it.

    Attributes:
        number: from 1, among the sections of the page.
        title: what the spec calls it.
        claims: ids of the claims that stand beside it.
        section: its content, or None.
        error: why there is no section, or nothing.
        heading: the result in the author's words; nothing: the finding of the section stands there.
    """

    number: int
    title: str
    claims: tuple[str, ...]
    section: Section | None
    error: str = ""
    heading: str = ""

    @property
    def head(self) -> str:
        """What stands above the section, on the page and in the notebook."""
        if self.section is None:
            return "This section could not be made"
        return self.heading or self.section.finding


def build_parts(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict] = (), root: str | None = None
) -> list[ReportPart]:
    """Every section that the facts name, in order, without those that have nothing to show yet.

    Args:
        facts: with the sections.
        results: that they draw.
        verdicts: of all claims.
        root: the path of the folder of all reports as the page names it; None: the page links to no other.
    """
    supplied = {
        "results": results_of_seeds(results, facts.seeds),
        "decisions": facts.decisions,
        "verdicts": verdicts,
        "root": root,
        "formulas": facts.formulas,
    }
    with using_words(facts.words):
        parts = [_part(section_spec, supplied) for section_spec in facts.sections]
    # what has a figure, a table, or a reason why there is none
    shown = [part for part in parts if part.section is None or part.section.charts or part.section.tables]
    return [replace(part, number=number) for number, part in enumerate(shown, 1)]


def _part(section_spec: Mapping[str, Json], supplied: Mapping[str, Any]) -> ReportPart:
    title = str(section_spec.get("title") or "")
    claims = tuple(section_spec.get("claims") or ())
    registry = FRAME_REGISTRIES["section"]
    if absent := section_spec.get("absent"):
        return ReportPart(number=0, title=title, claims=claims, section=None, error=absent)
    try:
        choice = registry.resolve({k: v for k, v in section_spec.items() if k not in COMMON_FIELDS})
        supplied_names = supplied_parameters(registry[choice["kind"]].build)
        with mean_over(loss_item(supplied["results"])):
            section = registry.builder(choice)(*(supplied[name] for name in supplied_names))
        return ReportPart(0, title, claims, section, heading=str(section_spec.get("heading") or ""))
    except Exception as error:
        return ReportPart(number=0, title=title, claims=claims, section=None, error=error_line(error))


def error_line(error: Exception) -> str:
    """An exception as one line for the page: no address, no traceback."""
    if isinstance(error, LabError | Flawed):
        return str(error)
    message = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
