"""``lnlab review``: what a referee would ask of a report, of runs, or of a plan."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from lnlab.app.formats import format_count
from lnlab.app.request import request_for
from lnlab.cli.codes import CONTRADICTED
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, StoreFolder
from lnlab.cli.terminal import out, print_json, terminal_table
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.userfiles import user_path

if TYPE_CHECKING:
    from lnlab.app.reviewing import Review
    from lnlab.referee.rule import ReviewLine

REVIEW_EXAMPLE = (
    "Example: [bold]lnlab review specs/schedules.yaml --profile real[/bold]; of every report below a folder: "
    "[bold]lnlab review --all --report reports[/bold]"
)
_CLAIMS_NAMED = 3


class FailOnReview(StrEnum):
    """What makes the command fail."""

    review = "review"


def review_spec(
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="[SPEC]", parser=user_path, help="The experiment spec.", show_default=False),
    ] = None,
    profile: Profile = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FOLDER", help="Its report; reports/<spec>/<profile> if the store has no runs of it."
        ),
    ] = None,
    all_reports: Annotated[
        bool, typer.Option("--all", help="Review every report below --report, or below reports/")
    ] = False,
    fail_on: Annotated[
        FailOnReview | None, typer.Option("--fail-on", metavar="review", help="Exit with 3 if a line is open.")
    ] = None,
    as_json: AsJsonOption = False,
) -> None:
    """Show what a referee would ask.

    Rules look at searches, settings, controls, numbers and answers. Nothing is computed, and no verdict changes. Of a
    spec that was not run yet it shows what its plan knows. A claim answers a line in its field answered, by the name of
    the rule.

    Exit codes: 0 done; 2 the spec or the command is wrong; 3 a line is open (with --fail-on review).
    """
    from lnlab.app.reviewing import review_request, reviews_of_reports

    if all_reports == (spec is not None):
        what = "--all goes without a spec" if all_reports else "there is no spec"
        raise LabError(Issue("wrong-option", "lnlab review", what, "name one spec, or give --all"))
    if all_reports:
        reviews = [one for _, one in reviews_of_reports(report or Path("reports"))]
    else:
        assert spec is not None
        reviews = [review_request(request_for(spec, profile, overrides, plugins), report, folder)]
    if as_json:
        print_json([{"of": one.of, "lines": [line.as_plain() for line in one.lines]} for one in reviews])
    else:
        for one in reviews:
            _print_review(one)
    if fail_on and any(one.open for one in reviews):
        raise typer.Exit(CONTRADICTED)


def _print_review(review: "Review") -> None:
    """The lines of one review as a table, and how many are open."""
    counted = f"{format_count(len(review.lines), 'line')}, {len(review.open)} open"
    out().print(f"{review.of}: {counted}", markup=False)
    if review.lines:
        rows: list[list[RenderableType]] = [
            [line.rule, _claims(line), Text(_sentence(line)), Text(_settling(line))] for line in review.lines
        ]
        out().print(terminal_table(["rule", "claim", "what a referee would say", "what would settle it"], rows))
        out().print()


def _claims(line: "ReviewLine") -> Text:
    more = len(line.claims) - _CLAIMS_NAMED
    named = line.claims if more <= 0 else (*line.claims[:_CLAIMS_NAMED], f"{more} more")
    return Text(", ".join(named) or "the page")


def _sentence(line: "ReviewLine") -> str:
    answers = "".join(f" Answer: {answer}" for answer in dict.fromkeys(line.answers.values()))
    return f"{line.says}{answers}"


def _settling(line: "ReviewLine") -> str:
    return "a strength" if line.strength else line.settles or "–"
