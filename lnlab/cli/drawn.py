"""The options of drawing a report, and the lines that are printed about one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.cli.terminal import err, one_line, out
from lnlab.report.drawing import Drawing

if TYPE_CHECKING:
    from lnlab.report.write import Report


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(Drawing):
    """The options of ``lnlab report`` that move no number: how to draw, and what to print.

    Attributes:
        as_json: print the names of the files as JSON.
        quiet: print the page only.
    """

    as_json: bool = False
    quiet: bool = False


def print_report(report: "Report", into: Path, spec: str, drawing: DrawingOptions, note: str = "") -> None:
    """Print the path of the page, the number of files with a note, and the sections that the page lacks."""
    if not drawing.as_json:
        out().print(report.files[0].as_posix())
    if not (drawing.quiet or drawing.as_json):
        err().print(one_line(f"{format_count(len(report.files), 'file')} in {into.as_posix()}{note}"))
    for part in report.failed:
        section_name = f"section {part.number} “{part.title}”" if part.title else f"section {part.number}"
        err().print(one_line(f"{spec}: {section_name} could not be made: {part.error}"))
    if report.empty and not drawing.quiet:
        named = []
        for part in report.empty:
            why = [part.section.finding, part.section.missing.rstrip(".")] if part.section else []
            title = f" “{part.title}”" if part.title else ""
            named.append(f"section {part.number}{title} ({'; '.join(filter(None, why))})")
        err().print(one_line(f"{spec}: left out of the page, with nothing to show: {', '.join(named)}"))
