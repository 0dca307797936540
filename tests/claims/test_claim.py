"""Judging: common fields, requirements, calibration, and what is refused."""

from dataclasses import fields

import pytest

from lnlab.claims.claim import Verdict, claims
from lnlab.claims.judging import judge_all, judge_claim
from lnlab.claims.verdict_rows import verdict_row
from lnlab.errors import LabError
from lnlab.plugins import load_plugin
from lnlab.select.quantity import quantities
from lnlab.tables import JUDGED, frame

HOLDS = {"kind": "bound", "of": {"quantity": "q", "placement": "a"}, "at_most": 2}
FAILS = HOLDS | {"at_most": 0.5}
OPEN = HOLDS | {"at_most": 1.0}


@pytest.fixture(scope="module")
def results(experiment):
    return experiment({"a": [1.0, 1.01, 0.99, 1.02], "b": [2.0, 2.0, 2.0, 2.0]})


def test_a_verdict_is_a_row_of_its_table_with_defaults(results):
    found = judge_claim(
        {"id": "small", "says": "It is small.", "primary": True, "role": "prediction", **HOLDS}, results
    )
    assert {f.name for f in fields(Verdict)} == JUDGED["verdicts"].keys() - {"rows"}
    assert (found.claim, found.says, found.primary, found.role, found.kind) == (
        "small",
        "It is small.",
        True,
        "prediction",
        "bound",
    )
    assert frame("verdicts", [verdict_row(found, "digest")]).height == 1
    found = judge_claim({"id": "x", **HOLDS}, results)
    assert (found.says, found.primary, found.role) == ("", False, "prediction")
    found = judge_all([{"id": "x", **HOLDS}, {"id": "y", **FAILS}], results)
    assert [(v.claim, v.verdict) for v in found] == [("x", "supported"), ("y", "contradicted")]


@pytest.mark.parametrize(
    ("required", "word"), [(HOLDS, "supported"), (FAILS, "not testable here"), (OPEN, "undecided")]
)
def test_what_a_claim_requires(results, required, word):
    found = judge_claim({"id": "x", "requires": [HOLDS, required], **HOLDS}, results)
    assert found.verdict == word
    if word != "supported":
        assert found.reason.startswith(
            f"requirement 2 (bound) is {'contradicted' if required is FAILS else 'undecided'}: "
        )
        assert (found.estimate, found.n, found.kind) == (None, 0, "bound")


def test_a_requirement_that_fails_or_is_not_there_makes_it_not_testable(results, golden):
    assert judge_claim({"id": "x", "requires": [FAILS], **FAILS}, results).verdict == "not testable here"
    gone = HOLDS | {"of": {"quantity": "q", "placement": "c"}}
    found = judge_claim({"id": "x", "requires": [gone], **HOLDS}, results)
    assert found.verdict == "not testable here"
    golden(found.reason)


@pytest.mark.parametrize(
    ("of", "told"), [({"placement": "c"}, "placement: no row has 'c'"), ({"decoder.cross": 1}, "neither a column")]
)
def test_what_is_not_among_these_runs_is_not_testable_here(results, of, told):
    found = judge_claim({"id": "x", **HOLDS, "of": {"quantity": "q", **of}}, results)
    assert (found.verdict, found.statistic, found.scope) == ("not testable here", "bound", "none of these runs")
    assert told in found.reason


def test_judged_seeds_must_not_be_those_that_set_the_margin(results, golden):
    with golden.raises(LabError):
        judge_claim({"id": "x", **HOLDS, "calibration": {"seeds": (3, 4, 5)}}, results)
    fine = HOLDS | {"of": {"quantity": "q", "placement": "a", "seed": [2, 3, 4]}}
    assert judge_claim({"id": "x", **fine, "calibration": {"seeds": (1,)}}, results).verdict == "supported"


def test_claims_that_no_rows_could_answer_are_ill_posed_and_the_others_judged(results):
    two = HOLDS | {"of": {"quantity": "q"}}
    given = [{"id": "x", **two}, {"id": "y", **HOLDS}, {"id": "z", **HOLDS, "at_mots": 1, "primary": True}]
    found = judge_all([*given, {"id": "w", **HOLDS, "requires": [HOLDS, two]}], results)
    assert [v.verdict for v in found] == ["ill-posed", "supported", "ill-posed", "ill-posed"]
    assert found[0].reason.startswith("claims.x.of: ")
    assert "placement (a, b)" in found[0].reason
    assert found[2].reason.startswith("claims.z.at_mots: ")
    assert (found[2].primary, found[2].kind, found[2].n, found[2].estimate) == (True, "bound", 0, None)
    assert found[3].reason.startswith("claims.w.requires.1.of: ")


OWN = """\
from lnlab.claims.claim import claims
from lnlab.select.quantity import quantities

@claims.register("mine")
def mine(results, *, of: dict):
    return {claim}

@quantities.register("mine", of=("q",))
def own(results):
    return {rows}

def text_of(results, column):
    rows = results.rows("sites")
    return rows.with_columns(rows[column].cast(str))
"""
ROWS, SEEDS = (f"quantity 'mine' fails in mine.py: TypeError('its {what} " for what in ("rows", "seeds are"))
SEE = "see total_gradient.py'); fix it"


@pytest.mark.parametrize(
    ("claim", "rows", "what"),
    [
        ("'supported'", "None", "claim 'mine' fails in mine.py: TypeError('it returned str, and no Finding'); fix it"),
        ("1 / 0", "None", "claim 'mine' fails in FOLDER/mine.py:6: ZeroDivisionError('division by zero'); fix it"),
        ("of['seed']", "None", "claim 'mine' fails in FOLDER/mine.py:6: KeyError('seed'); fix it"),
        ("None", "[]", "quantity 'mine' fails in mine.py: TypeError('it returned list, and no polars.DataFrame')"),
        ("None", "results.runs.select('run')", f"{ROWS}have the columns run; {SEE}"),
        ("None", "results.rows('sites').drop('seed')", f"{ROWS}have the columns run, variant, step, measurement, "),
        ("None", "text_of(results, 'value')", f"{SEEDS}Int64 and its values String; {SEE}"),
        ("None", "text_of(results, 'seed')", f"{SEEDS}String and its values Float64; {SEE}"),
        ("None", "results.rows('lists')", "quantity 'mine' fails in FOLDER/mine.py:10: KeyError('lists'); fix it"),
    ],
)
def test_what_goes_wrong_in_a_piece_of_a_user_is_one_line_with_its_place(tmp_path, results, claim, rows, what):
    (tmp_path / "mine.py").write_text(OWN.format(claim=claim, rows=rows))
    load_plugin(tmp_path / "mine.py")
    judged = {"kind": "mine", "of": {"quantity": "q"}} if claim != "None" else HOLDS | {"of": {"quantity": "mine"}}
    try:
        with pytest.raises(LabError) as told:
            judge_claim({"id": "x", **judged}, results)
    finally:
        del claims.entries["mine"], quantities.entries["mine"]
        results.derived.clear()
    assert str(told.value).startswith(f"claims.x: the {what.replace('FOLDER', str(tmp_path))}")
    assert "\n" not in str(told.value)


def test_an_error_in_a_piece_of_lnlab_keeps_its_traceback(results, monkeypatch):
    monkeypatch.setattr("lnlab.claims.kinds.bound.select_series", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge_claim({"id": "x", **HOLDS}, results)
