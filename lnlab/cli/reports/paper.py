"""``lnlab paper``: figures, tables, numbers and references of reports, for LaTeX."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.cli.options import Quiet
from lnlab.cli.terminal import err, out
from lnlab.userfiles import user_path

PAPER_EXAMPLE = "Example: [bold]lnlab paper reports/xiong_fig3/real --width column --serif --primary[/bold]"


class WidthChoice(StrEnum):
    """The widths that figures of a paper have."""

    COLUMN = "column"
    TEXT = "text"


def paper(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT...", parser=user_path, help="Folders of reports, each of another spec."),
    ],
    width: Annotated[
        WidthChoice, typer.Option("--width", help="Width of figures: 3.25 in of a column or 6.75 in of the text.")
    ] = WidthChoice.COLUMN,
    serif: Annotated[bool, typer.Option("--serif", help="Set figures in a typeface with serifs.")] = False,
    primary: Annotated[bool, typer.Option("--primary", help="Put primary claims only into the tables.")] = False,
    target: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")] = Path("paper"),
    quiet: Quiet = False,
) -> None:
    """Write what a paper includes of reports: figures at the width of a column, tables, numbers, references.

    Each figure is a PDF (version 1.5) with letters of 7 to 8 points and a .tex file with its caption. One that does not
    fit a column has the width of the text. Prose names a number by its claim, as in \\lnlab{xiong_fig3:post_grows}.
    article.tex uses all of it. Nothing is computed, and no claim judged again.

    Exit codes: 0 done; 2 the command is wrong, or a report cannot be read.
    """
    from lnlab.report.paper.write import PaperStyle, write_paper

    files = write_paper(reports, target, PaperStyle(width.value, serif=serif, primary=primary))
    out().print(files[0].as_posix())
    if not quiet:
        err().print(f"{format_count(len(files), 'file')} in {target.as_posix()}")
