"""The page: Jinja with escaping always on, drawings as JSON data, a policy that lets no other script or style run."""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

import lnlab
from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import VERDICT_SYMBOLS, counted_word, verdict_label
from lnlab.errors import LabError, ReportError
from lnlab.issues import Issue
from lnlab.printable import obeyed_character, printable
from lnlab.report.charts.render import vega_bundle
from lnlab.report.facts import ReportFacts
from lnlab.report.loss_units import loss_item, mean_over
from lnlab.report.page import methods, provenance
from lnlab.report.page.asked import asked_lines
from lnlab.report.page.citation_links import linked_citations, web_address
from lnlab.report.page.claim_list import claim_groups, roles_sentence
from lnlab.report.page.figures import DrawnPart
from lnlab.report.page.first_screen import not_shown, quantity_definitions, scope_in_words
from lnlab.report.page.layout import fold_repeated_sentences, part_of_page
from lnlab.report.page.methods_table import method_grid
from lnlab.report.theme import THEME
from lnlab.report.words import verdict_words
from lnlab.report.words.answer_text import answers_of_profile, fill_answer, outdated_claims, verdict_answer
from lnlab.report.words.cited_claims import cited_by_arrows
from lnlab.report.words.look_words import frozen_sentence
from lnlab.report.words.quantity_words import using_words
from lnlab.report.words.sentence_owners import sentences_of, tally_by_owner
from lnlab.report.words.wording import join_words
from lnlab.seed_words import seed_word, seeds_word
from lnlab.tables import Results
from lnlab.userfiles import read_user_file

_CODE = re.compile(r"(<(?:script|style)\b[^>]*>.*?</(?:script|style)>)", re.DOTALL)
_DATA = '<script type="application/json"'
_SUSPECT = re.compile(r"[\x80-\U0010ffff]")
_ONE_WORD = re.compile(
    r"((?<!\w-)\b(?:\w+-)+LN\b|\d[\d.,]{,30}-fold\b|\b(?:[A-Z]+|warm|warmed|pre|cross)-[\w-]*\w|\b[A-Z]\w*-\d\w*)"
)


def template_folders() -> tuple[Path, ...]:
    """The folder of templates, in the package or beside it (a checkout).

    Raises:
        ReportError: no ``page.html.j2`` is there.
    """
    package = Path(lnlab.__file__).parent
    places = (package / "templates", package.parent / "templates")
    shipped = tuple(place for place in places if (place / "page.html.j2").is_file())[:1]
    if not shipped:
        where = join_words(map(str, places), "or")
        raise ReportError(Issue("not-found", where, "holds no page.html.j2", "install lnlab again"))
    return shipped


@cache
def template_environment(folders: tuple[Path, ...]) -> Environment:
    """The Jinja environment of every template. It escapes text and refuses names that do not exist.

    To compile the templates takes as long as to draw a small page, so that one process does it once.
    """

    def load(name: str) -> tuple[str, None, Callable[[], bool]] | None:
        text = template(folders, name)
        return None if text is None else (text, None, lambda: template(folders, name) == text)

    jinja = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.globals |= {"seed": seed_word, "seeds": seeds_word}
    jinja.filters["unbroken"] = unbroken_names
    jinja.filters["label"] = verdict_label
    jinja.filters["counted"] = counted_word
    jinja.policies["json.dumps_kwargs"] = {
        "sort_keys": True,
        "allow_nan": False,
        "ensure_ascii": False,
        "separators": (",", ":"),
    }
    return jinja


def shown_page(page: str) -> str:
    """A page in whose text and data no character of others' is obeyed: each is written as its escape.

    Our own scripts and styles stay as they are: the policy of the page has their digests.
    """
    pieces = _CODE.split(page)
    pieces[::2] = map(printable, pieces[::2])
    pieces[1::2] = (_SUSPECT.sub(_as_json, piece) if piece.startswith(_DATA) else piece for piece in pieces[1::2])
    return "".join(pieces)


def _as_json(match: re.Match[str]) -> str:
    return match[0] if obeyed_character(match[0]) is None else json.dumps(match[0])[1:-1]


def unbroken_names(text: str) -> Markup:
    """The text, escaped, with each ``Post-LN``, ``warm-up`` and ``7.0-fold`` in a span that keeps it on one line."""
    return Markup("").join(
        Markup('<span class="name">{}</span>').format(piece) if place % 2 else escape(piece)
        for place, piece in enumerate(_ONE_WORD.split(text))
    )


def template(folders: Sequence[Path], name: str) -> str | None:
    """The text of the first template of that name, or None where there is none.

    Raises:
        ReportError: it cannot be read, or is not UTF-8.
    """
    for path in (folder / name for folder in folders if (folder / name).exists()):
        try:
            return read_user_file(path, "template").decode()
        except LabError as error:
            raise ReportError(*error.issues) from error
        except UnicodeDecodeError as error:
            raise ReportError(Issue("not-text", str(path), "is not UTF-8", "save it as UTF-8")) from error
    return None


def page_script(folders: Sequence[Path]) -> str:
    """The one script of a page: Vega and the lines that put the live drawings into their places."""
    return vega_bundle(template(folders, "page.js") or "")


def page_style(folders: Sequence[Path]) -> str:
    """The style of a page."""
    return template_environment(tuple(folders)).get_template("style.css").render()


def render_page(
    folders: Sequence[Path],
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    drawn_parts: Sequence[DrawnPart],
    *,
    root: str | None,
    script: str,
    style: str,
    shared: str | None,
    lean: bool = False,
    is_there: Callable[[str], bool],
) -> str:
    """The page as text.

    Args:
        folders: of the templates.
        facts: what no table says.
        results: for methods, provenance and missing runs.
        verdicts: in the order of the spec.
        drawn_parts: the sections, drawn.
        root: path from the page to the folder of all reports. None means that the page links to no other page.
        script: the one script of the page.
        style: of the page.
        shared: path from the page to the shared script. None puts everything into one file.
        lean: leave out what the data beside the page say as well, and links to files that a lean report lacks.
        is_there: whether a file exists, by its path from the page. The page links only to files that exist.
    """
    jinja = template_environment(tuple(folders))
    inline = None if shared else script
    single = shared is None
    parts = [part_of_page(drawn, single=single) for drawn in drawn_parts]
    for figure in [figure for part in parts for figure in part["figures"]][1:] if lean and not single else ():
        figure["source"] = ""  # drawn by the script of the page alone
    fold_repeated_sentences(figure for part in parts for figure in part["figures"])
    # the first that shows something stands beside the answer
    hero = next((part for part in parts if part["figures"]), None)
    sections: dict[str, list[tuple[int, str]]] = {}  # number and title of each that shows a claim
    for part in parts:
        for claim in part["claims"]:
            sections.setdefault(claim, []).append((part["number"], part["title"] or part["heading"]))
    with using_words(facts.words), mean_over(loss_item(results)):
        definitions = quantity_definitions(verdicts)
    anchors = {name: (f"quantity-{number}", words) for number, (name, words, _) in enumerate(definitions, 1)}
    groups = claim_groups(facts, verdicts, sections, results, root, anchors)
    rows = {row.verdict.claim: row for _, group in groups for row in group}
    answers = [
        {
            "says": fill_answer(answer["says"], verdicts),
            "words": answer.get("words") or {},
            "changed": [(rows.get(c), c, answer["while"][c]) for c in outdated_claims(answer, verdicts)],
        }
        for answer in answers_of_profile(facts)
    ]
    made = "" if answers else verdict_answer(verdicts)
    told = " ".join(str(answer["says"]) for answer in answers) or made or verdict_words.verdict_count_sentence(verdicts)
    related: list[tuple[str, str | None]] = []  # what another experiment adds, and its page in the same profile
    for name, adds in facts.related.items():
        address = "/".join((root or "", name, *((facts.profile,) if facts.profile else ()), "index.html"))
        related.append((adds, address if root is not None and is_there(address) else None))
    arrows = cited_by_arrows(facts.sections, verdicts)
    listed = [verdict for verdict in verdicts if verdict.claim not in arrows]
    groups = [(name, [row for row in group if row.verdict.claim not in arrows]) for name, group in groups]
    for part in parts:
        ordered = sorted((rows[c] for c in part["claims"] if c in rows), key=lambda row: row.number)
        part["verdicts"] = [row for row in ordered if row.verdict.claim not in arrows]
        part["arrows"] = [row for row in ordered if row.verdict.claim in arrows]
        part["counts"] = verdict_words.verdict_counts([row.verdict for row in part["verdicts"]])
    questions, more_questions = asked_lines(facts, rows)
    page = jinja.get_template("page.html.j2").render(
        facts=facts,
        questions=questions,
        more_questions=more_questions,
        theme=dict(THEME),
        lean=lean,
        policy=policy(style, inline),
        script_path=shared,
        script=None if inline is None else Markup(inline),  # noqa: S704 - our own bundle, checked for </script
        answers=answers,
        description=told,
        image=next((figure["source"] for part in parts for figure in part["figures"]), "") if not single else "",
        not_shown=not_shown(facts, [rows[verdict.claim] for verdict in listed]),
        definitions=definitions,
        made=made,
        tally=verdict_words.verdict_count_sentence(listed),
        counts=verdict_words.verdict_counts(listed),
        owners=tally_by_owner(sentences_of(facts, listed)) if facts.has_source else [],
        symbols=VERDICT_SYMBOLS,
        classes=verdict_words.VERDICT_CLASSES,
        missing_runs=provenance.partial_report_sentence(results),
        paper=linked_citations(provenance.cited_source(facts)),
        paper_address=web_address(facts.source.get("url", "")),
        groups=[(name, group) for name, group in groups if group],
        intervals=verdict_words.intervals_sentence(verdicts),
        roles=roles_sentence(facts, verdicts),
        scope=scope_in_words(verdict_words.common_scope(verdicts)),
        hero=hero,
        parts=parts,
        index=f"{root}/index.html#question-{facts.name}"
        if root is not None and is_there(f"{root}/index.html")
        else None,
        related=related,
        differs=[linked_citations(one) for n, one in enumerate(facts.differs) if n and isinstance(one, str)],
        differences=_difference_table([one for one in facts.differs if not isinstance(one, str)]),
        methods=methods.methods_paragraphs(facts, results),
        method_table=method_grid(results),
        decisions=provenance.decision_grid(facts),
        outcomes=provenance.unfinished_runs_grid(results),
        settings=provenance.settings_grid(results),
        frozen=frozen_sentence(facts.frozen, [verdict.claim for verdict in verdicts]),
        multiplicity=verdict_words.multiplicity_sentence(verdicts) if verdicts else "No claim was judged.",
        provenance=provenance.provenance_pairs(facts, results),
        commands=provenance.command_lines(facts),
    )
    return shown_page(page)


def _difference_table(
    differences: Sequence[Mapping[str, str]],
) -> tuple[list[str], list[list[list[tuple[str, str | None]]]]] | None:
    """Headings and rows with linked citations, without a column that no difference fills. None without differences."""
    headings = {"what": "Setting", "source": "Source", "ours": "Here", "matters": "Consequence"}
    kept = [key for key in headings if any(key in one for one in differences)]
    rows = [[linked_citations(one.get(key, "–")) for key in kept] for one in differences]
    return ([headings[key] for key in kept], rows) if rows else None


def figure_pages(
    folders: Sequence[Path], facts: ReportFacts, drawn_parts: Sequence[DrawnPart], style: str, script_path: str
) -> dict[str, bytes]:
    """A page for each figure alone, ``figures/figure-3.html``, which another page can show in a frame.

    Args:
        folders: of the templates.
        facts: for the title.
        drawn_parts: the sections, drawn.
        style: of the pages.
        script_path: path from these pages to the script that they share with the report.
    """
    template = template_environment(tuple(folders)).get_template("figure.html.j2")
    files = {}
    for drawn in drawn_parts:
        for figure in part_of_page(drawn, single=False)["figures"]:
            files[f"figures/{figure['stem']}.html"] = shown_page(
                template.render(
                    facts=facts,
                    figure={**figure, "source": f"{figure['stem']}.svg", "caption": figure["chart"].caption},
                    theme=dict(THEME),
                    lean=True,  # its data stand beside it
                    policy=policy(style, None),
                    script_path=script_path,
                    style=Markup(style),  # noqa: S704 - our own style sheet
                    symbols=VERDICT_SYMBOLS,
                    classes=verdict_words.VERDICT_CLASSES,
                )
            ).encode()
    return files


def policy(style: str, inline: str | None, images: str | None = None) -> str:
    """The content security policy: this style, this script, images of this page, and nothing else.

    A script that is None lies beside the page. A page with its script inside has its images inside as well,
    unless ``images`` says where they lie.
    """
    scripts, beside = (f"'{_hash(inline)}'", "data:") if inline is not None else ("'self'", "'self'")
    images = images or beside
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(style)}'; img-src {images}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
