"""The index of a folder of reports: a card for each question, from the tables that its report was drawn from.

Cards stand under the source of their question, or under the theme that their spec gives. A page that only redirects to
another has no card. Nothing of it depends on the day or on the order in which a file system lists its folders.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import polars as pl
from markupsafe import Markup

from lnlab.claims.verdict_text import VERDICT_MEANINGS, VERDICT_SYMBOLS
from lnlab.errors import LabError, ReportError
from lnlab.issues import Issue
from lnlab.printable import shown_path
from lnlab.report.contents import read_file
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import THUMBNAIL_FILE, read_folder
from lnlab.report.page import html
from lnlab.report.page.citation_links import linked_citations, web_address
from lnlab.report.page.methods import settings_of_variants, values_by_path
from lnlab.report.words.answer_text import answers_of_profile, fill_answer, outdated_claims, verdict_answer
from lnlab.report.words.cited_claims import cited_by_arrows
from lnlab.report.words.quantity_words import quantity_name, using_words
from lnlab.report.words.sentence_owners import PAPERS, Sentence, sentences_of, source_of, verdict_tally
from lnlab.report.words.verdict_words import VERDICT_CLASSES
from lnlab.report.words.wording import axis_value_name, count_noun, format_value, join_words
from lnlab.tables import Results

_COMPARED_AXES = ("method", "placement", "norm", "init", "optimizer")
"""The last words of axes whose values are ways to build or train a Transformer."""
_UNREADABLE = (LabError, ValueError, TypeError, KeyError, AttributeError, pl.exceptions.PolarsError)
_OTHER_PAPERS, _NO_SOURCE, _UNREADABLE_REPORTS = "Other papers", "Questions of our own", "Reports that cannot be shown"
_AUTHORS_AND_YEAR = re.compile(r"[A-Z][^;(]*?\b(?:19|20)\d\d\b")
"""What a citation begins with: ``Xiong et al. 2020``."""
_REDIRECT = re.compile(rb"<meta[^>]*http-equiv=[\"']?refresh", re.IGNORECASE)
_SIZE = re.compile(rb'<svg[^>]*? width="(\d+)(?:\.\d+)?" height="(\d+)')


@dataclass(frozen=True)
class CardAnswer:
    """An answer with its numbers, and the sentences of claims whose verdict is another one now."""

    text: str
    outdated: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerdictGroup:
    """The claims of a card with the same verdict: each with its number on the page and its sentence."""

    word: str
    claims: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Thumbnail:
    """A small drawing of the first figure of a report: its path from the index, and its size in pixels."""

    path: str
    width: int
    height: int


@dataclass(frozen=True)
class Card:
    """A question as the index shows it, or an ``error`` in place of everything but its name.

    Attributes:
        name: of the folder of the question.
        folder: of the report, below that of the index, with forward slashes.
        page: its address from the index. Empty if the report has tables only.
        facts: of the report. None where it cannot be read.
        answers: of this profile. The verdicts if the author wrote none.
        verdicts: all claims, grouped by their verdict.
        sentences: whose each claim is, with its verdict, without those that cite other experiments.
        figure: path from the index to its first drawing. Empty if the report has tables only.
        thumbnail: a small drawing of its first figure, or None.
        paper: the citation in pieces, each with its address or None.
        methods: what is compared, in words.
        topics: the kind of task and the quantities that claims are about, in words.
        error: why the report cannot be read.
    """

    name: str
    folder: str
    page: str = ""
    facts: ReportFacts | None = None
    answers: tuple[CardAnswer, ...] = ()
    verdicts: tuple[VerdictGroup, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    figure: str = ""
    thumbnail: Thumbnail | None = None
    paper: tuple[tuple[str, str | None], ...] = ()
    methods: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    error: str = ""

    @property
    def source(self) -> str:
        """What several questions call their source, or nothing."""
        return self.facts.source.get("name", "") if self.facts else ""

    @property
    def theme(self) -> str:
        """Under which the spec wants the question to stand, or nothing."""
        return self.facts.theme if self.facts else ""

    @property
    def n_claims(self) -> int:
        """How many claims were judged."""
        return sum(len(group.claims) for group in self.verdicts)

    @property
    def first_citation(self) -> tuple[tuple[str, str | None], ...]:
        """The first of its papers, in pieces with their addresses."""
        first = "".join(text for text, _ in self.paper).partition(";")[0].strip()
        return tuple(linked_citations(first))

    @property
    def papers(self) -> tuple[str, ...]:
        """Authors and year of each of its papers, as far as the citation begins with them."""
        parts = "".join(text for text, _ in self.paper).split(";")
        found = (_AUTHORS_AND_YEAR.match(part.strip()) for part in parts)
        return tuple(dict.fromkeys(match[0] for match in found if match))


@dataclass(frozen=True)
class CardGroup:
    """The questions of a source or of a theme.

    Attributes:
        heading: the source or the theme.
        cards: the questions, by name.
        paper: what a source with a name is, in pieces with their addresses.
        whose: whose sentences are counted, in words.
        own: how many of these got each verdict on the margin that the sentence has itself.
        ours: the same on margins of ours.
    """

    heading: str
    cards: tuple[Card, ...]
    paper: tuple[tuple[str, str | None], ...] = ()
    whose: str = ""
    own: tuple[tuple[str, int], ...] = ()
    ours: tuple[tuple[str, int], ...] = ()

    @property
    def n_claims(self) -> int:
        """How many claims were judged on its pages."""
        return sum(card.n_claims for card in self.cards)


def read_cards(root: Path, profiles: Sequence[str] = ()) -> list[Card]:
    """A card for each question with a report in ``root``, by name.

    Args:
        root: the folder with a folder for each question.
        profiles: only these, the first one that a question has. Without any: ``real``, else the default, else the first
            one by name.

    Raises:
        ReportError: there is no report in ``root``.
    """
    chosen = []
    for question in _folders(root) if root.is_dir() else []:
        subfolders = {path.name: path for path in _folders(question)}
        folders = [subfolders[name] for name in (profiles or ("real",)) if name in subfolders]
        folders += () if profiles else (question, *subfolders.values())
        # one that lost its tables or its page is a report, too, and its card says so
        chosen += [f for f in folders if (f / "data").is_dir() or _has_page(f)][:1]
    if not chosen:
        of_profile = f" of profile {join_words(profiles, 'or')}" if profiles else ""
        raise ReportError(Issue("not-found", str(root), f"holds no report{of_profile}", "write one with lnlab report"))
    return [_card(root, folder) for folder in chosen]


def _has_page(folder: Path) -> bool:
    """Whether a folder has a page that is one of a report, and does not lead on to another page."""
    try:
        page = read_file(folder, "index.html")
    except ReportError:
        return True  # its card says what is wrong with it
    return page is not None and not _REDIRECT.search(page[:2048])


def _folders(folder: Path) -> list[Path]:
    """The folders below a folder by name. Hidden ones are left out, such as a report that is being written."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")


def _card(root: Path, folder: Path) -> Card:
    place = shown_path(folder.relative_to(root))
    page = _address(folder.relative_to(root) / "index.html") if (folder / "index.html").is_file() else ""
    card = Card(shown_path(folder.relative_to(root).parts[0]), place, page)
    try:
        facts, results, verdicts = read_folder(folder)
        says = {verdict.claim: verdict.says for verdict in verdicts}
        arrows = cited_by_arrows(facts.sections, verdicts)
        numbered = [(n, verdict) for n, verdict in enumerate(verdicts, 1) if verdict.claim not in arrows]
        paper = linked_citations(facts.source.get("cite", ""))
        address = web_address(facts.source.get("url", ""))
        if address and address not in {known for _, known in paper}:
            paper = [*paper, *([("; ", None)] if paper else []), (address, address)]
        made = tuple(CardAnswer(verdict_answer(verdicts)) for _ in verdicts[:1])
        tasks = (kind.replace("_", " ") for kind in values_by_path(settings_of_variants(results)).get("task", []))
        # by number, as figure-10 would come before figure-2 by name
        numbers = sorted(int(path.stem[7:]) for path in folder.glob("figures/figure-*.svg") if path.stem[7:].isdigit())
        figures = [folder / "figures" / f"figure-{number}.svg" for number in numbers]
        size = _size(folder, folder / THUMBNAIL_FILE)
        with using_words(facts.words):
            topics = dict.fromkeys([*tasks, *(quantity_name(v.quantity) for v in verdicts if v.quantity)])
        return replace(
            card,
            facts=facts,
            answers=tuple(
                CardAnswer(
                    fill_answer(answer["says"], verdicts),
                    tuple(says.get(claim, claim) for claim in outdated_claims(answer, verdicts)),
                )
                for answer in answers_of_profile(facts)
            )
            or made,
            verdicts=tuple(
                VerdictGroup(word, tuple((n, v.says) for n, v in numbered if v.verdict == word))
                for word in _sorted_words({v.verdict for _, v in numbered})
            ),
            # a claim that cites repeats verdicts, which are counted where they were judged
            sentences=sentences_of(facts, (v for v in verdicts if v.kind != "cited")),
            figure=next((_address(path.relative_to(root)) for path in figures if _size(folder, path)), ""),
            thumbnail=Thumbnail(_address((folder / THUMBNAIL_FILE).relative_to(root)), *size) if size else None,
            paper=tuple(paper),
            methods=_methods(results),
            topics=tuple(topics),
        )
    except _UNREADABLE as error:
        what = "; ".join(p.what for p in error.issues) if isinstance(error, LabError) else f"unreadable: {error!r}"
        return replace(card, error=what.replace(str(folder), place))


def _address(path: Path) -> str:
    """The address of a file from the index: its bytes, those that an address cannot hold escaped."""
    return quote(os.fsencode(path.as_posix()))


def _sorted_words(words: Iterable[str]) -> list[str]:
    """Verdicts in the order of pages. Words that this version does not know come last."""
    known = list(VERDICT_SYMBOLS)
    return sorted(words, key=lambda word: (known.index(word) if word in known else len(known), word))


def _size(folder: Path, path: Path) -> tuple[int, int] | None:
    """Width and height of a drawing in pixels, or None if the file is no drawing."""
    with suppress(ReportError):
        drawing = read_file(folder, path.relative_to(folder).as_posix()) or b""
        # the size stands in the first tag, before any data
        if size := _SIZE.search(drawing[:2048]):
            return int(size[1]), int(size[2])
    return None


def _methods(results: Results) -> tuple[str, ...]:
    """Name what is compared: methods, then other ways to build or train a Transformer, without their parameters.

    Where none varies, name the placement and the norm of every run.
    """
    labels = results.axes.select(pl.col("axis").str.split(".").list.last(), "value", "label")
    compared = [row for row in labels.unique(maintain_order=True).rows() if row[0] in _COMPARED_AXES]
    if not compared:
        by_path = values_by_path(settings_of_variants(results))
        fixed = [(path.split(".")[-1], value) for path in by_path for value in by_path[path]]
        compared = [(axis, value, format_value(value)) for axis, value in fixed if axis in ("placement", "norm")]
    compared.sort(key=lambda row: _COMPARED_AXES.index(row[0]))
    names = (  # a method has its author's name; a value of another axis is in words, without its parameters
        label if axis == "method" else axis_value_name(axis, value, label.partition(" (")[0])
        for axis, value, label in compared
    )
    return tuple(dict.fromkeys(names))


def tally_of(cards: Sequence[Card]) -> list[tuple[str, int]]:
    """How many claims of all these cards got each verdict, in the order of pages."""
    counts: dict[str, int] = {}
    for group in chain.from_iterable(card.verdicts for card in cards):
        counts[group.word] = counts.get(group.word, 0) + len(group.claims)
    return [(word, counts[word]) for word in _sorted_words(counts)]


def grouped_cards(cards: Sequence[Card]) -> list[CardGroup]:
    """The cards by source or theme: sources with a name, themes, papers, and what is of no source.

    The theme of a spec decides, then the name of its source. Of the others, questions on the same first paper stand
    together. The sentences of a source with a name are counted over all cards.
    """
    names = sorted({card.source for card in cards if card.source})
    papers = Counter(card.first_citation for card in cards if not (card.theme or card.source))

    def place(card: Card) -> tuple[int, str]:
        if card.error:
            return 5, _UNREADABLE_REPORTS
        if card.theme:
            return 1, card.theme
        if card.source:
            return 0, card.source
        if not card.paper:
            return 4, _NO_SOURCE
        if papers[card.first_citation] > 1:
            return 2, "".join(text for text, _ in card.first_citation)
        return 3, _OTHER_PAPERS

    placed: dict[tuple[int, str], list[Card]] = {}
    for card in cards:
        placed.setdefault(place(card), []).append(card)
    owned = [(source_of(sentence, names), sentence) for card in cards for sentence in card.sentences]
    groups = []
    # of each kind the one with most questions comes first
    for (kind, heading), members in sorted(placed.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1])):
        if kind == 0:
            sentences = [sentence for owner, sentence in owned if owner == heading]
        else:
            sentences = [s for card in members for s in card.sentences if source_of(s, names) == PAPERS]
        own, ours = ([s for s in sentences if (s.margin == "ours") is are_ours] for are_ours in (False, True))
        citations = Counter(card.first_citation for card in members)
        paper = max(citations, key=lambda citation: citations[citation]) if kind == 0 else ()
        named = _AUTHORS_AND_YEAR.match("".join(text for text, _ in paper))
        groups.append(
            CardGroup(
                heading=named[0] if named else heading,
                cards=tuple(members),
                paper=paper,
                whose=("this source", "the papers", "the paper")[kind] if kind < 3 else "the papers",
                own=tuple(verdict_tally(own)),
                ours=tuple(verdict_tally(ours)),
            )
        )
    return groups


def render_index(cards: Sequence[Card], *, first: Sequence[Card] = ()) -> str:
    """The index as one file of HTML, which needs nothing but the thumbnails and pages that it links to.

    Args:
        cards: the questions.
        first: the questions to begin with, which stand above the others as well.

    Raises:
        ReportError: the templates are not there.
    """
    folders = html.template_folders()
    jinja = html.template_environment(tuple(folders))
    style = jinja.get_template("style.css").render() + jinja.get_template("index.css").render()
    script = html.template(folders, "index.js") or ""
    page = jinja.get_template("index.html.j2").render(
        cards=cards,
        groups=grouped_cards(cards),
        first=first,
        papers=[paper for paper, _ in Counter(chain.from_iterable(card.papers for card in cards)).most_common()],
        meanings=VERDICT_MEANINGS,
        n_claims=count_noun(sum(card.n_claims for card in cards), "claim"),
        n_questions=count_noun(len(cards), "question"),
        tally=tally_of(cards),
        symbols=VERDICT_SYMBOLS,
        classes=VERDICT_CLASSES,
        policy=html.policy(style, script, images="'self'"),
        style=Markup(style),  # noqa: S704 - our own style sheets
        script=Markup(script),  # noqa: S704 - our own script
    )
    return html.shown_page(page)
