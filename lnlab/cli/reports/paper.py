"""``lnlab paper``: figures, tables, numbers and references of reports, for LaTeX."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.cli.options import Quiet
from lnlab.cli.terminal import err, out
from lnlab.userfiles import user_path

PAPER_EXAMPLE = "Example: [bold]lnlab paper reports/xiong_fig3/real[/bold]"


def paper(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT...", parser=user_path, help="Folders of reports, each of another spec."),
    ],
    target: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")] = Path("paper"),
    quiet: Quiet = False,
) -> None:
    """Write what a paper includes of reports: figures at most as wide as the text, tables, numbers, references.

    Each figure is a PDF (version 1.5) of at most 6.75 inches and a .tex file with its caption. Prose names a
    number by its claim, as in \\lnlab{xiong_fig3:post_grows}.
    article.tex uses all of it. Nothing is computed, and no claim judged again.

    Exit codes: 0 done; 2 the command is wrong, or a report cannot be read.
    """
    from lnlab.report.paper.write import write_paper

    files = write_paper(reports, target)
    out().print(files[0].as_posix())
    if not quiet:
        err().print(f"{format_count(len(files), 'file')} in {target.as_posix()}")
