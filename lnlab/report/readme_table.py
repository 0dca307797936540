"""The table of questions in a README: generated rows between two markers, in the order in which the README has them."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from lnlab.errors import Problem, ReportError
from lnlab.report.index import Card

BEGIN = "<!-- questions: written by `lnlab index` -->"
END = "<!-- end of questions -->"
_HEADING = ("| question and answer | claims | spec |", "|---|---|---|")
_TABLE = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~$])")


def with_questions(text: str, cards: Sequence[Card], root: Path, readme: Path) -> str:
    """The text of a README with its table of questions as the reports answer them.

    Args:
        text: the README as it is.
        cards: the questions; those that the table does not have yet come last, by name.
        root: the folder of the reports.
        readme: the file, from whose folder the links lead.

    Raises:
        ReportError: it has no markers.
    """
    if not (table := _TABLE.search(text)):
        remedy = f"put two lines where the table belongs: {BEGIN} and {END}"
        raise ReportError(Problem(str(readme), "has no place for the table of questions", remedy))
    places = {card.name: table[0].find(f"/{card.name}/") for card in cards}
    order = sorted(cards, key=lambda card: (places[card.name] < 0, places[card.name], card.name))
    rows = [_row(card, Path(os.path.relpath(root, readme.parent)), readme.parent) for card in order]
    lines = "".join(f"{line}\n" for line in (*_HEADING, *rows))
    return text[: table.start()] + lines + text[table.end() :]


def _row(card: Card, root: Path, base: Path) -> str:
    """One line: the question, which leads to the page, with its answer; the tally; the spec where the file is there."""
    text = _escaped(card.question or card.title or card.name)
    question = f"[{text}]({quote(root.as_posix())}/{card.page})" if card.page else text
    answers = "".join(f"<br>{_escaped(_answer_text(answer.text, answer.outdated))}" for answer in card.answers)
    tally = "cannot be read" if card.error else ", ".join(f"{len(g.claims)} {g.word}" for g in card.verdicts) or "none"
    spec = f"[{card.name}]({quote(card.spec)})" if card.spec and (base / card.spec).is_file() else _escaped(card.name)
    return f"| {question}{answers} | {tally} | {spec} |"


def _answer_text(text: str, outdated: Sequence[str]) -> str:
    return f"{text} (Older than the verdicts.)" if outdated else text


def _escaped(text: str) -> str:
    """A text on one line in which Markdown reads no markup."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.splitlines()))
