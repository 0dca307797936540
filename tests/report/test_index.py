"""The index of reports: a card for each question, whatever state its report is in."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.errors import ReportError
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import read_folder
from lnlab.report.index import Card, CardAnswer, Thumbnail, grouped_cards, read_cards, render_index, tally_of
from lnlab.report.page.citation_links import linked_citations
from lnlab.report.readme import listed_questions, pictures, with_answers
from lnlab.report.words.sentence_owners import Sentence
from lnlab.tables import Results
from tests.report.test_injection import STRINGS, Parsed
from tests.support.golden import holding
from tests.support.report_folders import save_folder

ROOT = Path(__file__).parents[2]
SVG = b'<svg class="marks" width="700" height="301.5" viewBox="0 0 700 301"></svg>'
DRAWN = SVG.replace(b"<svg ", b'<svg xmlns="http://www.w3.org/2000/svg" ')
ANSWER = {"says": "It grows {a}-fold on {a.n} seeds.", "while": {"a": "supported", "b": "supported"}, "profile": "real"}


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory, small):
    """Two questions: one with three claims and a figure, one with a default report only. No test changes them."""
    facts, results, (verdict, _) = small
    judged = [
        replace(verdict, claim="a", says="A grows.", verdict="supported", estimate=6.31, low=5.2, high=7.6, n=10),
        replace(verdict, claim="b", says="B & C fall.", verdict="contradicted", quantity="hidden_norm_sq"),
        replace(verdict, claim="d", says="D is flat.", verdict="undecided"),
    ]
    root = tmp_path_factory.mktemp("index") / "reports"
    related = {"first": "what comes first", "gone": "what is not there"}
    answered = replace(facts, related=related, name="grows", profile="real", answers=(ANSWER,))
    save_folder(root / "grows" / "real", answered, results, judged)
    (root / "grows" / "real" / "index.html").write_text("<!doctype html>")
    (root / "grows" / "real" / "figures").mkdir()
    for name in ("figure-10.svg", "figure-2.svg"):
        (root / "grows" / "real" / "figures" / name).write_bytes(SVG)
    (root / "grows" / "real" / "figures" / "thumbnail.svg").write_bytes(SVG.replace(b"700", b"172", 1))
    save_folder(root / "first", replace(facts, name="first", title="First", source={}), results, [])
    (root / "assets").mkdir()
    (root / "assets" / "vega.js").write_bytes(b"")
    return root


@pytest.fixture(scope="module")
def cards(unchanged):
    return read_cards(unchanged)


@pytest.fixture
def reports(unchanged, tmp_path):
    """A copy of these reports."""
    return shutil.copytree(unchanged, tmp_path / "reports")


def test_a_card_leads_to_the_cards_of_related_questions(cards, golden):
    page = render_index(cards)
    assert page.count('<a href="#question-first">') == 1
    golden(holding(page, "not there"))


def test_a_card_has_what_the_report_says(cards):
    first, grows = cards
    assert (first.name, first.folder, first.facts.title, first.page) == ("first", "first", "First", "")
    assert (first.n_claims, first.thumbnail, first.answers, first.paper) == (0, None, (), ())
    assert (grows.folder, grows.page, grows.n_claims) == ("grows/real", "grows/real/index.html", 3)
    assert [(group.word, group.claims) for group in grows.verdicts] == [
        ("supported", ((1, "A grows."),)),
        ("contradicted", ((2, "B & C fall."),)),
        ("undecided", ((3, "D is flat."),)),
    ]
    assert grows.answers[0].text == "It grows 6.3 [5.2,\u00a07.6]-fold on 10 seeds."
    assert grows.answers[0].outdated == ("B & C fall.",)
    assert grows.figure == "grows/real/figures/figure-2.svg"
    assert grows.thumbnail == Thumbnail("grows/real/figures/thumbnail.svg", 172, 301)
    assert ("arXiv 2002.04745", "https://arxiv.org/abs/2002.04745") in grows.paper
    assert set(grows.methods) == {"Post-LN", "Pre-LN"}
    assert grows.topics == ("translation", "gradient norm", "squared hidden norm")
    assert tally_of([first, grows]) == [("supported", 1), ("contradicted", 1), ("undecided", 1)]


def card(name, cite="", *, source="", theme="", **fields):
    facts = ReportFacts(
        name=name,
        title=name,
        spec="",
        path=f"{name}.yaml",
        digest="",
        version="",
        source={"name": source} if source else {},
        theme=theme,
    )
    return Card(name, name, facts=facts, paper=tuple(linked_citations(cite)), **fields)


def test_a_claim_that_cites_others_is_counted_where_they_were_judged(reports):
    before = read_cards(reports)[1]
    facts, results, (grows, *others) = read_folder(reports / "grows" / "real")
    save_folder(reports / "grows" / "real", facts, results, [replace(grows, kind="cited"), *others])
    (_, card) = read_cards(reports)
    assert card.n_claims == before.n_claims
    assert len(card.sentences) == len(before.sentences) - 1


def test_cards_stand_under_their_theme_their_source_or_their_paper(golden):
    of_talk = Sentence("source", "talk", "Figure 3", "supported")
    cards = [
        card("a", "Liu et al. 2020, Admin (arXiv 2004.08249); its code"),
        card(
            "b",
            "Zhang and Mackey 2022, a talk; Ba et al. 2016",
            source="talk",
            sentences=(of_talk, replace(of_talk, verdict="undecided", margin="ours")),
        ),
        card("c", "Xu 2021", theme="Depth", sentences=(replace(of_talk, name="", source="Xu 2021"),)),
        card("d", "Liu et al. 2020, Admin (arXiv 2004.08249)"),
        card("e", "Huang 2020"),
        card("f"),
        card("g", error="unreadable"),
        # a sentence of the talk is one wherever it is judged
        card("h", "Xu 2021", theme="Depth", sentences=(replace(of_talk, name="", source="the talk, equation 2"),)),
    ]
    groups = grouped_cards(cards)
    golden([f"{group.heading}: {[card.name for card in group.cards]}" for group in groups])
    assert (groups[0].own, groups[0].ours) == ((("supported", 2),), (("undecided", 1),))
    assert (groups[1].own, groups[1].ours) == ((("supported", 1),), ())
    page = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", "", render_index(cards), flags=re.DOTALL)
    golden(holding(re.sub(r"\s+", " ", page), "Sentences of this"))
    assert cards[1].papers == ("Zhang and Mackey 2022", "Ba et al. 2016")
    assert cards[4].papers == ("Huang 2020",)


def test_the_index_begins_with_the_questions_that_the_readme_lists(reports):
    cards = read_cards(reports)
    readme = "- [Does it grow?](reports/grows/real/index.html)\n- [Other](https://example.org/index.html)\n"
    first = listed_questions(readme, cards, reports, reports.parent / "README.md")
    assert [card.name for card in first] == ["grows"]
    assert '<h2 id="begin">' in render_index(cards, first=first)
    assert '<h2 id="begin">' not in render_index(cards)


def test_a_page_that_leads_on_to_another_has_no_card(reports):
    (reports / "moved" / "real").mkdir(parents=True)
    link = '<meta charset="utf-8"><meta http-equiv="refresh" content="0; url=../../grows/real/index.html">'
    (reports / "moved" / "real" / "index.html").write_text(f"<!doctype html>{link}")
    assert [card.name for card in read_cards(reports)] == ["first", "grows"]
    # a page that lost its tables is still told of
    (reports / "moved" / "real" / "index.html").write_text("<!doctype html><p>http-equiv refresh")
    assert [card.name for card in read_cards(reports)] == ["first", "grows", "moved"]


def test_a_question_without_an_answer_of_its_author_has_one_of_its_claims(reports):
    facts, results, verdicts = read_folder(reports / "grows" / "real")
    save_folder(reports / "grows" / "real", replace(facts, answers=()), results, verdicts)
    first, grows = read_cards(reports)
    assert first.answers == (), "nothing was judged"
    (made,) = grows.answers
    assert "B & C fall" in made.text
    assert made.outdated == ()


def test_profiles_are_chosen_by_name(reports, golden):
    facts, results, verdicts = read_folder(reports / "first")
    for name in ("paper", "other"):
        save_folder(reports / "first" / name, replace(facts, profile=name), results, verdicts)
        save_folder(reports / "grows" / name, replace(facts, profile=name), results, verdicts)
    assert [card.folder for card in read_cards(reports)] == ["first", "grows/real"]
    assert [card.folder for card in read_cards(reports, ["real", "paper"])] == ["first/paper", "grows/real"]
    assert [card.folder for card in read_cards(reports, ["real"])] == ["grows/real"]
    with golden.raises(ReportError):
        read_cards(reports, ["smoke"])


@pytest.mark.parametrize("spoil", ["gone", "garbage", "a list", "no verdict column"])
def test_a_report_that_cannot_be_read_has_a_card_that_says_so(reports, spoil, golden):
    data = reports / "grows" / "real" / "data"
    if spoil == "gone":
        (data / "experiment.json").unlink()
    elif spoil == "no verdict column":
        pl.DataFrame({"claim": ["a"]}).write_parquet(data / "verdicts.parquet")
    else:
        (data / "experiment.json").write_text("{" if spoil == "garbage" else "[]")
    first, grows = read_cards(reports)
    assert first.error == ""
    assert grows.error
    assert str(reports) not in grows.error, "the index is the same wherever it is made"
    page = render_index([first, grows])
    golden(holding(page, "This report cannot"))
    assert 'id="question-grows"' in page


def test_a_folder_without_reports_is_refused(tmp_path):
    with pytest.raises(ReportError, match="holds no report"):
        read_cards(tmp_path)
    with pytest.raises(ReportError, match="holds no report"):
        read_cards(tmp_path / "nowhere")


def test_the_page_is_the_same_wherever_it_is_made_and_leads_to_files_that_are_there(reports, tmp_path):
    page = render_index(read_cards(reports))
    moved = reports.rename(tmp_path / "elsewhere")
    assert render_index(read_cards(moved)) == page
    (moved / "index.html").write_text(page)
    parsed = Parsed(page)
    local = {url.partition("#")[0] for url in parsed.urls if not url.startswith(("https://", "#"))}
    assert local == {"grows/real/index.html", "grows/real/figures/thumbnail.svg"}
    assert all((moved / url).is_file() for url in local)
    assert "3 claims on 2 questions" in page
    assert [(name, value) for tag, name, value in parsed.attributes if tag == "img" and name == "loading"] == [
        ("loading", "lazy")
    ]


def test_no_text_of_a_report_becomes_markup(reports, small):
    """Of a run without numbers, which no card shows."""
    facts, results, (verdict, _) = small
    run = results.runs.head(1)
    axes = results.axes.filter(pl.col("run").is_in(run["run"].implode()))
    results = Results(run, axes, {name: table.clear() for name, table in results.tables.items()})
    plain = Parsed(render_index(read_cards(reports)))
    source = {"cite": "EVIL", "url": "EVIL"}
    answer = {"says": "EVIL", "while": {"a": "supported"}, "profile": None}
    texts = {"title": "EVIL", "question": "EVIL", "source": source, "path": "EVIL", "answers": (answer,)}
    judged = [replace(verdict, claim="a", says="EVIL", verdict="contradicted")]
    save_folder(reports / "hostile", replace(facts, **texts), results, judged)
    (reports / "hostile" / "index.html").touch()
    written = (reports / "hostile/data/experiment.json").read_text()
    for number, text in enumerate(STRINGS):
        data = shutil.copytree(reports / "hostile", reports / f"hostile{number}") / "data"
        (data / "experiment.json").write_text(written.replace('"EVIL"', json.dumps(text)))
        says = pl.read_parquet(data / "verdicts.parquet").with_columns(says=pl.lit(text))
        says.write_parquet(data / "verdicts.parquet")
    shutil.rmtree(reports / "hostile")
    cards = read_cards(reports)
    assert [card.error for card in cards if card.error] == []
    parsed = Parsed(render_index(cards))
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements}
    assert sum(tag == "script" for tag, _ in parsed.elements) == 1
    assert parsed.texts == plain.texts, "scripts and styles are ours"
    assert not [name for _, names in parsed.elements for name in names if name.startswith("on")]
    assert all(
        re.match(r"(https?://|hostile\d+/index\.html|grows/|first/|figures/|#question-|#group-)", url)
        for url in parsed.urls
    )


def test_the_questions_that_a_readme_lists_have_the_answers_of_their_reports(reports, tmp_path):
    readme = tmp_path / "README.md"
    others = ["before", "- [Elsewhere](https://example.org/index.html) stays.", "- [All](reports/index.html) stay."]
    text = "\n".join([*others, "- [Does it grow?](reports/grows/real/index.html) An old answer."])
    written = with_answers(text, read_cards(reports), reports, readme).splitlines()
    assert written[:3] == others
    answer = "It grows 6.3 \\[5.2,\u00a07.6\\]-fold on 10 seeds. (Older than the verdicts.)"
    assert written[3:] == [f"- [Does it grow?](reports/grows/real/index.html) {answer}"]
    assert with_answers("\n".join(written), read_cards(reports), reports, readme).splitlines() == written
    with pytest.raises(ReportError, match="lists reports/gone/index"):
        with_answers("- [Gone](reports/gone/index.html)", read_cards(reports), reports, readme)
    broken = [replace(card, answers=(), error="cannot be read") for card in read_cards(reports)]
    assert with_answers(text, broken, reports, readme) == text, "what cannot be read changes nothing"


@pytest.mark.parametrize("relative", [("reports",), ("README.md",), ("reports", "README.md")])
def test_paths_of_a_readme_and_of_reports_need_not_be_alike(reports, tmp_path, monkeypatch, relative, golden):
    monkeypatch.chdir(tmp_path)
    root, readme = (Path(name) if name in relative else tmp_path / name for name in ("reports", "README.md"))
    cards = read_cards(root)
    assert "It grows" in with_answers("- [x](reports/grows/real/index.html)", cards, root, readme)
    with golden.raises(ReportError):
        with_answers("- [Gone](reports/gone/index.html)", cards, root, readme)
    (tmp_path / "reports/grows/real/figures/figure-2.svg").write_bytes(DRAWN)
    (picture,) = pictures("![growth](reports/assets/grows.png)", cards, root, readme)
    assert picture == readme.parent / "reports/assets/grows.png"


@pytest.mark.parametrize("content", [b"", b"no drawing", SVG, b"\xff", DRAWN.replace(b'width="700"', b'width="0"')])
def test_a_figure_that_is_no_drawing_is_one_line(reports, tmp_path, content):
    cards = read_cards(reports)
    (reports / "grows/real/figures/figure-2.svg").write_bytes(content)
    with pytest.raises(ReportError, match=r"figure-2\.svg: .*--from") as told:
        pictures("![growth](reports/assets/grows.png)", cards, reports, tmp_path / "README.md")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("text", STRINGS)
def test_no_text_of_a_report_becomes_markup_of_the_readme(unchanged, cards, text):
    hostile = [replace(cards[0], page="first/index.html", answers=(CardAnswer(text),))]
    item = "- [x](reports/first/index.html)"
    written = with_answers(item, hostile, unchanged, unchanged.parent / "README.md")
    assert written.startswith(item)
    assert "\n" not in written
    assert not re.search(r"(?<!\\)[<|`]", written.removeprefix(item))


def test_the_committed_index_and_the_readme_say_what_the_committed_reports_say():
    """Its style is not compared: who draws the pages again draws it again."""
    cards = read_cards(ROOT / "reports", ["real"])
    assert [card.name for card in cards if card.error] == []
    body = re.compile(r"<main.*</main>", re.DOTALL)
    readme = ROOT / "README.md"
    first = listed_questions(readme.read_text(), cards, ROOT / "reports", readme)
    assert len(first) == 5
    committed, now = (ROOT / "reports" / "index.html").read_text(), render_index(cards, first=first)
    assert body.search(committed)[0] == body.search(now)[0], "run `make index`"
    assert with_answers(readme.read_text(), cards, ROOT / "reports", readme) == readme.read_text(), "run `make index`"
