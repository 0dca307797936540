"""The index as a browser shows it: silent, searchable, a plain list without a script, and no wider than the screen."""

import shutil
from pathlib import Path

import pytest

from lnlab.report.folder import read_folder
from lnlab.report.index import read_cards, render_index
from tests.report.test_browser import CHROMIUM, SCREENS, browser, serious, tabs, visit

ROOT = Path(__file__).parents[2]
QUESTIONS = ("xiong_fig3", "yu_convergence", "depth_zoo")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium is not on PATH"),
]
assert browser
assert tabs
assert visit


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The index of three committed reports and one that cannot be read."""
    root = tmp_path_factory.mktemp("published")
    for name in QUESTIONS:
        shutil.copytree(ROOT / "reports" / name, root / name)
    shutil.copy(root / "depth_zoo/real/figures/figure-1.svg", root / "depth_zoo/real/figures/thumbnail.svg")
    (root / "broken" / "real" / "data").mkdir(parents=True)
    path = root / "index.html"
    path.write_text(render_index(read_cards(root)))
    return path


def visible_cards(page):
    return [card.get_attribute("id") for card in page.locator(".card").all() if card.is_visible()]


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_index_with_a_broken_report_is_silent_accessible_and_fits(visit, index, width, scheme):
    is_silent_accessible_and_fits(visit, index, width, scheme)


def is_silent_accessible_and_fits(visit, path, width, scheme):
    page, said, asked = visit(path, width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
    loaded = "Promise.all([...document.images].map(i => i.complete || new Promise(r => { i.onload = i.onerror = r })))"
    page.evaluate(f"{loaded}.then(() => true)")  # the page's policy forbids what wait_for_function evaluates
    thumbnails = len(list(path.parent.glob("*/real/figures/thumbnail.svg")))
    assert page.evaluate("[...document.images].filter(i => i.naturalWidth > 0).length") == thumbnails > 0
    assert said == []
    assert all(url.startswith(path.parent.as_uri()) for url in asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []


def test_a_search_by_claim_paper_method_and_quantity_finds_its_cards(visit, index):
    page, said, _ = visit(index)
    field = page.get_by_role("searchbox")
    all_cards = [f"question-{name}" for name in ("yu_convergence", "xiong_fig3", "depth_zoo", "broken")]
    assert visible_cards(page) == all_cards
    _, _, verdicts = read_folder(index.parent / "xiong_fig3" / "real")
    for words, expected in [
        (verdicts[0].says.upper(), ["question-xiong_fig3"]),
        ("  yu   2024 ", ["question-yu_convergence"]),
        ("deepnorm", ["question-depth_zoo"]),
        ("convergence boundary", ["question-yu_convergence"]),
        ("2002.04745", ["question-xiong_fig3", "question-depth_zoo"]),
        ("cannot be read", ["question-broken"]),
        ("no such words", []),
    ]:
        field.fill(words)
        assert visible_cards(page) == expected, words
        groups = [group for group in page.locator(".group").all() if group.is_visible()]
        assert all(any(card.is_visible() for card in group.locator(".card").all()) for group in groups)
        assert page.get_by_role("status").inner_text() == f"{len(expected)} of 4 questions"
    field.fill(verdicts[0].says)
    claims = page.locator("#question-xiong_fig3 details li").all()
    assert [claim.inner_text() for claim in claims if claim.is_visible()] == [verdicts[0].says]
    assert page.locator("#question-xiong_fig3 summary .count").text_content() == f"1 of {len(verdicts)} claims"
    field.press("Enter")
    field.fill("")
    assert visible_cards(page) == all_cards
    assert page.locator(".searched").count() == page.locator("details[open]").count() == 0
    assert page.locator("#question-xiong_fig3 summary .count").text_content() == f"All {len(verdicts)} claims"
    assert said == []


def test_a_verdict_and_a_paper_leave_their_questions_and_claims(visit, index):
    page, said, _ = visit(index)
    cards = {card.name: card for card in read_cards(index.parent)}
    contradicted = {
        name: group.claims for name, card in cards.items() for group in card.verdicts if group.word == "contradicted"
    }
    page.locator("#verdict").select_option("contradicted")
    assert sorted(visible_cards(page)) == sorted(f"question-{name}" for name in contradicted)
    for name, claims in contradicted.items():
        shown = [one.inner_text() for one in page.locator(f"#question-{name} details li").all() if one.is_visible()]
        assert shown == [says for _, says in claims]
    page.locator("#verdict").select_option("")
    page.locator("#paper").select_option("Yu 2024")
    assert visible_cards(page) == ["question-yu_convergence"]
    assert page.locator("details[open]").count() == 0
    assert said == []


def test_without_a_script_it_is_a_list_of_all_questions(visit, index):
    page, said, _ = visit(index, script=False)
    assert len(visible_cards(page)) == len(QUESTIONS) + 1
    assert not page.get_by_role("searchbox").is_visible()
    page.locator("#question-yu_convergence summary").click()
    assert page.locator("#question-yu_convergence details li").first.is_visible()
    assert said == []


def test_a_card_and_a_claim_lead_to_the_page(visit, index):
    page, _, _ = visit(index)
    page.locator("#question-xiong_fig3 h3 a").press("Enter")
    assert page.url == (index.parent / "xiong_fig3" / "real" / "index.html").as_uri()
    page.go_back()
    page.locator("#question-xiong_fig3 summary").click()
    link = page.locator("#question-xiong_fig3 details li a").first
    sentence = link.inner_text()
    link.click()
    assert sentence in page.locator(":target").inner_text()
