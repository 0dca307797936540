"""The page as text: its policy, its order, what stands beside every figure."""

import base64
import hashlib
import html
import os
import re
from dataclasses import replace
from time import process_time

import pytest

from lnlab.errors import ReportError
from lnlab.report.drawing import Drawing
from lnlab.report.page.html import template, template_environment, template_folders, unbroken_names
from lnlab.report.write import write_report


def policy(page):
    (found,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    return html.unescape(found)


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_the_slim_page_allows_its_own_style_its_own_files_and_nothing_else(folder):
    page = (folder / "index.html").read_text()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    expected = f"default-src 'none'; script-src 'self'; style-src {digest(style)}; img-src 'self'; "
    assert policy(page) == expected + "base-uri 'none'; form-action 'none'"
    assert "unsafe" not in policy(page)


def test_the_single_file_allows_exactly_the_script_it_holds(small, tmp_path):
    page = write_report(tmp_path, *small, drawing=Drawing(single_file=True)).files[0].read_text()
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(script) == 1
    assert f"script-src {digest(script[0])};" in policy(page)
    assert "img-src data:;" in policy(page)
    urls = re.findall(r' (?:src|href)="([^"]*)"', page.replace(script[0], ""))
    beside = ("#", "data:image/svg+xml;base64,", "tables/", "notebook.ipynb")
    assert {u for u in urls if not u.startswith(beside)} == {"https://arxiv.org/abs/2002.04745"}


def test_every_figure_has_words_for_those_who_cannot_see_it_and_a_table(folder):
    page = (folder / "index.html").read_text()
    images = re.findall(r'<img src="figures/[^"]+" alt="([^"]*)"', page)
    assert len(images) == 6
    assert all(len(alt) > 60 for alt in images)
    assert page.count("Data of figure") == 6


def test_the_page_reads_from_the_question_to_the_command(folder):
    page = (folder / "index.html").read_text()
    places = []
    for text in LANDMARKS:
        places.append(page.index(text, places[-1] if places else 0))
    assert len(places) == len(LANDMARKS)


LANDMARKS = (
    "Does the gradient at initialization grow",
    'class="answer"',
    'href="https://arxiv.org/abs/2002.04745"',
    "Figure 3 (b): decoder W2, ",
    'id="figure-1"',
    "Data of figure 1",
    "Claims of the source",
    " decoder the gradient of W2 grows toward the output",
    'aria-label="Contents"',
    'id="figure-2"',
    "Differences from the source",
    'id="methods"',
    'id="statistics"',
    "lnlab run specs/xiong_fig3.yaml",
    "# yaml-language-server",
    'class="provenance"',
)


def test_differences_from_the_source_are_rows_of_one_table_and_sentences_follow_it(small, tmp_path):
    facts, *rest = small
    rows = (
        {"what": "data", "source": "WMT14, as in arXiv 1706.03762", "ours": "Multi30k", "matters": "levels move"},
        "Nothing <else> differs.",
        {"what": "width", "ours": "64"},
    )

    def section(name, differs):
        write_report(tmp_path / name, replace(facts, differs=differs), *rest)
        page = (tmp_path / name / "index.html").read_text()
        (found,) = re.findall(r'<section class="part" id="differs">(.*?)</section>', page, re.DOTALL)
        return found

    def texts(tag, page):
        return [re.sub("<[^>]*>", "", cell) for cell in re.findall(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page)]

    page = section("all", rows)
    assert texts("th", page) == ["Setting", "Source", "Here", "Consequence"]
    cells = ["data", "WMT14, as in arXiv 1706.03762", "Multi30k", "levels move", "width", "–", "64", "–"]
    assert texts("td", page) == cells
    assert 'href="https://arxiv.org/abs/1706.03762"' in page
    assert texts("li", page) == ["Nothing &lt;else&gt; differs."]
    assert texts("th", section("ours", rows[2:])) == ["Setting", "Here"], "no column is empty"
    assert "<table>" not in section("sentences", ("Small models.", rows[1]))


def test_claims_that_are_no_longer_made_are_listed_with_their_verdict_the_reason_and_what_they_would_need(
    small, golden, tmp_path
):
    facts, *rest = small
    claims = [
        {"id": "grows", "says": "It <b>grows</b>.", "was": "supported"},
        {"id": "falls", "says": "It falls.", "was": "contradicted"},
    ]
    repeated = {"why": "They repeat a claim.", "claims": claims[:1]}
    unfair = {"why": "Nothing fails here.", "needs": "a rate that fails.", "claims": claims[1:]}

    def listed(name, dropped):
        write_report(tmp_path / name, replace(facts, dropped=dropped), *rest)
        page = (tmp_path / name / "index.html").read_text()
        return re.findall(r'<details class="overview" id="dropped">(.*?)</details>', page, re.DOTALL)

    (found,) = listed("some", (repeated, unfair))
    text = " ".join(re.sub("<[^>]*>", "", found).split())
    golden(text)
    assert listed("none", ()) == []


def test_templates_are_found_beside_the_package_and_render_strictly():
    made = template_environment(template_folders())
    with pytest.raises(Exception, match="is undefined"):
        made.get_template("page.html.j2").render()
    assert made.from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"


@pytest.mark.usefixtures("promptly")
def test_a_template_that_is_a_pipe_or_too_large_is_refused_unread(tmp_path, golden):
    os.mkfifo(tmp_path / "style.css")
    with (tmp_path / "page.js").open("wb") as file:
        file.truncate(50 * 2**20)
    with golden.raises(ReportError):
        template([tmp_path], "style.css")
    with golden.raises(ReportError):
        template([tmp_path], "page.js")


@pytest.mark.parametrize("word", ["a", "a-", "1", "1.,", "A-", "-"])
def test_a_word_of_any_length_is_looked_at_once(word):
    """A hundred thousand letters took minutes, where each place was the beginning of a search to their end."""
    began = process_time()
    assert unbroken_names(word * (100_000 // len(word))).count("a") < 200_000
    assert process_time() - began < 5


def test_a_name_with_a_hyphen_is_not_broken_and_all_else_is_escaped(golden):
    text = unbroken_names(
        "In <b>Post-LN</b>, 7.0-fold, QK-norm and warm-up, Adam-2k, not in x - y, LN- or in a post-LNorm"
    )
    names = re.findall(r'<span class="name">([^<]*)</span>', text)
    assert names == ["Post-LN", "7.0-fold", "QK-norm", "warm-up", "Adam-2k"]
    golden(text)


def test_a_mark_of_a_claim_has_a_name_that_no_count_has(folder):
    page = (folder / "index.html").read_text()
    folded = re.findall(r'<details class="tested">(.*?)</details>', page, re.DOTALL)
    marks = re.findall(r'<a href="#claim-(\d+)">.*?</a> (<span class="unseen">.*?</span>)', " ".join(folded), re.DOTALL)
    assert marks
    marks += re.findall(
        r'id="claim-(\d+)"><details class="claim">\s*<summary><span class="mark">(.*?)</span></span>', page
    )
    assert len(marks) > 2
    for number, mark in marks:
        heard = re.sub(r'<span[^>]* aria-hidden="true">.*?</span>', "", mark)
        name = re.sub(r"<[^>]+>", "", heard).strip()
        assert re.match(rf"claim {number}[:,] [a-z]", name), name
