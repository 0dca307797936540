"""``lnlab index``: one page that leads to every report of a folder, and what a README shows of them."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.cli.codes import FAILED
from lnlab.cli.options import Quiet
from lnlab.cli.terminal import err, one_line, out
from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.userfiles import read_user_file, user_path

INDEX_EXAMPLE = "Example: [bold]lnlab index reports --readme README.md[/bold]"


def index(
    root: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="The folder of the reports.")] = Path("reports"),
    profiles: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            "-p",
            metavar="NAME",
            help="Only reports of this profile; of several, the first one that a question has.",
            show_default=False,
        ),
    ] = None,
    readme: Annotated[
        Path | None,
        typer.Option(
            "--readme",
            metavar="FILE",
            parser=user_path,
            help="A README: its pictures, and the answers of the questions that it lists; the index begins with them.",
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say what is out of date.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write FOLDER/index.html: the question, the answer and the verdicts of every report in FOLDER.

    The folder can be published as it is. A question has one card: the report of profile real, else the default one,
    else the first one by name. A report that cannot be read has a card that says so.

    Exit codes: 0 done; 1 a report cannot be read, or --check and something is out of date; 2 the command is wrong.
    """
    from lnlab.report.index import read_cards, render_index
    from lnlab.report.readme import listed_questions, pictures, with_answers

    cards = read_cards(root, profiles or ())
    first, of_readme = [], {}
    if readme is not None:
        try:
            text = read_user_file(readme, "README").decode()
        except UnicodeDecodeError as error:
            raise LabError(Issue("not-text", str(readme), "is not UTF-8", "save it as UTF-8")) from error
        first = listed_questions(text, cards, root, readme)
        of_readme[readme] = with_answers(text, cards, root, readme).encode()
        of_readme |= pictures(text, cards, root, readme)
    contents = {root / "index.html": render_index(cards, first=first).encode(), **of_readme}
    outdated = [path for path, content in contents.items() if not path.is_file() or path.read_bytes() != content]
    if not check:
        for path in outdated:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(contents[path])
    for path in outdated if check else contents:
        out().print(f"{path.as_posix()}: out of date" if check else path.as_posix())
    unreadable = [card for card in cards if card.error]
    for card in unreadable:
        err().print(one_line(f"{card.folder}: {card.error}"))
    if not quiet:
        err().print(format_count(len(cards), "question"))
    raise typer.Exit(FAILED if unreadable or (check and outdated) else 0)
