"""Beside the answer: how many claims got which verdict, the setting once, and what stays open."""

import re
from dataclasses import replace
from html import unescape

import pytest

from lnlab.report.page.claim_list import seed_values
from lnlab.report.page.first_screen import quantity_definitions, scope_in_words
from lnlab.report.write import write_report
from tests.support.golden import holding


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (
            "6-6, d_model 128, multi30k, at init, 10 seeds",
            "6-6 layers, d_model 128, multi30k, at initialization, 10 seeds",
        ),
        ("4-1 ... 64-1, d_model 128, 20 seeds", "4-1 ... 64-1 layers, d_model 128, 20 seeds"),
        ("3-3, 6-6, after 1 update", "3-3, 6-6 layers, after 1 update"),
        ("18 layers, train-1-2.txt, at init", "18 layers, train-1-2.txt, at initialization"),
        ("", ""),
    ],
)
def test_a_setting_is_said_as_a_reader_says_it(scope, words):
    assert scope_in_words(scope) == words


@pytest.fixture
def written(small, tmp_path):
    """A page with six claims: one is supported, five are open or untestable, and the last of these is primary."""
    facts, results, (one, _) = small
    given = [("a", "supported"), ("b", "undecided"), ("c", "undecided"), ("d", "undecided"), ("e", "not testable here")]
    verdicts = [
        replace(
            one, claim=name, says=f"Claim {name} holds.", verdict=word, primary=False, seeds={12: 0.5, 11: 1234.5678}
        )
        for name, word in (*given, ("f", "undecided"))
    ]
    verdicts[-1] = replace(verdicts[-1], primary=True)

    def written(**changed):
        write_report(tmp_path / "page", replace(facts, **{"answers": (), **changed}), results, verdicts)
        return (tmp_path / "page" / "index.html").read_text()

    return written


def read(html):
    return " ".join(unescape(re.sub("<[^>]*>", "", html)).split())


def test_what_is_not_shown_stands_below_the_first_figure(written, golden):
    page = written(differs=("Small <models>.", "Another corpus."))
    aside = re.search(r"<aside.*?</aside>", page, re.DOTALL)
    items = [read(item) for item in re.findall(r"<li>(.*?)</li>", aside[0], re.DOTALL)]
    golden(items)
    assert page.index('id="figure-1"') < aside.start() < page.index('id="verdicts"')
    assert read(page).count("Small <models>.") == 1, "the other differences stand below"
    assert "Another corpus." in read(page[aside.end() :])


def test_a_difference_in_columns_is_said_as_a_sentence(written):
    page = written(differs=({"what": "Data", "ours": "Multi30k", "source": "IWSLT14"}, {"what": "Width", "ours": "64"}))
    aside = re.search(r"<aside.*?</aside>", page, re.DOTALL)[0]
    assert "Data: Multi30k; in the source: IWSLT14." in read(aside)
    assert "Width" not in aside


def test_the_tally_leads_to_the_list_and_the_setting_stands_once(written, small):
    page = written()
    tally = re.search(r'<p class="tested counts"><a href="#verdicts">(.*?)</a>', page, re.DOTALL)
    assert read(tally[1]) == "Claims: ✓ 1 supported, ? 4 undecided, – 1 not testable here"
    assert tally.start() < page.index('id="verdicts"')
    assert page.count(scope_in_words(small[2][0].scope)) == 1


def test_a_claim_lists_its_seeds_its_rows_and_what_its_quantity_is(written, small, tmp_path, golden):
    page = written()
    claim = re.search(r'<li [^>]*id="claim-1">.*?</details></li>', page, re.DOTALL)[0]
    golden(holding(unescape(claim), "each seed:"))
    (data,) = re.findall(r'<a href="(data/[^"]+)">Rows</a>', claim)
    assert (tmp_path / "page" / data).is_file()
    ((_, name, _),) = quantity_definitions(small[2][:1])
    anchor = re.search(rf'<a href="#(quantity-\d+)">Definition: {name}</a>', claim)[1]
    defined = re.search(rf'<div id="{anchor}"><dt>(.*?)</dt><dd>(.*?)</dd>', page)
    assert defined[1] == name
    assert len(defined[2].split()) > 2


def test_a_value_of_a_seed_that_is_not_finite_is_said(small):
    verdict = replace(small[2][0], seeds={3: float("inf"), 2: float("nan"), 1: -1e-9})
    assert seed_values(verdict) == "1:\u00a0−1e−09, 2:\u00a0not a number, 3:\u00a0∞"


def test_what_links_to_a_page_is_shown_its_title_and_its_answer(written):
    head = written(answers=({"says": 'It "grows" <b>.', "while": {}, "profile": None},)).partition("</head>")[0]
    properties = dict(re.findall(r'property="og:(\w+)" content="([^"]*)"', head))
    assert unescape(properties["description"]) == 'It "grows" <b>.'
    assert properties["image"] == "figures/figure-1.svg"
    assert properties["title"]
