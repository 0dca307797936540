"""Build the sections of a report. A section that fails becomes a reason, and the others are still built."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lnlab.claims.claim import Verdict
from lnlab.claims.claim_scope import selections_of_claim
from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.registry import Flawed, supplied_parameters
from lnlab.report.facts import COMMON_FIELDS, ReportFacts
from lnlab.report.loss_units import loss_item, mean_over
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.section import Figure, Section, Table
from lnlab.report.words.answer_text import outdated_claims
from lnlab.report.words.quantity_words import quantity_name, using_words
from lnlab.report.words.selection_words import selection_sentence
from lnlab.select.aligned import alone_in_words
from lnlab.select.seeds import drawn_results
from lnlab.select.select import select_measured_rows
from lnlab.specfile.expressions import named_expressions
from lnlab.tables import Results

_Shown = TypeVar("_Shown", Figure, Table)


@dataclass(frozen=True)
class ReportPart:
    """One section of the page: what the spec asked for, and what came of it.

    Attributes:
        number: from 1, among the sections of the page. A section that the page leaves out has its number in the spec.
        title: what the spec calls it.
        claims: ids of the claims that stand beside it.
        section: its content, or None.
        error: why there is no section, or nothing.
        heading: the result in the author's words, while it holds. If empty, the finding of the section stands there.
    """

    number: int
    title: str
    claims: tuple[str, ...]
    section: Section | None
    error: str = ""
    heading: str = ""

    @property
    def shows_nothing(self) -> bool:
        """Whether it has no figure, no table, and no reason why there is none."""
        return self.section is not None and not (self.section.charts or self.section.tables)

    @property
    def head(self) -> str:
        """What stands above the section, on the page and in the notebook."""
        if self.section is None:
            return "This section could not be made"
        return self.heading or self.section.finding


def build_parts(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict] = (), root: str | None = None
) -> list[ReportPart]:
    """The sections of a page: those of ``build_all_parts`` that have something to show, numbered from 1."""
    return numbered_parts(build_all_parts(facts, results, verdicts, root))


def numbered_parts(parts: Iterable[ReportPart]) -> list[ReportPart]:
    """The parts that a page shows, with their numbers on it."""
    return [replace(part, number=n) for n, part in enumerate((part for part in parts if not part.shows_nothing), 1)]


def build_all_parts(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict] = (), root: str | None = None
) -> list[ReportPart]:
    """Every section that the facts name, in order, numbered from 1, those that have nothing to show included.

    Args:
        facts: with the sections.
        results: that they draw.
        verdicts: of all claims.
        root: path from the page to the folder of all reports. None means that the page links to no other page.
    """
    # single claims may be judged on further seeds, which no figure shows
    own_results = drawn_results(results, facts.seeds, facts.grid_seeds)
    supplied = {
        "results": own_results,
        "decisions": facts.decisions,
        "verdicts": verdicts,
        "root": root,
        "models": facts.models,
    }
    registry = FRAME_REGISTRIES["section"]
    parts = []
    with using_words(facts.words), mean_over(loss_item(own_results)):
        for number, spec in enumerate(facts.sections, 1):
            part = ReportPart(number, str(spec.get("title") or ""), tuple(spec.get("claims") or ()), section=None)
            try:
                choice = registry.resolve({k: v for k, v in spec.items() if k not in COMMON_FIELDS})
                supplied_names = supplied_parameters(registry[choice["kind"]].build)
                section = registry.builder(choice)(*(supplied[name] for name in supplied_names))
                section = replace(section, missing=_with_rows_left_out(section, choice, own_results))
                section = _with_selection(section, choice.get("where") or {})
                parts.append(replace(part, section=section, heading=_heading(spec, verdicts)))
            except Exception as error:  # whatever is wrong with one section, the others are drawn
                parts.append(replace(part, error=error_line(error)))
    return parts


def _with_selection(section: Section, where: Mapping[str, Json]) -> Section:
    """The section whose captions say what it selects."""

    def said(of: _Shown) -> _Shown:
        names = of.data.names if isinstance(of, Figure) else ()
        sentence = selection_sentence(where, " ".join((of.subject, *of.notes)), names)
        return replace(of, notes=(sentence, *of.notes)) if sentence else of

    return replace(section, charts=tuple(map(said, section.charts)), tables=tuple(map(said, section.tables)))


def _heading(section: Mapping[str, Json], verdicts: Sequence[Verdict]) -> str:
    """The author's heading while the verdicts are those that it was written for, or nothing."""
    changed = "while" in section and outdated_claims(section, verdicts)
    return "" if changed else str(section.get("heading") or "")


def _with_rows_left_out(section: Section, choice: Mapping[str, Json], results: Results) -> str:
    """State what is missing in a section, including the rows without a partner that an expression leaves out."""
    selections = list(selections_of_claim(choice)) if choice.get("of") else []
    if isinstance(choice.get("quantity"), str):
        selections = [{**(choice.get("where") or {}), "quantity": choice["quantity"]}]
    sentences = [section.missing]
    for selection in selections:
        if named_expressions(selection.get("quantity")):
            rows = select_measured_rows(results, selection)
            words = alone_in_words(results, selection, rows, lambda operand: operand.spelled(quantity_name))
            sentences += [f"{words[0].upper()}{words[1:]}."] if words else []
    return " ".join(filter(None, dict.fromkeys(sentences)))


def error_line(error: Exception) -> str:
    """An exception as one line for the page: no address, no traceback."""
    if isinstance(error, LabError | Flawed):
        return str(error)
    message = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
