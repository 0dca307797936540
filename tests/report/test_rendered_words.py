"""Words that no paper of the field would use stay off the committed pages and the index, whoever wrote the sentence."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

REPORTS = Path(__file__).parents[2] / "reports"
PAGES = [*(data.parent / "index.html" for data in sorted(REPORTS.glob("*/real/data"))), REPORTS / "index.html"]
UNSEEN = ("script", "style", "svg", "pre", "code")
READ_ALOUD = ("alt", "aria-label", "title")
BANNED = {
    "up to, except": r"\bbut for\b",
    "tolerates": r"\b(?:bears?|borne|bearing) (?:a|an|no|the|more|up|larger)\b|\bdo(?:es)? \w+ bear\b",
    "predicts, says, shows": r"\btells (?!how\b)\w+|\b(?:is|are|be|was) told\b",
    "with running statistics, at inference": r"\b(?:loss|BatchNorm|logits|batch|statistics cost) in use\b",
    "variant": r"\barms?\b",
    "measurement": r"\b(?:a|first|its) look\b(?! at \d| \(| on the same)",  # a look at 40 seeds is a term
    "ranges from, is between": r"\bgoes from\b",
    "seeds within": r"\bseeds? inside\b",
    "accepted range": r"(?<!conditioned )\bregions?\b(?! of high curvature)|\breaches across\b",
    "is it ...?": r"\bwhose is it\b",
    "falls": r"\bfalls away\b",
    "reproduce": r"\bMake it again\b|\b[Bb]eside this page\b|\bThe data behind\b",
    "label per ...": r"\b(?:one|a|each) (?:label|number|panel|row|line) an? (?:seed|sentence|variant|method|value)\b",
    "0.5": r"(?<![\w.\])…-])(?<!beta2 )(?<!momentum )\.\d",  # names of variants are those of stored runs
    "a classifier, an encoder": r"\ban (?:classifier|decoder|language)\b|\ba (?:encoder|Adam)\b",
    "one layer": r"(?<![\d.,–−/×^+-])(?<![\d.,–−/×^] )(?<!to )\b1 (?:layer|seed|run|variant|token|epoch|claim)s\b",
}
"""By what stands in its place."""


class _Visible(HTMLParser):
    """The texts of a page that a reader sees or has read aloud; the printed spec is its author's file."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.depth = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.depth += tag in UNSEEN
        self.texts += [f"\n{value}\n" for name, value in attrs if name in READ_ALOUD and value]
        self.texts.append("" if tag in ("a", "b", "em", "span", "i") else "\n")

    def handle_endtag(self, tag):
        self.depth -= tag in UNSEEN

    def handle_data(self, data):
        if not self.depth:
            self.texts.append(data)


def lines(text):
    seen = "".join(_Visible(text).texts)
    return [" ".join(line.split()) for line in seen.split("\n") if line.strip()]


def banned(line):
    hits = ((instead, re.search(pattern, line)) for instead, pattern in BANNED.items())
    return [f"{instead}: ...{line[max(0, hit.start() - 50) : hit.end() + 40]}..." for instead, hit in hits if hit]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.parent.parent.name)
def test_no_rendered_sentence_has_a_banned_word(page):
    assert [hit for line in lines(page.read_text()) for hit in banned(line)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "an answer is the same, but for rounding",
        "Pre-LN bears a larger rate",
        "how large a learning rate do they bear as it gets deeper",
        "a logarithm tells the change better",
        "too alike to be told apart",
        "the validation loss in use",
        "Every arm at its own best rate",
        "after its first look",
        "10 of 10 seeds inside",
        "their interval and the declared region",
        "the 95 % interval 1.2 to 1.8 lies in the region (at least 1)",
        "reaches across an edge",
        "all up to .1",
    ],
)
def test_what_went_is_found(wrong):
    assert banned(wrong)


def test_what_is_read_is_the_visible_text_and_what_is_read_aloud():
    text = '<p>one <b>two</b></p><script>arm</script><pre><code>arm</code></pre><img alt="three"><a title="four">5</a>'
    assert lines(text) == ["one two", "three", "four", "5"]
