"""Fill a README with the answers to the questions that it lists, and make its pictures of first figures."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.report.charts.render import svg_to_png
from lnlab.report.index import Card

_ITEM = re.compile(r"^(- \[[^\]\n]+\]\(([^)\s]+/index\.html)\)).*$", re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+\.png)\)")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~$])")


def with_answers(text: str, cards: Sequence[Card], root: Path, readme: Path) -> str:
    """Return the text of a README in which each question that it lists has the answer of its report.

    A question is a list item that begins with a link to a page: ``- [Does it grow?](reports/grows/real/index.html)``.
    The answer follows on the same line and replaces what stood there. A report whose author
    wrote none has one made of its claims.

    Args:
        text: the README as it is.
        cards: the questions of ``root``.
        root: the folder of the reports.
        readme: the file, from whose folder the links lead.

    Raises:
        ReportError: a link leads into ``root``, but to no page of a report.
    """
    answers = {}
    for card in (card for card in cards if card.page):
        texts = [f"{a.text} (Older than the verdicts.)" if a.outdated else a.text for a in card.answers]
        # the command tells of a report that cannot be read; the README keeps what it says
        answers[_place(root / unquote(card.page))] = None if card.error else " ".join(texts)

    def filled(item: re.Match[str]) -> str:
        page = _place(readme.parent / unquote(item[2]))
        if _place(root) not in page.parent.parents:
            return item[0]
        if page not in answers:
            pages = sorted(Path(os.path.relpath(path, readme.parent)).as_posix() for path in answers)
            remedy = f"link one of {', '.join(pages)}" if pages else f"draw the reports of {root}"
            raise ReportError(Issue("damaged", str(readme), f"lists {item[2]}, but no report has this page", remedy))
        answer = answers[page]
        if answer is None:
            return item[0]
        # An answer may have marks of Markdown, which a reader is to see as they are.
        escaped = _MARKDOWN.sub(r"\\\1", " ".join(answer.splitlines()))
        return f"{item[1]} {escaped}"

    return _ITEM.sub(filled, text)


def listed_questions(text: str, cards: Sequence[Card], root: Path, readme: Path) -> list[Card]:
    """The questions that a README lists, in its order."""
    by_page = {_place(root / unquote(card.page)): card for card in cards if card.page}
    places = (_place(readme.parent / unquote(item[2])) for item in _ITEM.finditer(text))
    return [by_page[place] for place in places if place in by_page]


def pictures(text: str, cards: Sequence[Card], root: Path, readme: Path) -> Mapping[Path, bytes]:
    """The pictures that a README shows out of ``root/assets``: ``<question>.png`` is the first figure of a question.

    Reports have no PNG of their own, and not everything that shows a README draws SVG on a light ground.

    Raises:
        ReportError: a picture is named like no question that has a figure.
    """
    folders = {card.name: root / card.folder for card in cards}
    figures = {card.name: root / unquote(card.figure) for card in cards if card.figure}
    drawn = {}
    for target in dict.fromkeys(_PICTURE.findall(text)):
        path = Path(os.path.normpath(readme.parent / unquote(target)))
        if _place(path.parent) != _place(root / "assets"):
            continue
        if path.stem not in figures:
            what = f"shows {target}, but no question {path.stem!r} has a figure"
            remedy = f"name one of {', '.join(figures)}" if figures else f"draw the reports of {root}"
            raise ReportError(Issue("damaged", str(readme), what, remedy))
        source = figures[path.stem]
        try:
            # A README is about 900 pixels wide, and its pictures are committed again whenever they change.
            drawn[path] = svg_to_png(source.read_text(encoding="utf-8"), scale=1.5)
        except (OSError, ValueError, RuntimeError) as error:  # the last is what the converter raises of no SVG
            what = f"cannot be read: {str(error).partition(chr(10))[0]}"
            remedy = f"lnlab report --from {folders[path.stem]}"
            raise ReportError(Issue("unreadable", str(source), what, remedy)) from error
    return drawn


def _place(path: Path) -> Path:
    # Of the two paths of a command line one may be absolute and the other not.
    return Path(os.path.normpath(path.absolute()))
