"""What a reader finds on a page: the answer first, then every claim on one line, then the sections, nothing twice."""

import re
from dataclasses import replace
from time import process_time
from types import SimpleNamespace

import pytest

from lnlab.report.page.citation_links import cited_papers, linked_citations, web_address
from lnlab.report.page.claim_list import claim_groups
from lnlab.report.page.layout import fold_repeated_sentences
from lnlab.report.write import render_report, report_folder, write_report
from tests.support.golden import holding


@pytest.fixture(scope="module")
def answered(small, tmp_path_factory):
    """A page with an answer written for one verdict that is still so and one that is not; its claims have two roles."""
    facts, results, (one, other) = small
    first, second = facts.sections
    given = replace(
        facts,
        answers=(
            {"says": f"It grows {{{one.claim}}} times over {{{one.claim}.n}} seeds.", "profile": None}
            | {"while": {one.claim: one.verdict, other.claim: "contradicted", "gone": "supported"}},
            {"says": "An answer about another profile.", "profile": "real", "while": {}},
        ),
        because={other.claim: {"supported": "Seen in passing.", "contradicted": "Too few steps."}},
        sections=({**first, "heading": "It grows toward the output", "claims": [one.claim]}, {**second, "claims": []}),
    )
    verdicts = [replace(one, role="prediction"), replace(other, role="source", verdict="supported")]
    out = tmp_path_factory.mktemp("answered") / "report"
    write_report(out, given, results, verdicts)
    return (out / "index.html").read_text()


def test_the_answer_has_its_numbers_and_says_who_wrote_it(answered, small, golden):
    (one, _) = small[2]
    head = answered.partition("</header>")[0]
    line = re.search(r'<p class="line">(.*?)</p>', head)[1]
    assert re.fullmatch(r"It grows [\d.]+ \[[\d.]+,.[\d.]+\] times over 2 seeds\.", line), line
    assert f"{one.estimate:.0f}"[0] == line.removeprefix("It grows ")[0]
    golden(holding(head, "by the author"))
    assert "another profile" not in answered.partition('id="again"')[0]
    assert "claims supported" not in head


def test_an_answer_older_than_its_verdicts_names_each_that_changed(answered):
    note = answered.partition("This answer is older than the verdicts")[2].partition("</ul>")[0]
    assert note.count("<li>") == 2
    assert 'written while contradicted, now supported: <a href="#claim-2">' in note
    assert "written while supported, not judged now: gone" in note


def test_an_answer_of_its_verdicts_has_no_note(small, tmp_path):
    facts, results, verdicts = small
    answer = {"says": "Yes.", "profile": None, "while": {v.claim: v.verdict for v in verdicts}}
    write_report(tmp_path, replace(facts, answers=(answer,)), results, verdicts)
    assert "older than" not in (tmp_path / "index.html").read_text()


def test_one_figure_stands_before_the_claims_and_each_figure_stands_once(answered):
    before, _, after = answered.partition('id="verdicts"')
    assert before.count("<figure") == 1
    assert 'id="figure-1"' in before
    assert 'id="figure-2"' in after
    for number in (1, 2):
        assert answered.count(f'id="figure-{number}"') == 1


def test_claims_stand_once_under_their_role_and_sections_link_to_them(answered, small, golden):
    one, other = small[2]
    golden(re.findall(r"<h3>(.*?)</h3>", answered))
    assert [answered.count(f'id="claim-{n}"') for n in (1, 2, 3)] == [1, 1, 0]
    unspanned = re.sub('<span class="name">(.*?)</span>', r"\1", answered)
    rows = re.split(r'<li class="[a-z-]+" id="claim-', unspanned)[1:]
    assert other.says in rows[0]
    assert one.says in rows[1]
    hero = answered.partition('id="part-1"')[2].partition("</section>")[0]
    assert 'href="#claim-1"' in hero
    assert 'href="#part-1"' in rows[1]


def test_the_explanation_of_the_present_verdict_is_shown_and_no_other(answered):
    page = answered.partition('id="again"')[0]
    assert "Seen in passing." in page
    assert "Too few steps." not in page


def test_only_a_claim_of_another_setting_repeats_its_setting(facts, results, verdicts):
    judged = [verdict for verdict in verdicts if verdict.n]
    common = judged[0].scope
    given = [*(replace(v, scope=common) for v in judged[:3]), replace(judged[3], scope="64-64, 9 seeds")]
    rows = [row for _, group in claim_groups(facts, given, {}, results) for row in group]
    assert [row.verdict.claim for row in rows if "64-64" in row.aside] == [judged[3].claim]
    assert not [row for row in rows if common in row.aside]
    assert sorted(row.number for row in rows) == [1, 2, 3, 4]
    assert [given[row.number - 1].claim for row in rows] == [row.verdict.claim for row in rows]


def test_every_entry_of_the_contents_leads_somewhere(answered):
    contents = answered.partition('aria-label="Contents"')[2].partition("</nav>")[0]
    targets = re.findall(r'href="#([\w-]+)"', contents)
    assert len(targets) >= 6
    assert [target for target in targets if answered.count(f'id="{target}"') != 1] == []


def test_what_a_caption_repeats_is_folded_and_nothing_of_it_is_lost():
    captions = ["Loss by layer. Bars are 95 % intervals (n = 5). Two runs diverged.",
                "Loss by width. Bars are 95 % intervals (n = 5). One run diverged."]  # fmt: skip
    figures = [{"chart": SimpleNamespace(caption=caption)} for caption in captions]
    fold_repeated_sentences(figures)
    assert [figure["caption"] for figure in figures] == [captions[0], "Loss by width. One run diverged."]
    assert [figure["repeated"] for figure in figures] == ["", "Bars are 95 % intervals (n = 5)."]


@pytest.mark.parametrize("name", ["A-", "Aa ", "Aa, ", "A"])
def test_a_citation_of_any_length_is_read_once(name):
    """Each of many names was the beginning of a search to their end."""
    began = process_time()
    assert linked_citations(name * 33_000) == [(name * 33_000, None)]
    assert process_time() - began < 5


def test_numbers_of_papers_lead_to_them():
    text = "Xiong et al. 2020 (arXiv 2002.04745); Liu et al., doi:10.18653/v1/2020.emnlp-main.463."
    pieces = linked_citations(text)
    assert "".join(piece for piece, _ in pieces) == text
    assert [address for _, address in pieces if address] == [
        "https://arxiv.org/abs/2002.04745",
        "https://doi.org/10.18653/v1/2020.emnlp-main.463",
    ]
    assert linked_citations("Our own, 10.5 times 2002.04745") == [("Our own, 10.5 times 2002.04745", None)]
    assert linked_citations("") == []


def test_a_short_citation_leads_to_the_paper_that_the_page_cites():
    papers = cited_papers(
        "Xiong et al. 2020, On (arXiv 2002.04745); Huang et al. 2020; Wu and He 2018 (arXiv 1803.08494)"
    )
    assert papers == {
        "Xiong et al. 2020": "https://arxiv.org/abs/2002.04745",
        "Wu and He 2018": "https://arxiv.org/abs/1803.08494",
    }
    text = "Section 3.2 of Xiong et al. (2020), after Wu and He 2018; Huang et al. 2020"
    pieces = linked_citations(text, papers)
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, address in pieces if address] == ["Xiong et al. (2020)", "Wu and He 2018"]
    numbered = linked_citations(
        "Liu et al. 2020 (arXiv 1908.03265)", {"Liu et al. 2020": "https://arxiv.org/abs/2004.08249"}
    )
    assert [address for _, address in numbered if address] == ["https://arxiv.org/abs/1908.03265"]


@pytest.mark.parametrize("profile", [None, "real"])
def test_a_page_leads_to_the_index_and_to_related_questions(small, tmp_path, profile):
    facts, results, verdicts = small
    given = replace(facts, name="mine", profile=profile, related={"other": "what <b> adds"})
    root = tmp_path / "reports"
    out = report_folder(root, "mine", profile)
    write_report(out, given, results, verdicts)
    assert not re.findall(r'href="[^"#]*index\.html', (out / "index.html").read_text())
    for folder in (root, report_folder(root, "other", profile)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").touch()
    render_report(out)
    page = (out / "index.html").read_text()
    addresses = [address.partition("#") for address in re.findall(r'href="([^"]*index\.html[^"]*)"', page)]
    assert [anchor for _, _, anchor in addresses] == ["question-mine", ""]
    index, other = [(out / path).resolve() for path, _, _ in addresses]
    assert index == (root / "index.html").resolve()
    assert other == (report_folder(root, "other", profile) / "index.html").resolve()
    assert "What &lt;b&gt; adds</a>" in page


@pytest.mark.parametrize("text", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "https://a.b/ x", ""])
def test_what_is_no_address_of_the_web_is_no_link(text):
    assert web_address(text) is None
    assert web_address("https://github.com/tbachlechner/ReZero-examples")
