"""The table of what claims cite of other experiments."""

import pytest

from lnlab.claims.claim import Finding, verdict_of
from lnlab.report.section import sections
from lnlab.tables import Results, frame

CITING = {"citing": "seen", "profile": "real"}
READ = {
    **CITING,
    "spec": "other",
    "claim": "x",
    "number": 3,
    "says": "It grows.",
    "verdict": "supported",
    "estimate": 2.0,
    "low": 1.8,
    "high": 2.2,
    "n": 5,
    "sha256": "ab" * 32,
    "reason": "because",
}
ABSENT = {**CITING, "spec": "third", "claim": "z", "reason": "reports/third/real is not there"}


def verdict(claim, word, kind="cited"):
    return verdict_of({"id": claim, "kind": kind, "says": f"{claim} is."}, Finding(word, "x", "why"), "")


def section(verdicts, evidence=()):
    results = Results(frame("runs", []), frame("axes", []), evidence=frame("evidence", evidence))
    return sections.builder(sections.resolve({"kind": "evidence"}))(results, verdicts)


def test_what_was_read_is_a_table_with_digests_and_what_is_missing_is_in_it(golden):
    (table,) = section([verdict("seen", "supported")], [READ, ABSENT]).tables
    assert table.rows.select("claim", "verdict", "file").rows() == [
        ("x", "supported", "ab" * 6),
        ("z", "missing", None),
    ]
    assert table.rows["reason"][0] is None
    golden(table.rows["reason"][1])
    shown = [[text.replace("\u00a0", " ") for text, _ in line] for line in table.grid.rows]
    assert shown == [
        ["seen", "other", "It grows.", "✓ supported", "2.00 [1.80, 2.20]", "5"],
        ["seen", "third", "z", "– missing", "–", "–"],
    ]
    assert section([verdict("seen", "supported")]).tables == ()


@pytest.mark.parametrize(
    "words",
    [["supported", "contradicted", "supported"], ["undecided"], []],
)
def test_the_heading_counts_the_verdicts_of_claims_that_cite(words, golden):
    verdicts = [verdict(f"c{n}", word) for n, word in enumerate(words)]
    golden(section([*verdicts, verdict("own", "supported", "bound")]).finding)
