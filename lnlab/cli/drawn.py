"""How a report is drawn, and what is said of one that was."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.cli.terminal import count, err, one_line, out

if TYPE_CHECKING:
    from lnlab.report.write import Report


@dataclass(frozen=True)
class Drawing:
    """The options of ``lnlab report`` that move no number.

    Attributes:
        single_file: put scripts into the page.
        pdf: draw every figure as PDF as well.
        templates: a folder whose templates are asked first.
        as_json: print the names of the files as JSON.
        quiet: print the page only.
    """

    single_file: bool = False
    pdf: bool = False
    templates: Path | None = None
    as_json: bool = False
    quiet: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """What the report writer takes."""
        return {"single_file": self.single_file, "pdf": self.pdf, "templates": self.templates}


def print_report(made: "Report", into: Path, spec: str, how: Drawing, beside: str = "") -> None:
    """Print the page, how many files were written with what is to be said beside it, and what could not be made."""
    if not how.as_json:
        out().print(made.files[0].as_posix())
    if not (how.quiet or how.as_json):
        err().print(one_line(f"{count(len(made.files), 'file')} in {into.as_posix()}{beside}"))
    for part in made.unmade:
        called = f"section {part.number} “{part.title}”" if part.title else f"section {part.number}"
        err().print(one_line(f"{spec}: {called} could not be made: {part.error}"))
