"""What a README shows of reports: the table of questions between two markers, and pictures of first figures."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from lnlab.claims.verdict_text import counted_word
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.report.charts.render import svg_to_png
from lnlab.report.index import Card, owners_of

BEGIN = "<!-- questions: written by `lnlab index` -->"
END = "<!-- end of questions -->"
_HEADING = ("| question and answer | claims | spec |", "|---|---|---|")
_TABLE = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+\.png)\)")
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
        raise ReportError(Issue("missing", str(readme), "has no place for the table of questions", remedy))
    places = {card.name: table[0].find(f"/{card.name}/") for card in cards}
    order = sorted(cards, key=lambda card: (places[card.name] < 0, places[card.name], card.name))
    folder = quote(Path(os.path.relpath(root, readme.parent)).as_posix())
    rows = []
    for card in order:
        question = _escaped(card.question or card.title or card.name)
        linked = f"[{question}]({folder}/{card.page})" if card.page else question
        texts = (f"{a.text} (Older than the verdicts.)" if a.outdated else a.text for a in card.answers)
        answers = "".join(f"<br>{_escaped(text)}" for text in texts)
        tally = ", ".join(f"{len(g.claims)} {counted_word(g.word)}" for g in card.verdicts) or "none"
        # a spec that is gone is named without a link
        is_there = card.spec and (readme.parent / card.spec).is_file()
        spec = f"[{card.name}]({quote(card.spec)})" if is_there else _escaped(card.name)
        rows.append(f"| {linked}{answers} | {'cannot be read' if card.error else tally} | {spec} |")
    totals = [f"{_escaped(line)}\n" for line in owner_lines(cards)]
    lines = "".join(f"{line}\n" for line in (*totals, *_HEADING, *rows))
    return text[: table.start()] + lines + text[table.end() :]


def owner_lines(cards: Sequence[Card]) -> list[str]:
    """``Sentences of other papers: 12 supported, 3 contradicted.``: a line for each owner of claims, if several."""
    owners = owners_of(cards)
    texts = [(owner, ", ".join(f"{n} {counted_word(word)}" for word, n in counts)) for owner, counts in owners]
    return [f"Sentences of {owner}: {text}." for owner, text in texts] if len(owners) > 1 else []


def pictures(text: str, cards: Sequence[Card], root: Path, readme: Path) -> Mapping[Path, bytes]:
    """The pictures that a README shows out of ``root/assets``: ``<question>.png`` is the first figure of a question.

    Reports have no PNG of their own, and not everything that shows a README draws SVG on a light ground.

    Raises:
        ReportError: a picture is named like no question that has a figure.
    """
    folders = {card.name: root / card.folder for card in cards}
    thumbnails = {card.name: root / unquote(card.thumbnail.path) for card in cards if card.thumbnail}
    drawn = {}
    for target in dict.fromkeys(_PICTURE.findall(text)):
        path = Path(os.path.normpath(readme.parent / unquote(target)))
        if path.parent != Path(os.path.normpath(root / "assets")):
            continue
        if path.stem not in thumbnails:
            what = f"shows {target}, but no question {path.stem!r} has a figure"
            remedy = f"name one of {', '.join(thumbnails)}" if thumbnails else f"draw the reports of {root}"
            raise ReportError(Issue("damaged", str(readme), what, remedy))
        source = thumbnails[path.stem]
        try:
            drawn[path] = svg_to_png(source.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            remedy = f"lnlab report --from {folders[path.stem]}"
            raise ReportError(Issue("unreadable", str(source), f"cannot be read: {error}", remedy)) from error
    return drawn


def _escaped(text: str) -> str:
    """A text on one line in which Markdown reads no markup."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.splitlines()))
