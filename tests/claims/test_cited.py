"""Claims that are judged from verdicts: of other experiments, and of other claims of the same one."""

from dataclasses import replace
from itertools import product

import pytest

from lnlab.claims.judging import judge_all, judge_claim
from lnlab.claims.kinds.cited import joint_verdict
from lnlab.claims.row_digest import rows_digest
from lnlab.tables import frame

CITED = {"id": "it", "says": "So it is.", "kind": "cited", "evidence": {"other": ["a", "b"]}, "profile": "real"}
Q = {"quantity": "q", "placement": "a"}
HOLDS = {"says": "It holds.", "kind": "bound", "of": Q, "at_least": 1}
FAILS = {"says": "It fails.", "kind": "bound", "of": Q, "at_most": 1}
OPEN = {"says": "It is open.", "kind": "bound", "of": Q, "at_least": 2}


@pytest.fixture
def results(experiment):
    return experiment({"a": [1.9, 2.0, 2.1]})


def evidence(*rows):
    """Rows ``claim, verdict``; a verdict of None is missing."""
    known = {"citing": "it", "spec": "other", "profile": "real", "reason": "reports/other/real is not there"}
    numbers = {"statistic": "ratio", "estimate": 2.5, "low": 2.0, "high": 3.0}
    return frame("evidence", [known | {"claim": claim, "verdict": v} | (numbers if v else {}) for claim, v in rows])


WORDS = ("supported", "contradicted", "undecided", "not testable here", "ill-posed", None)


@pytest.mark.parametrize(("a", "b"), list(product(WORDS, repeat=2)))
def test_a_claim_holds_if_all_that_it_cites_do_and_fails_if_one_fails(results, a, b):
    found = judge_claim(CITED, replace(results, evidence=evidence(("a", a), ("b", b)))).verdict
    if "contradicted" in (a, b):
        assert found == "contradicted"
    elif a == b == "supported":
        assert found == "supported"
    elif {a, b} <= {"supported", "undecided"}:
        assert found == "undecided"
    else:
        assert found == "not testable here"
    assert found == joint_verdict([a, b])


def test_its_reason_has_the_numbers_and_another_profile_is_other_evidence(results, golden):
    reason = judge_claim(CITED, replace(results, evidence=evidence(("a", "supported"), ("b", None)))).reason
    golden(reason)
    golden(judge_claim(CITED, replace(results, evidence=evidence(("a", None)))).reason)
    known = replace(results, evidence=evidence(("a", "supported"), ("b", "supported")))
    assert judge_claim(CITED, known).verdict == "supported"
    assert judge_claim({**CITED, "profile": "paper"}, known).verdict == "not testable here"


def test_the_digest_of_what_it_was_judged_on_is_that_of_the_evidence(results):
    one, other = (replace(results, evidence=evidence(("a", "supported"), ("b", word))) for word in WORDS[:2])
    same = replace(results, evidence=evidence(("b", "supported"), ("a", "supported")))
    assert rows_digest(CITED, one) == rows_digest(CITED, same) != rows_digest(CITED, other)
    own = {"id": "own", **HOLDS}
    assert rows_digest(own, one) == rows_digest(own, results)


def edges_claim(*pairs, at_most=0):
    edges = [{"arrow": ["x", "y"], "observed": seen, "cut": cut} for seen, cut in pairs]
    return {"id": "agree", "says": "They agree.", "kind": "edges", "edges": edges, "at_most": at_most}


CLAIMS = [{"id": "holds", **HOLDS}, {"id": "fails", **FAILS}, {"id": "open", **OPEN}]


@pytest.mark.parametrize(
    ("pairs", "at_most", "verdict", "disagreeing"),
    [
        ([("holds", "holds"), ("fails", "fails")], 0, "supported", 0),
        ([("holds", "fails"), ("holds", "holds")], 0, "contradicted", 1),
        ([("fails", "holds"), ("holds", "fails")], 1, "contradicted", 2),
        ([("holds", "fails"), ("holds", "holds")], 1, "supported", 1),
        ([("holds", "open"), ("holds", "holds")], 0, "undecided", 0),
        ([("holds", "open"), ("holds", "holds")], 1, "supported", 0),
        ([("holds", "fails"), ("open", "holds")], 0, "contradicted", 1),
    ],
)
def test_edges_count_whose_claims_disagree(results, pairs, at_most, verdict, disagreeing):
    found = judge_all([edges_claim(*pairs, at_most=at_most), *CLAIMS], results)
    assert [v.claim for v in found] == ["agree", "holds", "fails", "open"]
    assert [v.verdict for v in found[1:]] == ["supported", "contradicted", "undecided"]
    assert (found[0].verdict, found[0].estimate, found[0].measure) == (verdict, disagreeing, "edges")


def test_known_verdicts_stand_in_for_claims_and_edges_of_none_are_ill_posed(results, golden):
    known = judge_all(CLAIMS, results)
    (found,) = judge_all([edges_claim(("holds", "fails"))], results, known=known)
    assert found.verdict == "contradicted"
    (found,) = judge_all([edges_claim(("holds", "gone"))], results)
    assert found.verdict == "ill-posed"
    golden(found.reason)
