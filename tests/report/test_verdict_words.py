"""What a verdict says beyond its word, on a page and in a terminal: its margin, its law, its look, and whose it is."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lnlab.claims.verdict_text import elsewhere_text, estimate_text, law_text, level_text, verdict_label
from lnlab.report.words.look_words import look_lines
from lnlab.report.words.sentence_owners import Sentence, tally_by_owner
from lnlab.report.words.verdict_words import criterion_text, intervals_sentence, verdict_interval
from lnlab.report.write import write_report
from tests.report.conftest import verdict
from tests.report.test_charts import contrast

SEEDS = {1: 1.1, 2: 1.2, 3: 1.3}


def judged(word="supported", **fields):
    return replace(verdict("c", SEEDS, word=word), **{"measure": "ratio", **fields})


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        ("warm-up - no warm-up", "warm-up minus no warm-up"),
        ("0.0001 - 0.001", "0.0001 minus 0.001"),
        ("mean of layer - rms", "mean of layer minus rms"),
        ("layer / rms", "layer / rms"),
    ],
)
def test_a_difference_reads_as_one_on_the_page_and_in_a_terminal(statistic, words):
    told = judged(kind="order", statistic=statistic, region_high=-0.05, region_low=None)
    assert criterion_text(told).startswith(f"{words[0].upper()}{words[1:]}; accepted: at most")
    assert estimate_text(told).startswith(f"{words} ")
    assert estimate_text(replace(told, kind="ratio")).startswith(f"{statistic} ")


def test_an_accepted_range_says_that_it_leaves_its_edge_out_where_an_interval_ends_there(golden):
    told = judged("contradicted", kind="order", region_low=None, region_high=0.0, low=0.0, high=0.0, about="median")
    golden(criterion_text(told))
    for other in ({"high": 0.5, "low": 0.1}, {"kind": "bound"}, {"about": "share"}, {"verdict": "undecided"}):
        assert "ccepted: at most 0; " in criterion_text(replace(told, **other))


@pytest.mark.parametrize(
    "fields",
    [
        {"word": "supported"},
        {"word": "contradicted", "detail": "the other way"},
        {"word": "contradicted", "detail": "no effect that matters"},
        {"word": "smaller", "region_low": 1.5, "detail": "in its direction"},
        {"word": "smaller", "region_high": 0.5, "detail": "direction open"},
        {"word": "smaller", "region_low": 0.05, "measure": "difference"},
        {"word": "smaller", "region_high": -0.05, "measure": "difference"},
        {"word": "beyond", "detail": "better than the range"},
        {"word": "beyond"},
        {"word": "not testable here"},
    ],
)
def test_the_label_says_the_margin_and_the_direction(fields, golden):
    golden(verdict_label(judged(**fields)))


@pytest.mark.parametrize(
    ("law", "word", "text"),
    [
        (-0.5, "rejected", "−0.5 itself is rejected"),
        (-0.5, "compatible", "compatible with −0.5"),
        (None, None, ""),
        (1.0, None, ""),
    ],
)
def test_a_law_is_compatible_or_rejected(law, word, text):
    told = judged(law=law, law_word=word, region_low=-0.7, region_high=-0.3, measure="exponent")
    assert law_text(told) == text
    assert criterion_text(told).endswith(f"within; {text}." if text else "within.")


def test_a_look_is_named_where_it_is_not_a_single_one_at_95_percent(golden):
    assert level_text(judged()) == ""
    assert level_text(judged(look=2, level=0.0125)) == "look 2, 98.75 %"
    assert level_text(judged(look=1, level=0.025)) == "look 1, 97.5 %"
    golden(intervals_sentence([judged()]))
    assert "after several looks" in intervals_sentence([judged(), judged(level=0.0125)])


def test_every_look_is_listed_with_its_seeds_and_its_level():
    looks = [
        {"look": 1, "seeds": [1, 2, 3, 5], "n": 4, "alpha": 0.025, "date": "2026-11-20", "commit": "", "criterion": ""},
        {"look": 2, "seeds": [1, 2], "n": 2, "alpha": 0.0125, "date": "", "commit": "", "criterion": ""},
    ]
    assert look_lines(looks) == (
        "Look 1: seeds 1–3, 5 (n = 4), 97.5 %, 2026-11-20",
        "Look 2: seeds 1–2 (n = 2), 98.75 %",
    )


@pytest.fixture
def page(small, tmp_path):
    facts, results, (one, other) = small
    told = [
        replace(one, verdict="smaller", detail="direction open", region_low=1.5, region_high=None, measure="ratio",
                margin="ours", look=2, level=0.0125, law=1.0, law_word="rejected"),
        replace(other, verdict="contradicted", detail="the other way", role="prediction"),
    ]  # fmt: skip
    look = {"look": 2, "seeds": [1, 2], "n": 2, "alpha": 0.0125, "date": "2026-11-25", "commit": "", "criterion": ""}
    given = replace(facts, looks={one.claim: [look]}, answers=())
    write_report(tmp_path, given, results, told)
    return (tmp_path / "index.html").read_text()


def test_a_page_says_all_of_it_beside_the_claim(page, golden):
    rows = re.findall(r'<li class="(\w+)" id="claim-\d">(.*?)</details></li>', page, re.DOTALL)
    assert [style for style, _ in rows] == ["smaller", "contradicted"]
    first, second = (re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)) for _, row in rows)
    for words in ("smaller than 1.5×, direction open", "1 itself is rejected", "look 2, 98.75 %", "margin: ours"):
        assert words in first, words
    assert "Look 2: seeds 1–2 (n = 2), 98.75 %, 2026-11-25." in first
    golden(second)
    assert "at most 5 % of the time" not in page


def test_sentences_are_counted_by_whose_they_are():
    told = [
        Sentence("source", "talk", "Figure 3", "supported"),
        Sentence("source", "talk", "Liu et al. 2020, Section 4", "contradicted"),
        Sentence("source", "", "The tutorial: updates grow", "supported"),
        Sentence("source", "tutorial", "Tutorial, after Liu et al. 2020", "undecided"),
        Sentence("source", "", "Wang et al. (2019)", "supported"),
        Sentence("alternative", "talk", "Noci et al. 2022", "supported"),
        Sentence("alternative", "talk", "by another rule", "contradicted"),
        Sentence("prediction", "talk", "", "smaller"),
        Sentence("control", "talk", "", "supported"),
    ]
    assert tally_by_owner(told) == [
        ("the two sources (talk and tutorial)", [("supported", 2), ("undecided", 1)]),
        ("other papers", [("supported", 2), ("contradicted", 1)]),
        ("our own", [("supported", 1), ("contradicted", 1), ("smaller", 1)]),
    ]
    assert sum(n for _, counts in tally_by_owner(told) for _, n in counts) == len(told)


def test_every_verdict_has_a_colour_that_is_read_on_paper_in_both_schemes():
    style = (Path(__file__).parents[2] / "templates" / "style.css").read_text()
    roots = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    schemes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", root)) for root in roots]
    schemes = [colours for colours in schemes if "paper" in colours]
    assert len(schemes) == 2
    for colours in schemes:
        for word in ("supported", "contradicted", "smaller", "undecided", "not"):
            assert contrast(colours[word], colours["paper"]) >= 4.5, word


def test_a_named_value_beyond_the_most_extreme_place_is_told_though_it_is_not_tested(golden):
    extreme = replace(judged(), law=1.0, law_word=None, low=1.09, high=1.10)
    golden(law_text(extreme))
    assert law_text(replace(extreme, low=0.99)) == ""
    assert law_text(replace(extreme, low=1.000001)) == ""


def test_seeds_with_one_median_need_not_agree():
    told = judged(estimate=0.0, low=0.0, high=0.0, about="median", seeds={1: 0.0, 2: 0.0, 3: -1.0})
    assert verdict_interval(told) == "0 [0, 0]"
    assert verdict_interval(replace(told, seeds={1: 0.0, 2: 0.0})) == "0, all seeds agree"
    assert verdict_interval(replace(told, about="mean")) == "0, all seeds agree"


def test_a_word_is_told_with_the_settings_at_which_it_is_the_same():
    counts = {"optimizer.lr": (4, 5), "model.layers": (1, 2)}
    found = replace(judged(word="supported"), region_high=1.0, elsewhere=counts)
    text = "the same at 4 of 5 values of the learning rate; the same at 1 of 2 values of the layers"
    assert elsewhere_text(found) == text
    assert criterion_text(found).endswith(f". The word is {text}.")
    assert elsewhere_text(judged(word="supported")) == ""
