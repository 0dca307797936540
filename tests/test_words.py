"""Words that went do not come back: help, guide, reference and page templates are in the field's own terms."""

import re
from pathlib import Path

import pytest
import typer

from lnlab.cli import app

ROOT = Path(__file__).parents[1]
BANNED = (
    r"\bbut for\b",
    r"\bwhose is it\b.*\?",
    r"\b(is|are) told\b",
    r"\bMake it again\b",
    r"\b[Bb]eside this page\b",
    r"\bregistered pieces\b",
    r"\btime is reckoned\b",
    r"\bcuts? an arrow\b",
    r"\basks? (the|one) questions?\b",
    r"\bhas an address\b",
    r"\bits own address\b",
    r"\bkept once a minute\b",
    r"\bchooses a rate\b",
    r"\bforms of one thing\b",
    r"\bThe data behind\b",
    r"\bTry again what\b",
    r"\bhow they get here\b",
    r"\b(one|a) (claim|number|run|label|panel|line|row) an? (seed|value|candidate|sentence|variant|question|run)\b",
    r"\bnumbers an? seed\b",
    r"(?<![\w.\])*-])[-−]?\.\d",
)
"""What readers stumbled over, and numbers without their zero."""
TABLE_OF_QUESTIONS = re.compile(r"<!-- questions.*?<!-- end of questions -->", re.DOTALL)


def texts():
    yield "lnlab", app.info.help or ""
    commands = typer.main.get_command(app).commands.values()
    for command in [*commands, *(inner for c in commands for inner in getattr(c, "commands", {}).values())]:
        helps = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
        yield f"--help of {command.name}", "\n".join(filter(None, helps))
    for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("templates/*.j2"), ROOT / "specs" / "README.md"):
        yield path.relative_to(ROOT).as_posix(), path.read_text()
    yield "README.md", TABLE_OF_QUESTIONS.sub("", (ROOT / "README.md").read_text())


TEXTS = dict(texts())


@pytest.mark.parametrize("place", TEXTS)
def test_no_banned_word(place):
    flat = re.sub(r"\s+", " ", TEXTS[place])
    hits = [flat[max(hit.start() - 30, 0) : hit.end() + 20] for words in BANNED for hit in re.finditer(words, flat)]
    assert hits == []
