"""Every sentence that a page makes of the committed results: no wrong article, plural, order, sign or factor."""

import html
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from lnlab.claims.claim import Verdict
from lnlab.report.compose import build_parts
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import read_folder
from lnlab.report.page import provenance
from lnlab.report.page.methods import methods_paragraphs
from lnlab.report.page.methods_table import method_grid
from lnlab.report.words import verdict_words
from lnlab.report.words.cited_claims import cited_by_arrows
from lnlab.report.words.wording import region_in_words
from lnlab.tables import Results
from tests.report.committed import PAGES, marks_of

BANNED = {
    "article before a vowel": r"\ba (?=[aeio])(?!one\b)",
    "article before a consonant": r"\ban (?![aeiouAEIOU])",
    "plural of one": (
        r"(?<![\d.,–−/×^] )(?<![\d.,–−/])\b1 (?:layers|seeds|runs|updates|variants|sentences|tokens|epochs|claims)\b"
    ),
    "singular of several": (
        r"\b(?:[2-9]|\d{2,}) (?:layer|seed|run|update|variant|sentence|token|epoch|claim|step)\b(?![-’' ]*s)"
    ),
    "hyphen for a minus sign": r"(?<![\w)\]−–])-\.?\d",
    "number without its zero": r"(?<![\w.])\.\d",
    "factor after a power of ten": r"10[⁻⁰¹²³⁴-⁹]+×",
    "fold": r"-fold\b",
    "growth by 1": r"(?:grows|falls to) 1×",
    "range of one number": r"(?:from|between) ([\d.]+) \([^)]*\) (?:to|and) \1 ",
    "range as a journey": r"\bgoes from\b",
    "no norm as a norm": r"\bnone (?:norm|rises|grows|falls)\b|\bby none\b",
    "per as an article": (
        r"\b(?:one|label|panel|row|line) a (?:method|variant|seed|sentence|panel|row|line)\b|\bpanel each\b"
    ),
    "region of one point": r"between ([\d.−]+) and \1(?![\d.])",
    "split for training": r"\bThe train ",
}


@pytest.fixture(
    scope="module", params=[pytest.param(path.parent, id=path.parts[-3], marks=marks_of(path)) for path in PAGES]
)
def report(request):
    """The folder of a committed page, read once for all tests of this file: facts, results, verdicts."""
    return request.param, *read_folder(request.param)


def sentences(facts: ReportFacts, results: Results, verdicts: Sequence[Verdict]) -> list[str]:
    """All texts of a page but those of its author and the stored reasons; names of variants are left out of them."""
    parts = build_parts(facts, results)
    made = [part.section for part in parts if part.section]
    charts = [chart for section in made for chart in section.charts]
    tables = [table for section in made for table in section.tables]
    texts = [
        verdict_words.verdict_count_sentence(verdicts),
        verdict_words.multiplicity_sentence(verdicts),
        provenance.partial_report_sentence(results),
    ]
    texts += [text for v in verdicts for text in (region_in_words(v.region_low, v.region_high), criterion_after(v))]
    texts += [*methods_paragraphs(facts, results), *(text for s in made for text in (s.finding, s.missing))]
    texts += [text for chart in charts for text in (chart.alt, chart.caption, *chart.headings.values())]
    texts += [text for table in tables for text in (table.caption, *table.headings.values())]
    texts += [] if (grid := method_grid(results)) is None else [grid.caption]
    names = sorted({*results.axes["label"], *(part.title for part in parts)}, key=len, reverse=True)
    wordy = [name for name in names if " " in name]
    return [text for text in (_without(text, wordy) for text in texts) if text]


def criterion_after(verdict: Verdict) -> str:
    """The criterion of a claim after its statistic, which may name variants."""
    return verdict_words.criterion_text(replace(verdict, statistic=""))


def _without(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace(name, "NAME")
    return text


def test_no_sentence_of_a_page_is_ungrammatical_or_plainly_wrong(report):
    _, *contents = report
    wrong = [
        f"{why}: ...{text[max(0, found.start() - 60) : found.end() + 30]}..."
        for text in sentences(*contents)
        for why, pattern in BANNED.items()
        if (found := re.search(pattern, text))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_head_of_a_committed_page_counts_every_claim_of_its_tables(report):
    """Not what a page would say if it were drawn today, but what it says. What arrows only cite is counted nowhere."""
    page, facts, _, verdicts = report
    arrows = cited_by_arrows(facts.sections, verdicts)
    verdicts = [verdict for verdict in verdicts if verdict.claim not in arrows]
    head = html.unescape((page / "index.html").read_text().partition('<ul class="claims">')[0])
    text = " ".join(re.sub("<[^>]+>", "", head).split())
    counted = all(f"{n} {word}" in text for word, n in verdict_words.verdict_counts(verdicts))
    assert counted or verdict_words.verdict_count_sentence(verdicts) in text


def test_numbers_in_a_list_rise(report):
    _, facts, results, _ = report
    lists = [re.split(r", | or ", found) for text in methods_paragraphs(facts, results) for found in LIST.findall(text)]
    assert [numbers for numbers in lists if list(map(float, numbers)) != sorted(map(float, numbers))] == []


LIST = re.compile(r"(?<![\d.−])(?:\d+(?:\.\d+)?, )*\d+(?:\.\d+)? or \d+(?:\.\d+)?(?![\d.]*[e\d])")
"""Values that a parameter takes over the variants; lists within one value end with *and*."""
