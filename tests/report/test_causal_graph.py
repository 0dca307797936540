"""Arrows with two verdicts: their symbols, colours, addresses, and what they come to."""

import re
from dataclasses import replace
from itertools import product

import pytest

from lnlab.claims.claim import Finding, verdict_of
from lnlab.claims.verdict_text import VERDICT_SYMBOLS
from lnlab.report.charts.causal_graph import OUTCOMES, VERDICT_COLOURS
from lnlab.report.charts.render import to_svg
from lnlab.report.folder import read_folder
from lnlab.report.index import read_cards
from lnlab.report.page.figures import spec_with_data
from lnlab.report.section import sections
from lnlab.report.sections.diagrams.causal_graph import edge_outcome
from lnlab.report.words.cited_claims import cited_by_arrows
from lnlab.report.write import write_report
from lnlab.tables import Results, frame
from tests.support.golden import holding

NODES = {
    "a": {"label": "A cause with a long name", "at": [0, 0]},
    "b": {"label": "An effect", "at": [1, 1]},
    "c": {"label": "Another", "at": [1, 0]},
}
EDGES = [
    {"arrow": ["a", "b"], "observed": "seen", "cut": "cut"},
    {"arrow": ["c", "b"], "observed": "seen", "cut": "absent"},
]
WORDS = tuple(VERDICT_SYMBOLS)


def verdict(claim, word, kind="bound"):
    return verdict_of({"id": claim, "kind": kind, "says": f"{claim} is."}, Finding(word, "x", "why"), "")


def section(verdicts, evidence=(), root="../.."):
    results = Results(frame("runs", []), frame("axes", []), evidence=frame("evidence", evidence))
    choice = sections.resolve({"kind": "causal_graph", "nodes": NODES, "edges": EDGES})
    return sections.builder(choice)(results, verdicts, root)


def values(drawn):
    """Every row that the drawing draws."""
    return [row for rows in spec_with_data(drawn)["datasets"].values() for row in rows]


@pytest.mark.parametrize(("seen", "cut"), list(product(WORDS, repeat=2)))
def test_each_pair_of_verdicts_has_its_symbols_colours_and_outcome(seen, cut):
    built = section([verdict("seen", seen), verdict("cut", cut)])
    (chart,) = built.charts
    rows = values(chart)
    marks = [row for row in rows if row.get("words", "").startswith("1. ") and row["text"] != "1"]
    assert [(row["text"], row["words"].rpartition(": ")[2]) for row in marks] == [
        (VERDICT_SYMBOLS[seen], seen),
        (VERDICT_SYMBOLS[cut], cut),
    ]
    assert all(
        row["colour"] == VERDICT_COLOURS[word]
        for row, word in zip(marks, (seen, cut), strict=True)
        if word in VERDICT_COLOURS
    )
    outcome = edge_outcome(cut)
    lines = [row for row in rows if row.get("edge") == 1]
    assert {(row["outcome"], row["colour"]) for row in lines} == {(outcome, OUTCOMES[outcome][0])}
    assert chart.points["outcome"].to_list() == [outcome, "open"]


def test_outcomes():
    assert edge_outcome("supported") == "survives"
    assert edge_outcome("contradicted") == "fails"
    assert edge_outcome("smaller") == "weaker"
    assert {edge_outcome(word) for word in set(WORDS) - {"supported", "contradicted", "smaller"}} == {"open"}
    assert len(set(OUTCOMES.values())) == len(OUTCOMES)
    assert len({dash for _, dash in OUTCOMES.values()}) == len(OUTCOMES), "colour alone must not tell them apart"


CITING = {"citing": "seen", "spec": "other", "profile": "real"}


def test_a_verdict_leads_to_the_claim_that_decided_on_the_page_of_the_other_experiment():
    cited = [
        {**CITING, "claim": "x", "number": 3, "verdict": "supported"},
        {**CITING, "claim": "y", "number": 7, "verdict": "contradicted"},
        {**CITING, "claim": "z"},
    ]
    verdicts = [verdict("seen", "contradicted", "cited"), verdict("cut", "supported")]
    addresses = {row["address"] for row in values(section(verdicts, cited).charts[0]) if row.get("text") in ("✓", "✗")}
    assert addresses == {"../../other/real/index.html#claim-7", "#claim-2"}
    alone = {row["address"] for row in values(section(verdicts, cited, root=None).charts[0]) if row.get("text") == "✗"}
    assert alone == {"#claim-1"}
    assert "claim-7" in to_svg(spec_with_data(section(verdicts, cited).charts[0]))


GRAPH = {"kind": "causal_graph", "nodes": NODES, "edges": EDGES, "claims": ["agree", "seen", "cut"]}
JUDGED = [verdict("agree", "supported"), verdict("seen", "contradicted", "cited"), verdict("cut", "supported")]


@pytest.mark.parametrize(
    ("graph", "arrows"),
    [
        (GRAPH, {"seen"}),
        ({**GRAPH, "claims": ["agree"]}, set()),
        ({**GRAPH, "kind": "outcomes"}, set()),
        ({**GRAPH, "edges": [{"arrow": ["a", "b"], "observed": "agree", "cut": "cut"}]}, set()),
    ],
    ids=["cited", "not in its section", "no graph", "no arrow cites"],
)
def test_claims_that_an_arrow_cites_stand_with_the_graph_alone(graph, arrows):
    assert cited_by_arrows([{"kind": "curves"}, graph], JUDGED) == arrows


def test_a_page_lists_and_counts_cited_arrows_once(small, tmp_path, golden):
    facts, results, verdicts = small
    asked = replace(facts, sections=(*facts.sections, GRAPH))
    page = write_report(tmp_path / "graph", asked, results, [*verdicts, *JUDGED]).files[0].read_text()
    claims, sections = page[: page.index('aria-label="Contents"')], page[page.index('<div class="parts">') :]
    rows = re.compile('id="claim-([0-9]+)"><details class="claim">')
    assert sorted(rows.findall(claims)) == ["1", "2", "3", "5"]
    assert rows.findall(sections) == ["4"]
    golden(holding(sections, "arrows cite"))
    counts = re.search('<p class="tested counts">.*', claims)
    assert sum(int(n) for n in re.findall("</span> ([0-9]+) ", counts.group())) == 4
    assert len(read_folder(tmp_path / "graph")[2]) == 5
    (card,) = read_cards(tmp_path)
    assert (card.n_claims, len(card.sentences)) == (4, 4)
